package cliclient

import (
	"os"
	"sync"

	"github.com/mitodl/xk6-omnigraph/internal/scratch"
)

// What the folders of a call are for.
const (
	homeKind  = "home"
	filesKind = "call"
)

// clearStale removes once, before this process's first call, what earlier ones left that were killed: a k6 that gets
// SIGKILL can't tidy up. It is no operation's failure if that doesn't work.
var clearStale = sync.OnceFunc(func() {
	for _, dir := range scratchParents() {
		_ = clearStaleIn(dir)
	}
})

// scratchParents are the folders in which this package makes its own.
func scratchParents() []string {
	if homeParent == "" {
		return []string{os.TempDir()}
	}
	return []string{homeParent, os.TempDir()}
}

// clearStaleIn removes the folders of calls whose process is gone.
func clearStaleIn(dir string) error { return scratch.Clear(dir, nil, homeKind, filesKind) }
