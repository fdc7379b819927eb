package netext

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib/types"
)

// Resolver finds the address of a host name. It may be used by several goroutines.
type Resolver interface {
	// LookupIP returns one address, or nil if the host has none that the policy allows.
	LookupIP(host string) (net.IP, error)
}

// MultiResolver finds all addresses of a host name.
type MultiResolver func(host string) ([]net.IP, error)

// NewResolver makes a resolver that asks actRes, keeps the answers for ttl (0: not at all), drops the addresses
// that pol rules out and picks one of the rest as sel says. Errors are not kept.
func NewResolver(actRes MultiResolver, ttl time.Duration, sel types.DNSSelect, pol types.DNSPolicy) Resolver {
	return &resolver{
		lookup: actRes, ttl: ttl, sel: sel, policy: pol,
		hosts: make(map[string]*hostAnswers), now: time.Now,
	}
}

type resolver struct {
	lookup MultiResolver
	ttl    time.Duration
	sel    types.DNSSelect
	policy types.DNSPolicy
	now    func() time.Time

	mu    sync.Mutex
	hosts map[string]*hostAnswers
}

// hostAnswers is what is known of one host. Its own lock keeps several VUs from asking the same question at once
// without holding up those that ask another.
type hostAnswers struct {
	mu      sync.Mutex
	ips     []net.IP
	asked   time.Time
	current uint32
}

func (r *resolver) LookupIP(host string) (net.IP, error) {
	r.mu.Lock()
	answers := r.hosts[host]
	if answers == nil {
		answers = new(hostAnswers)
		r.hosts[host] = answers
	}
	r.mu.Unlock()

	answers.mu.Lock()
	defer answers.mu.Unlock()
	if answers.asked.IsZero() || r.ttl <= 0 || r.now().Sub(answers.asked) >= r.ttl {
		ips, err := r.lookup(host)
		if err != nil {
			answers.asked = time.Time{}
			return nil, err
		}
		answers.ips = applyPolicy(ips, r.policy)
		answers.asked = r.now()
	}
	return answers.pick(r.sel), nil
}

func (a *hostAnswers) pick(sel types.DNSSelect) net.IP {
	if len(a.ips) == 0 {
		return nil
	}
	switch sel {
	case types.DNSroundRobin:
		ip := a.ips[int(a.current)%len(a.ips)]
		a.current++
		return ip
	case types.DNSrandom:
		return a.ips[rand.IntN(len(a.ips))] // #nosec -- spreads load, guards nothing
	default:
		return a.ips[0]
	}
}

// applyPolicy keeps the addresses of the families that the policy allows, in their order.
func applyPolicy(ips []net.IP, policy types.DNSPolicy) []net.IP {
	var v4, v6 []net.IP
	for _, ip := range ips {
		if ip.To4() != nil {
			v4 = append(v4, ip)
		} else {
			v6 = append(v6, ip)
		}
	}
	switch policy {
	case types.DNSonlyIPv4:
		return v4
	case types.DNSonlyIPv6:
		return v6
	case types.DNSpreferIPv6:
		if len(v6) > 0 {
			return v6
		}
		return v4
	case types.DNSany:
		return ips
	default: // preferIPv4
		if len(v4) > 0 {
			return v4
		}
		return v6
	}
}
