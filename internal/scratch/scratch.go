// Package scratch names temporary folders so that what a killed process left behind is known as such, and removes it.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// Pattern is the name of a folder, for os.MkdirTemp: what it is for (a word of lower-case letters), and whose it is,
// should that process be killed. A process id says so only together with the place where it counts.
func Pattern(kind string) string {
	return fmt.Sprintf("omnigraph-%s-%d-%s-*", kind, os.Getpid(), processSpace())
}

// unknownSpace stands where a process can't tell where its id counts.
const unknownSpace = "x"

var name = regexp.MustCompile(`^omnigraph-([a-z]+)-([0-9]+)-([0-9a-z]+)-[0-9]+$`)

// Clear removes the folders in dir that are of one of the kinds and whose process is gone. It touches only folders that
// belong to this user and whose process id counts where this process's does: on a volume that containers share, others'
// ids say nothing. inUse, unless nil, may spare a folder that somebody else still needs.
func Clear(dir string, inUse func(dir string) bool, kinds ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isLeftover(e, kinds) || inUse != nil && inUse(path) {
			continue
		}
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

func isLeftover(e os.DirEntry, kinds []string) bool {
	m := name.FindStringSubmatch(e.Name())
	if m == nil || !e.IsDir() || !slices.Contains(kinds, m[1]) || m[3] != processSpace() || m[3] == unknownSpace {
		return false
	}
	pid, err := strconv.Atoi(m[2])
	if err != nil || !isGone(pid) {
		return false
	}
	info, err := e.Info()
	return err == nil && isOwn(info)
}
