// Package nettransport builds what a VU talks to the network with, as the options want it.
package nettransport

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
)

const (
	dialTimeout   = 30 * time.Second
	dialKeepAlive = 30 * time.Second
)

// Stack is what one VU talks to the network with. Connections are not shared between VUs.
type Stack struct {
	Transport *http.Transport
	Dialer    *netext.Dialer
	TLSConfig *tls.Config
}

// New builds the stack of a VU. The resolver is shared by all of them. vuID (from 1; 0 for transient VUs) picks the
// local address, if there is a choice; keyLog takes the TLS secrets and may be nil.
func New(options lib.Options, resolver netext.Resolver, vuID uint64, keyLog io.Writer) (*Stack, error) {
	tlsConfig, err := newTLSConfig(options, keyLog)
	if err != nil {
		return nil, err
	}
	dialer := newDialer(options, resolver, vuID)
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig.Clone(),
		DisableCompression:  true,
		DisableKeepAlives:   options.NoConnectionReuse.Bool,
		MaxIdleConns:        int(options.Batch.Int64),
		MaxIdleConnsPerHost: int(options.BatchPerHost.Int64),
	}
	if err := http2.ConfigureTransport(transport); err != nil {
		return nil, fmt.Errorf("setting up HTTP/2: %w", err)
	}
	if slices.ContainsFunc(options.TLSAuth, func(auth *lib.TLSAuth) bool { return len(auth.Domains) > 0 }) {
		transport.DialTLSContext = dialTLSByDomain(dialer, transport.TLSClientConfig, options.TLSAuth)
	}
	return &Stack{Transport: transport, Dialer: dialer, TLSConfig: tlsConfig}, nil
}

func newDialer(options lib.Options, resolver netext.Resolver, vuID uint64) *netext.Dialer {
	base := net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive}
	if options.LocalIPs.Valid {
		index := vuID
		if index > 0 {
			index--
		}
		base.LocalAddr = &net.TCPAddr{IP: options.LocalIPs.Pool.GetIP(index)}
	}
	dialer := netext.NewDialer(base, resolver)
	dialer.Blacklist = options.BlacklistIPs
	dialer.BlockedHostnames = options.BlockedHostnames.Trie
	dialer.Hosts = options.Hosts.Trie
	return dialer
}

func newTLSConfig(options lib.Options, keyLog io.Writer) (*tls.Config, error) {
	config := &tls.Config{
		InsecureSkipVerify: options.InsecureSkipTLSVerify.Bool, // #nosec -- for the test's author to decide
		Renegotiation:      tls.RenegotiateFreelyAsClient,
		KeyLogWriter:       keyLog,
	}
	if options.TLSCipherSuites != nil {
		config.CipherSuites = *options.TLSCipherSuites
	}
	if options.TLSVersion != nil {
		config.MinVersion = uint16(options.TLSVersion.Min) // #nosec -- parsed from the names of versions
		config.MaxVersion = uint16(options.TLSVersion.Max) // #nosec -- as above
	}
	for i, auth := range options.TLSAuth {
		certificate, err := auth.Certificate()
		if err != nil {
			return nil, fmt.Errorf("certificate %d of the tlsAuth option: %w", i+1, err)
		}
		config.Certificates = append(config.Certificates, *certificate)
	}
	return config, nil
}

// dialTLSByDomain makes TLS connections that offer a server only the client certificates meant for it. The
// transport makes the handshake.
func dialTLSByDomain(
	dialer *netext.Dialer, base *tls.Config, auths []*lib.TLSAuth,
) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		config := base.Clone()
		config.ServerName = host
		config.Certificates = nil
		for i, auth := range auths {
			if domainMatches(auth.Domains, host) {
				config.Certificates = append(config.Certificates, base.Certificates[i])
			}
		}
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tls.Client(conn, config), nil
	}
}

// domainMatches says whether a host is among domains, of which some may begin with "*."; an empty list has them all.
func domainMatches(domains []string, host string) bool {
	host = strings.ToLower(host)
	return len(domains) == 0 || slices.ContainsFunc(domains, func(domain string) bool {
		domain = strings.ToLower(domain)
		if suffix, wildcard := strings.CutPrefix(domain, "*"); wildcard {
			return strings.HasSuffix(host, suffix)
		}
		return host == domain
	})
}

// NewResolver makes the resolver that all VUs share.
func NewResolver(dns types.DNSConfig) (netext.Resolver, error) {
	defaults := types.DefaultDNSConfig()
	text := dns.TTL.String
	if text == "" {
		text = defaults.TTL.String
	}
	ttl, err := parseTTL(text)
	if err != nil {
		return nil, err
	}
	selection, policy := dns.Select.DNSSelect, dns.Policy.DNSPolicy
	if selection == 0 {
		selection = defaults.Select.DNSSelect
	}
	if policy == 0 {
		policy = defaults.Policy.DNSPolicy
	}
	return netext.NewResolver(lookup, ttl, selection, policy), nil
}

// forever is longer than any test.
const forever = 100 * 365 * 24 * time.Hour

// parseTTL reads how long an answer is kept: a duration, "0" for not at all, "inf" for the whole test.
func parseTTL(text string) (time.Duration, error) {
	if text == "inf" {
		return forever, nil
	}
	ttl, err := types.ParseExtendedDuration(text)
	if err != nil || ttl < 0 {
		return 0, fmt.Errorf("the ttl of the dns option is %q; it has to be a duration, 0 or inf", text)
	}
	return ttl, nil
}

// lookup asks the system. It has no context: its answer serves all VUs, whoever asked first.
func lookup(host string) ([]net.IP, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	return net.DefaultResolver.LookupIP(ctx, "ip", host)
}

// NewRPSLimit makes the limiter that all VUs share, or nil if the option sets no limit.
func NewRPSLimit(options lib.Options) *rate.Limiter {
	if !options.RPS.Valid || options.RPS.Int64 <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(options.RPS.Int64), 1)
}
