// Package netext makes the connections of a test: it decides which address a name means, refuses the ones that
// the options forbid, and counts the bytes.
package netext

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// Dialer is a net.Dialer that follows the network options of a test. Its fields are set before the first dial;
// after that it may be used by several goroutines.
type Dialer struct {
	net.Dialer

	// Resolver answers the host names that Hosts does not know.
	Resolver Resolver
	// Blacklist holds the networks to which nothing may connect.
	Blacklist []*lib.IPNet
	// BlockedHostnames holds the host names that may not be used.
	BlockedHostnames *types.HostnameTrie
	// Hosts gives some host names an address of their own.
	Hosts *types.Hosts

	// BytesRead and BytesWritten count what passed through the connections since IOSamples was last called.
	// They are changed atomically.
	BytesRead    int64
	BytesWritten int64
}

// NewDialer makes a dialer with nothing forbidden.
func NewDialer(dialer net.Dialer, resolver Resolver) *Dialer {
	return &Dialer{Dialer: dialer, Resolver: resolver}
}

// DialContext connects to addr ("host:port"), unless the options forbid it.
func (d *Dialer) DialContext(ctx context.Context, proto, addr string) (net.Conn, error) {
	ip, port, err := d.ResolveAddr(addr)
	if err != nil {
		return nil, err
	}
	conn, err := d.Dialer.DialContext(ctx, proto, net.JoinHostPort(ip.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: conn, BytesRead: &d.BytesRead, BytesWritten: &d.BytesWritten}, nil
}

// ResolveAddr says to which address and port addr ("host:port") leads: blocked host names are refused first, then
// come the hosts option, literal addresses and the resolver, and at last the blacklist.
func (d *Dialer) ResolveAddr(addr string) (net.IP, int, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, 0, &net.AddrError{Err: "invalid port", Addr: addr}
	}
	ip, hostPort, err := d.resolve(addr, host)
	if err != nil {
		return nil, 0, err
	}
	for _, network := range d.Blacklist {
		if network.Contains(ip) {
			return nil, 0, BlackListedIPError{ip: ip, net: network}
		}
	}
	if hostPort != 0 {
		return ip, hostPort, nil
	}
	return ip, int(port), nil
}

// resolve answers without the blacklist; the port is 0 unless the hosts option sets one.
func (d *Dialer) resolve(addr, host string) (net.IP, int, error) {
	if d.BlockedHostnames != nil {
		if pattern, blocked := d.BlockedHostnames.Contains(host); blocked {
			return nil, 0, BlockedHostError{hostname: host, match: pattern}
		}
	}
	if d.Hosts != nil {
		remote := d.Hosts.Match(addr)
		if remote == nil {
			remote = d.Hosts.Match(host)
		}
		if remote != nil {
			return remote.IP, remote.Port, nil
		}
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip, 0, nil
	}
	if d.Resolver == nil {
		return nil, 0, fmt.Errorf("the dialer has no resolver to look up %q with", host)
	}
	ip, err := d.Resolver.LookupIP(host)
	if err != nil {
		return nil, 0, err
	}
	if ip == nil {
		return nil, 0, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return ip, 0, nil
}

// IOSamples returns the bytes counted so far as one data_sent and one data_received sample, and sets the counters
// back to zero.
func (d *Dialer) IOSamples(
	sampleTime time.Time, ctm metrics.TagsAndMeta, builtinMetrics *metrics.BuiltinMetrics,
) metrics.SampleContainer {
	sent := atomic.SwapInt64(&d.BytesWritten, 0)
	received := atomic.SwapInt64(&d.BytesRead, 0)
	return metrics.ConnectedSamples{
		Samples: []metrics.Sample{
			{
				TimeSeries: metrics.TimeSeries{Metric: builtinMetrics.DataSent, Tags: ctm.Tags},
				Time:       sampleTime,
				Value:      float64(sent),
				Metadata:   ctm.Metadata,
			},
			{
				TimeSeries: metrics.TimeSeries{Metric: builtinMetrics.DataReceived, Tags: ctm.Tags},
				Time:       sampleTime,
				Value:      float64(received),
				Metadata:   ctm.Metadata,
			},
		},
		Tags: ctm.Tags,
		Time: sampleTime,
	}
}
