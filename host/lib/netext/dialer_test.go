package netext_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// names resolves from a map.
type names map[string]net.IP

func (n names) LookupIP(host string) (net.IP, error) {
	if host == "broken.test" {
		return nil, errors.New("the resolver is broken")
	}
	return n[host], nil
}

func newDialer(t *testing.T) *netext.Dialer {
	t.Helper()
	dialer := netext.NewDialer(net.Dialer{}, names{
		"named.test": net.IPv4(127, 0, 0, 7), "forbidden.test": net.IPv4(10, 0, 0, 1), "www.blocked.test": net.IPv4(127, 0, 0, 8),
	})
	network, err := lib.ParseCIDR("10.0.0.0/8")
	require.NoError(t, err)
	dialer.Blacklist = []*lib.IPNet{network}
	dialer.BlockedHostnames, err = types.NewHostnameTrie([]string{"*.blocked.test"})
	require.NoError(t, err)
	host := func(text string) types.Host {
		var h types.Host
		require.NoError(t, h.UnmarshalText([]byte(text)))
		return h
	}
	dialer.Hosts, err = types.NewHosts(map[string]types.Host{
		"plain.test": host("127.0.0.2"), "ported.test": host("127.0.0.3:99"), "ported.test:443": host("127.0.0.4"),
		"*.wild.test": host("127.0.0.5:1"), "hidden.test": host("10.1.1.1"), "www.blocked.test": host("127.0.0.9"), "v6.test": host("[::1]:5"),
		"192.0.2.1": host("127.0.0.6"),
	})
	require.NoError(t, err)
	return dialer
}

func TestResolveAddr(t *testing.T) {
	dialer := newDialer(t)
	for addr, want := range map[string]string{
		"named.test:80":       "127.0.0.7:80",
		"plain.test:80":       "127.0.0.2:80",
		"PLAIN.test:80":       "127.0.0.2:80",
		"ported.test:80":      "127.0.0.3:99",
		"ported.test:443":     "127.0.0.4:443",
		"a.wild.test:80":      "127.0.0.5:1",
		"v6.test:80":          "[::1]:5",
		"192.0.2.1:80":        "127.0.0.6:80",
		"192.0.2.2:80":        "192.0.2.2:80",
		"[2001:db8::1]:80":    "[2001:db8::1]:80",
		"unknown.test:80":     "error: lookup unknown.test: no such host",
		"broken.test:80":      "error: the resolver is broken",
		"forbidden.test:80":   "error: IP (10.0.0.1) is in a blacklisted range (10.0.0.0/8)",
		"10.2.3.4:80":         "error: IP (10.2.3.4) is in a blacklisted range (10.0.0.0/8)",
		"hidden.test:80":      "error: IP (10.1.1.1) is in a blacklisted range (10.0.0.0/8)",
		"www.blocked.test:80": "error: hostname (www.blocked.test) is in a blocked pattern (*.blocked.test)",
		"no port":             "error: address no port: missing port in address",
		"named.test:high":     "error: address named.test:high: invalid port",
	} {
		t.Run(addr, func(t *testing.T) {
			ip, port, err := dialer.ResolveAddr(addr)
			got := net.JoinHostPort(ip.String(), strconv.Itoa(port))
			if err != nil {
				got = "error: " + err.Error()
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestDialerWithoutResolverTakesLiteralAddressesOnly(t *testing.T) {
	dialer := netext.NewDialer(net.Dialer{}, nil)
	_, _, err := dialer.ResolveAddr("127.0.0.1:1")
	require.NoError(t, err)
	_, _, err = dialer.ResolveAddr("named.test:1")
	require.Error(t, err)
	_, err = dialer.DialContext(context.Background(), "tcp", "named.test:1")
	require.Error(t, err)
}

func TestBytesAreCountedAndZeroed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, conn, 5)
		_, _ = io.WriteString(conn, "answer")
		_ = conn.Close()
	}()
	dialer := netext.NewDialer(net.Dialer{}, nil)
	conn, err := dialer.DialContext(context.Background(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "quest")
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	<-done

	registry := metrics.NewRegistry()
	builtin := metrics.RegisterBuiltinMetrics(registry)
	tags := metrics.TagsAndMeta{Tags: registry.RootTagSet().With("a", "b"), Metadata: map[string]string{"vu": "1"}}
	now := time.Now()
	for _, want := range [][2]float64{{5, 6}, {0, 0}} {
		container := dialer.IOSamples(now, tags, builtin)
		samples := container.GetSamples()
		require.Len(t, samples, 2)
		assert.Same(t, builtin.DataSent, samples[0].Metric)
		assert.Same(t, builtin.DataReceived, samples[1].Metric)
		assert.InDelta(t, want[0], samples[0].Value, 0)
		assert.InDelta(t, want[1], samples[1].Value, 0)
		for _, sample := range samples {
			assert.Same(t, tags.Tags, sample.Tags)
			assert.Equal(t, now, sample.Time)
			assert.Equal(t, tags.Metadata, sample.Metadata)
		}
	}
}

func TestResolver(t *testing.T) {
	v4a, v4b, v6 := net.IPv4(192, 0, 2, 1), net.IPv4(192, 0, 2, 2), net.ParseIP("2001:db8::1")
	asked := 0
	lookup := func(answers []net.IP) netext.MultiResolver {
		asked = 0
		return func(string) ([]net.IP, error) { asked++; return answers, nil }
	}
	take := func(resolver netext.Resolver, n int) string {
		var got []string
		for range n {
			ip, err := resolver.LookupIP("h")
			require.NoError(t, err)
			got = append(got, ip.String())
		}
		return strings.Join(got, " ")
	}
	all := []net.IP{v6, v4a, v4b}
	for name, tc := range map[string]struct {
		sel    types.DNSSelect
		policy types.DNSPolicy
		want   string
	}{
		"first":           {types.DNSfirst, types.DNSpreferIPv4, "192.0.2.1 192.0.2.1 192.0.2.1"},
		"round robin":     {types.DNSroundRobin, types.DNSpreferIPv4, "192.0.2.1 192.0.2.2 192.0.2.1"},
		"prefer IPv6":     {types.DNSroundRobin, types.DNSpreferIPv6, "2001:db8::1 2001:db8::1 2001:db8::1"},
		"only IPv6":       {types.DNSroundRobin, types.DNSonlyIPv6, "2001:db8::1 2001:db8::1 2001:db8::1"},
		"only IPv4":       {types.DNSroundRobin, types.DNSonlyIPv4, "192.0.2.1 192.0.2.2 192.0.2.1"},
		"any round robin": {types.DNSroundRobin, types.DNSany, "2001:db8::1 192.0.2.1 192.0.2.2"},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := netext.NewResolver(lookup(all), time.Hour, tc.sel, tc.policy)
			assert.Equal(t, tc.want, take(resolver, 3))
			assert.Equal(t, 1, asked)
		})
	}
	t.Run("random takes all", func(t *testing.T) {
		resolver := netext.NewResolver(lookup(all), time.Hour, types.DNSrandom, types.DNSany)
		got := take(resolver, 200)
		for _, ip := range all {
			assert.Contains(t, got, ip.String())
		}
	})
	t.Run("no time to live asks anew", func(t *testing.T) {
		take(netext.NewResolver(lookup(all), 0, types.DNSfirst, types.DNSany), 3)
		assert.Equal(t, 3, asked)
	})
	t.Run("nothing allowed is nil", func(t *testing.T) {
		ip, err := netext.NewResolver(lookup([]net.IP{v6}), 0, types.DNSfirst, types.DNSonlyIPv4).LookupIP("h")
		require.NoError(t, err)
		assert.Nil(t, ip)
		assert.Equal(t, "2001:db8::1", take(netext.NewResolver(lookup([]net.IP{v6}), 0, types.DNSfirst, types.DNSpreferIPv4), 1))
	})
	t.Run("errors are not kept", func(t *testing.T) {
		broken := true
		resolver := netext.NewResolver(func(string) ([]net.IP, error) {
			if broken {
				return nil, errors.New("down")
			}
			return all, nil
		}, time.Hour, types.DNSfirst, types.DNSany)
		_, err := resolver.LookupIP("h")
		require.Error(t, err)
		broken = false
		assert.Equal(t, "2001:db8::1", take(resolver, 1))
	})
}

func FuzzResolveAddr(f *testing.F) {
	for _, addr := range []string{"named.test:80", "[::1]:1", "a.wild.test:99999", ":", "", "%:0", "..:1", "*.wild.test:1"} {
		f.Add(addr)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		ip, port, err := newDialer(t).ResolveAddr(addr)
		if err == nil && (ip == nil || port < 0 || port > 65535) {
			t.Fatalf("%q gave %v and port %d", addr, ip, port)
		}
		if err == nil && ip.To4() != nil && ip.To4()[0] == 10 {
			t.Fatalf("%q leads to the blacklisted %v", addr, ip)
		}
	})
}
