package persist

import (
	"hash/maphash"
	"math/bits"
)

// seed makes hashes unpredictable to whoever chooses the keys. One per process, since maps are compared
// by nobody and outlive no process.
var seed = maphash.MakeSeed()

// Map maps strings to values. The zero value is empty; a Map is immutable: Set and Delete return another one.
type Map[V any] struct {
	root *mapNode[V]
}

const maxMapDepth = 12 // five bits each of a 64-bit hash; below it, keys collide in a list

type mapNode[V any] struct {
	owner  *Owner
	bitmap uint32
	slots  []mapSlot[V]
}

// mapSlot is a sub-node or an entry.
type mapSlot[V any] struct {
	kid *mapNode[V]
	key string
	val V
}

// Get returns the value of key.
func (m Map[V]) Get(key string) (V, bool) {
	var zero V
	n := m.root
	hash := maphash.String(seed, key)
	for depth := 0; n != nil; depth++ {
		if depth > maxMapDepth {
			for i := range n.slots {
				if n.slots[i].key == key {
					return n.slots[i].val, true
				}
			}
			return zero, false
		}
		bit := uint32(1) << (hash & 31)
		if n.bitmap&bit == 0 {
			return zero, false
		}
		s := &n.slots[bits.OnesCount32(n.bitmap&(bit-1))]
		if s.kid == nil {
			if s.key == key {
				return s.val, true
			}
			return zero, false
		}
		n = s.kid
		hash >>= 5
	}
	return zero, false
}

// Set returns a map in which key has val.
func (m Map[V]) Set(owner *Owner, key string, val V) Map[V] {
	if m.root == nil {
		m.root = &mapNode[V]{owner: owner}
	}
	return Map[V]{root: m.root.set(owner, 0, maphash.String(seed, key), key, val)}
}

func (n *mapNode[V]) mine(owner *Owner) *mapNode[V] {
	if n.owner == owner {
		return n
	}
	return &mapNode[V]{owner: owner, bitmap: n.bitmap, slots: append([]mapSlot[V](nil), n.slots...)}
}

func (n *mapNode[V]) set(owner *Owner, depth int, hash uint64, key string, val V) *mapNode[V] {
	n = n.mine(owner)
	if depth > maxMapDepth {
		for i := range n.slots {
			if n.slots[i].key == key {
				n.slots[i].val = val
				return n
			}
		}
		n.slots = append(n.slots, mapSlot[V]{key: key, val: val})
		return n
	}
	bit := uint32(1) << (hash & 31)
	i := bits.OnesCount32(n.bitmap & (bit - 1))
	if n.bitmap&bit == 0 {
		n.bitmap |= bit
		n.slots = append(n.slots, mapSlot[V]{})
		copy(n.slots[i+1:], n.slots[i:])
		n.slots[i] = mapSlot[V]{key: key, val: val}
		return n
	}
	s := &n.slots[i]
	switch {
	case s.kid != nil:
		s.kid = s.kid.set(owner, depth+1, hash>>5, key, val)
	case s.key == key:
		s.val = val
	default:
		kid := &mapNode[V]{owner: owner}
		other := maphash.String(seed, s.key) >> (5 * (depth + 1))
		kid = kid.set(owner, depth+1, other, s.key, s.val)
		kid = kid.set(owner, depth+1, hash>>5, key, val)
		*s = mapSlot[V]{kid: kid}
	}
	return n
}

// Delete returns a map without key.
func (m Map[V]) Delete(owner *Owner, key string) Map[V] {
	if _, ok := m.Get(key); !ok {
		return m
	}
	return Map[V]{root: m.root.remove(owner, 0, maphash.String(seed, key), key)}
}

func (n *mapNode[V]) remove(owner *Owner, depth int, hash uint64, key string) *mapNode[V] {
	n = n.mine(owner)
	if depth > maxMapDepth {
		for i := range n.slots {
			if n.slots[i].key == key {
				n.slots = append(n.slots[:i], n.slots[i+1:]...)
				break
			}
		}
	} else {
		bit := uint32(1) << (hash & 31)
		i := bits.OnesCount32(n.bitmap & (bit - 1))
		if s := &n.slots[i]; s.kid != nil {
			s.kid = s.kid.remove(owner, depth+1, hash>>5, key)
			if s.kid != nil {
				return n
			}
		}
		n.slots = append(n.slots[:i], n.slots[i+1:]...)
		n.bitmap &^= bit
	}
	if len(n.slots) == 0 {
		return nil
	}
	return n
}

// Each calls f for every entry, in no particular order.
func (m Map[V]) Each(f func(string, V)) {
	if m.root != nil {
		m.root.each(f)
	}
}

func (n *mapNode[V]) each(f func(string, V)) {
	for i := range n.slots {
		if kid := n.slots[i].kid; kid != nil {
			kid.each(f)
			continue
		}
		f(n.slots[i].key, n.slots[i].val)
	}
}
