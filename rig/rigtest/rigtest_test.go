package rigtest_test

import (
	"os"
	"testing"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"

	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func TestAServerWithRowsIsThereForATest(t *testing.T) {
	r := rigtest.Start(t, rigtest.Rows(20), rigtest.Fragments(3), rigtest.Optimize())

	if r.URL == "" || r.Token == "" || len(r.Tokens) < 3 || r.Bin == "" {
		t.Fatalf("incomplete: %+v", r)
	}

	before := r.URL
	r.Restart(t)

	if r.URL != before && rigtest.Free(t, before) {
		t.Errorf("restarted at %s, was at %s", r.URL, before)
	}
}
