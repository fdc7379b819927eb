package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lived plays a cycle commit by commit: how many a second it came to, and the share of its time that optimizes took.
func lived(w WriteCycle, commits int) (rate, share float64) {
	var ms float64
	for i := range commits {
		ms += w.CommitMS + w.SlopeMS*(float64(i)+0.5)
	}
	optimize := w.OptimizeMS
	if n := float64(commits); n > w.OptimizeCommits && w.OptimizeCommits > 0 {
		optimize *= n / w.OptimizeCommits
	}
	ms += optimize
	return float64(commits) * 1000 / ms, optimize / ms
}

func TestAWriteCycleKeepsUpWhatItsCommitsLeaveTimeFor(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w := WriteCycle{
			CommitMS: 5 + 100*rng.Float64(), SlopeMS: rng.Float64(), OptimizeMS: 2000 * rng.Float64(), OptimizeCommits: 1 + 200*rng.Float64(),
			MaxCommits: 2 + 500*rng.Float64(), MaxShare: 0.02 + rng.Float64()*0.5,
		}
		// The best of all whole numbers of commits, each played through: a share above the bound is stretched by waiting.
		var most float64
		for n := 1; n <= int(w.MaxCommits); n++ {
			rate, share := lived(w, n)
			rate *= math.Min(1, w.MaxShare/share)
			assert.InEpsilon(t, rate, w.Rate(float64(n)), 1e-9)
			most = math.Max(most, rate)
		}
		commits, rate := w.Best()
		assert.GreaterOrEqual(t, rate, most*(1-1e-6), "%+v", w)
		assert.InEpsilon(t, rate, w.Rate(commits), 1e-9)
		assert.LessOrEqual(t, commits, w.MaxCommits)

		wanted := rate * (0.3 + 0.69*rng.Float64())
		longest, ok := w.Longest(wanted)
		require.True(t, ok)
		assert.GreaterOrEqual(t, w.Rate(longest), wanted*(1-1e-6))
		assert.LessOrEqual(t, w.Share(wanted, longest), w.MaxShare*(1+1e-6))
		if longest < w.MaxCommits {
			assert.Less(t, w.Rate(longest*1.001), wanted)
		}
		_, ok = w.Longest(rate * 1.01)
		assert.False(t, ok)
	}
}

func TestAWriteCycleWithoutWhatItDependsOn(t *testing.T) {
	t.Parallel()
	free := WriteCycle{CommitMS: 20, MaxCommits: 1e9, MaxShare: 0.1}
	_, rate := free.Best()
	assert.InEpsilon(t, 50, rate, 1e-9, "commits alone set the rate")
	longest, ok := free.Longest(40)
	assert.True(t, ok)
	assert.InEpsilon(t, 1e9, longest, 1e-9)
	_, rate = WriteCycle{CommitMS: 20, MaxShare: 0.1}.Best()
	assert.Zero(t, rate, "no commit may pass")
	assert.True(t, math.IsInf(free.Share(1, 0), 1))
}
