package cliclient

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
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

// scratchPattern is the name of a folder of one call, for os.MkdirTemp: what it is for, and whose it is, should that
// process be killed. A process id says so only together with the place where it counts.
func scratchPattern(kind string) string {
	return fmt.Sprintf("omnigraph-%s-%d-%s-*", kind, os.Getpid(), processSpace())
}

// unknownSpace stands where a process can't tell where its id counts.
const unknownSpace = "x"

var scratchName = regexp.MustCompile(`^omnigraph-(?:home|call)-([0-9]+)-([0-9a-z]+)-[0-9]+$`)

// clearStaleIn removes the folders of calls whose process is gone. It touches only folders that belong to this user and
// whose process id counts where this process's does: on a volume that containers share, others' ids say nothing.
func clearStaleIn(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		m := scratchName.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() || m[2] != processSpace() || m[2] == unknownSpace {
			continue
		}
		pid, err := strconv.Atoi(m[1])
		if err != nil || !isGone(pid) {
			continue
		}
		if info, err := e.Info(); err == nil && isOwn(info) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
