package types

import (
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
)

// IPPool is a list of local addresses that VUs share out among themselves.
type IPPool struct {
	source string
	blocks []ipBlock
	count  *big.Int
}

type ipBlock struct {
	first *big.Int
	count *big.Int
	ipv4  bool
}

// NewIPPool reads a comma-separated list of addresses ("10.0.0.1"), ranges ("10.0.0.1-10.0.0.9") and networks in
// CIDR form, whose first and last address are left out where it has more than two.
func NewIPPool(ranges string) (*IPPool, error) {
	pool := &IPPool{source: ranges, count: new(big.Int)}
	for part := range strings.SplitSeq(ranges, ",") {
		block, err := parseIPBlock(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		pool.blocks = append(pool.blocks, block)
		pool.count.Add(pool.count, block.count)
	}
	return pool, nil
}

func parseIPBlock(s string) (ipBlock, error) {
	if strings.Contains(s, "/") {
		return parseNetwork(s)
	}
	from, to, isRange := strings.Cut(s, "-")
	first, err := netip.ParseAddr(from)
	if err != nil {
		return ipBlock{}, fmt.Errorf("invalid IP address '%s': %w", s, err)
	}
	last := first
	if isRange {
		if last, err = netip.ParseAddr(to); err != nil {
			return ipBlock{}, fmt.Errorf("invalid IP range '%s': %w", s, err)
		}
	}
	first, last = first.Unmap(), last.Unmap()
	if first.Is4() != last.Is4() || last.Less(first) {
		return ipBlock{}, fmt.Errorf("invalid IP range '%s': it has to go from a lower to a higher address of one family", s)
	}
	return newIPBlock(first, last), nil
}

func parseNetwork(s string) (ipBlock, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return ipBlock{}, fmt.Errorf("invalid CIDR '%s': %w", s, err)
	}
	first := prefix.Masked().Addr()
	free := uint(first.BitLen() - prefix.Bits()) // #nosec -- a prefix is never longer than its address
	size := new(big.Int).Lsh(big.NewInt(1), free)
	block := ipBlock{first: addrToInt(first), count: size, ipv4: first.Is4()}
	if size.Cmp(big.NewInt(2)) > 0 {
		block.first.Add(block.first, big.NewInt(1))
		block.count.Sub(block.count, big.NewInt(2))
	}
	return block, nil
}

func newIPBlock(first, last netip.Addr) ipBlock {
	from := addrToInt(first)
	count := new(big.Int).Sub(addrToInt(last), from)
	return ipBlock{first: from, count: count.Add(count, big.NewInt(1)), ipv4: first.Is4()}
}

func addrToInt(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// GetIP returns the address at index, counting on from the start after the last.
func (pool *IPPool) GetIP(index uint64) net.IP {
	offset := new(big.Int).SetUint64(index)
	offset.Mod(offset, pool.count)
	for _, block := range pool.blocks {
		if offset.Cmp(block.count) >= 0 {
			offset.Sub(offset, block.count)
			continue
		}
		length := net.IPv6len
		if block.ipv4 {
			length = net.IPv4len
		}
		return new(big.Int).Add(block.first, offset).FillBytes(make(net.IP, length))
	}
	return nil
}

// NullIPPool is a pool that may be unset.
type NullIPPool struct {
	Pool  *IPPool
	Valid bool
}

// UnmarshalText reads the list; an empty text unsets.
func (n *NullIPPool) UnmarshalText(data []byte) error {
	if len(data) == 0 {
		*n = NullIPPool{}
		return nil
	}
	pool, err := NewIPPool(string(data))
	if err != nil {
		return err
	}
	*n = NullIPPool{Pool: pool, Valid: true}
	return nil
}

// MarshalText writes the list as it was given.
func (n NullIPPool) MarshalText() ([]byte, error) {
	if !n.Valid || n.Pool == nil {
		return []byte{}, nil
	}
	return []byte(n.Pool.source), nil
}
