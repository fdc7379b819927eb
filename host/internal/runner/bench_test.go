package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// BenchmarkIteration is what an iteration of an empty function costs the VU, without what happens to its samples.
func BenchmarkIteration(b *testing.B) {
	f := newFixture(b, `export default function () {}`, lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagGroup, metrics.TagScenario)})
	vu, err := f.runner.NewVU(b.Context(), 1, 1, f.out)
	require.NoError(b, err)
	active := vu.Activate(&Activation{RunContext: b.Context(), Scenario: "default", Exec: "default"})
	b.ReportAllocs()
	for b.Loop() {
		if err := active.RunOnce(); err != nil {
			b.Fatal(err)
		}
		<-f.out
	}
}
