package persist

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMapAgreesWithBuiltinAndOldVersionsStay(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var m Map[int]
	want := map[string]int{}
	var old Map[int]
	var oldWant map[string]int
	for i := range 20_000 {
		owner := NewOwner()
		key := fmt.Sprint(r.IntN(2000))
		if r.IntN(3) == 0 {
			m = m.Delete(owner, key)
			delete(want, key)
		} else {
			m = m.Set(owner, key, i)
			want[key] = i
		}
		if i == 10_000 {
			old, oldWant = m, map[string]int{}
			for k, v := range want {
				oldWant[k] = v
			}
		}
	}
	check := func(m Map[int], want map[string]int) {
		got := map[string]int{}
		m.Each(func(k string, v int) { got[k] = v })
		require.Equal(t, want, got)
		for k, v := range want {
			x, ok := m.Get(k)
			require.True(t, ok)
			require.Equal(t, v, x)
		}
		_, ok := m.Get("absent")
		require.False(t, ok)
	}
	check(m, want)
	check(old, oldWant)
}

func TestVectorKeepsOrderAndOldVersions(t *testing.T) {
	t.Parallel()
	var v Vector[uint64]
	owner := NewOwner()
	for i := range uint64(5000) {
		v = v.Set(owner, i, &i)
	}
	old := v
	owner = NewOwner()
	for i := range uint64(5000) {
		if i%3 == 0 {
			v = v.Set(owner, i, nil)
		}
	}
	var n, last uint64
	require.True(t, v.Each(func(x *uint64) bool {
		require.True(t, n == 0 || *x > last)
		require.NotZero(t, *x%3)
		last = *x
		n++
		return true
	}))
	require.EqualValues(t, 3333, n)
	require.EqualValues(t, 9, *old.Get(9))
	require.Nil(t, v.Get(9))
	require.Nil(t, v.Get(1<<40))
	require.False(t, v.Each(func(*uint64) bool { return false }))
}
