// Package persist holds the immutable containers of which a graph's states are made: a new state shares with
// the old one all that did not change, so that readers keep a snapshot and a branch costs nothing.
package persist

// Owner marks the nodes that one edit made and may still change in place. The zero value is unusable; take
// one from NewOwner per edit and forget it when the new state is published.
type Owner struct{ _ byte }

// NewOwner returns a fresh owner.
func NewOwner() *Owner { return &Owner{} }

const (
	vecBits = 5
	vecFan  = 1 << vecBits
)

// Vector maps a dense, growing sequence of numbers to pointers; absent ones are nil. The zero value is empty.
// A Vector is immutable: Set returns another one.
type Vector[T any] struct {
	root  *vecNode[T]
	depth uint
}

type vecNode[T any] struct {
	owner *Owner
	kids  []*vecNode[T]
	vals  []*T
}

// capacity is the first number that does not fit at the present depth.
func (v Vector[T]) capacity() uint64 {
	if v.root == nil {
		return 0
	}
	return 1 << (vecBits * (v.depth + 1))
}

// Get returns the pointer at i, or nil.
func (v Vector[T]) Get(i uint64) *T {
	if i >= v.capacity() {
		return nil
	}
	n := v.root
	for d := v.depth; d > 0; d-- {
		if n = n.kids[i>>(vecBits*d)&(vecFan-1)]; n == nil {
			return nil
		}
	}
	return n.vals[i&(vecFan-1)]
}

// Set returns a vector with x at i (nil removes). Nodes of the given owner are changed in place.
func (v Vector[T]) Set(owner *Owner, i uint64, x *T) Vector[T] {
	if x == nil && i >= v.capacity() {
		return v
	}
	if v.root == nil {
		v.root = newVecNode[T](owner, 0)
	}
	for i >= v.capacity() {
		root := newVecNode[T](owner, v.depth+1)
		root.kids[0] = v.root
		v.root = root
		v.depth++
	}
	v.root = v.root.set(owner, v.depth, i, x)
	return v
}

func newVecNode[T any](owner *Owner, depth uint) *vecNode[T] {
	n := &vecNode[T]{owner: owner}
	if depth == 0 {
		n.vals = make([]*T, vecFan)
	} else {
		n.kids = make([]*vecNode[T], vecFan)
	}
	return n
}

func (n *vecNode[T]) set(owner *Owner, depth uint, i uint64, x *T) *vecNode[T] {
	if n.owner != owner {
		fresh := newVecNode[T](owner, depth)
		copy(fresh.kids, n.kids)
		copy(fresh.vals, n.vals)
		n = fresh
	}
	if depth == 0 {
		n.vals[i&(vecFan-1)] = x
		return n
	}
	slot := i >> (vecBits * depth) & (vecFan - 1)
	kid := n.kids[slot]
	if kid == nil {
		if x == nil {
			return n
		}
		kid = newVecNode[T](owner, depth-1)
	}
	n.kids[slot] = kid.set(owner, depth-1, i, x)
	return n
}

// Each calls f for every present pointer in ascending order until f returns false; it reports whether it
// came to the end.
func (v Vector[T]) Each(f func(*T) bool) bool {
	if v.root == nil {
		return true
	}
	return v.root.each(v.depth, f)
}

func (n *vecNode[T]) each(depth uint, f func(*T) bool) bool {
	if depth == 0 {
		for _, x := range n.vals {
			if x != nil && !f(x) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids {
		if kid != nil && !kid.each(depth-1, f) {
			return false
		}
	}
	return true
}
