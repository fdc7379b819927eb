// Package usage collects, in memory only, which features a test uses. The embedded host sends it nowhere.
package usage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Usage is a tree of values addressed by keys whose levels are separated by slashes. It is safe for concurrent use.
type Usage struct {
	mu     sync.Mutex
	values map[string]any
}

// New returns an empty Usage.
func New() *Usage {
	return &Usage{values: make(map[string]any)}
}

// Strings appends value to the list at key.
func (u *Usage) Strings(key, value string) error {
	return u.set(key, func(old any) (any, error) {
		switch list := old.(type) {
		case nil:
			return []string{value}, nil
		case []string:
			return append(list, value), nil
		default:
			return nil, fmt.Errorf("usage key %q holds a %T, not a list of strings", key, old)
		}
	})
}

// Values adds value to the list at key unless it is there already.
func (u *Usage) Values(key, value string) error {
	return u.set(key, func(old any) (any, error) {
		switch list := old.(type) {
		case nil:
			return []string{value}, nil
		case []string:
			if slices.Contains(list, value) {
				return list, nil
			}
			return append(list, value), nil
		default:
			return nil, fmt.Errorf("usage key %q holds a %T, not a list of strings", key, old)
		}
	})
}

// Uint64 adds n to the number at key.
func (u *Usage) Uint64(key string, n uint64) error {
	return u.set(key, func(old any) (any, error) {
		switch sum := old.(type) {
		case nil:
			return n, nil
		case uint64:
			return sum + n, nil
		default:
			return nil, fmt.Errorf("usage key %q holds a %T, not a number", key, old)
		}
	})
}

func (u *Usage) set(key string, update func(old any) (any, error)) error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	level := u.values
	parts := strings.Split(key, "/")
	for _, part := range parts[:len(parts)-1] {
		next, ok := level[part]
		if !ok {
			next = make(map[string]any)
			level[part] = next
		}
		nested, ok := next.(map[string]any)
		if !ok {
			return fmt.Errorf("usage key %q: %q holds a value, not a level", key, part)
		}
		level = nested
	}
	last := parts[len(parts)-1]
	updated, err := update(level[last])
	if err != nil {
		return err
	}
	level[last] = updated
	return nil
}

// Map returns a copy of the tree.
func (u *Usage) Map() map[string]any {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return cloneTree(u.values)
}

func cloneTree(tree map[string]any) map[string]any {
	out := maps.Clone(tree)
	for k, v := range out {
		switch v := v.(type) {
		case map[string]any:
			out[k] = cloneTree(v)
		case []string:
			out[k] = slices.Clone(v)
		}
	}
	return out
}
