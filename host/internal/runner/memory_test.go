package runner

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/lib"
)

// TestMemoryOfAVU bounds what a VU keeps in memory, so that thousands fit into a load generator.
func TestMemoryOfAVU(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		most   int64
	}{
		"an empty script": {`export default function () {}`, 60_000},
		"all modules": {`
			import http from 'k6/http';
			import { check, sleep, group } from 'k6';
			import { Counter, Trend } from 'k6/metrics';
			import exec from 'k6/execution';
			const c = new Counter('cc'), t = new Trend('tt');
			export default function () {}`, 130_000},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.script, lib.Options{})
			const n = 100
			vus := make([]*VU, n)
			before := heap()
			for i := range vus {
				vu, err := f.runner.NewVU(t.Context(), uint64(i+1), uint64(i+1), f.out)
				require.NoError(t, err)
				vus[i] = vu
			}
			each := (heap() - before) / n // less than nothing, if something else went
			t.Logf("%d bytes for each VU", each)
			if each > tc.most {
				t.Errorf("a VU keeps %d bytes, more than %d", each, tc.most)
			}
			runtime.KeepAlive(vus)
		})
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // for what the first one took from pools and handed to finalizers
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // a test
}
