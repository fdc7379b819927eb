package rig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environment is a process's environment, as os.Environ has it. Of two entries the later counts.
type environment []string

func (e environment) get(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(e[i], "="); ok && key == name {
			return value
		}
	}

	return ""
}

// with sets variables, given as name, value, name, value; what was there of these names goes.
func (e environment) with(pairs ...string) environment {
	set := map[string]bool{}
	for i := 0; i+1 < len(pairs); i += 2 {
		set[pairs[i]] = true
	}

	out := make(environment, 0, len(e)+len(pairs)/2)

	for _, entry := range e {
		if key, _, _ := strings.Cut(entry, "="); !set[key] {
			out = append(out, entry)
		}
	}

	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, pairs[i]+"="+pairs[i+1])
	}

	return out
}

// merge sets every variable of other.
func (e environment) merge(other environment) environment {
	var pairs []string

	for _, entry := range other {
		if key, value, ok := strings.Cut(entry, "="); ok {
			pairs = append(pairs, key, value)
		}
	}

	return e.with(pairs...)
}

// forOmnigraph leaves out what would change omnigraph's behaviour unseen (a profile, a token, a configuration
// folder); the admission cap's variables and the emulator's are passed on.
func (e environment) forOmnigraph() environment {
	out := make(environment, 0, len(e))

	for _, entry := range e {
		if strings.HasPrefix(entry, "OMNIGRAPH_") &&
			!strings.HasPrefix(entry, "OMNIGRAPH_PER_ACTOR_") &&
			!strings.HasPrefix(entry, "OMNIGRAPH_EMULATOR_") {
			continue
		}

		out = append(out, entry)
	}

	return out
}

// Variables of the emulator's that name a file: of faults, and of a cost model.
const (
	emulatorFaults  = "OMNIGRAPH_EMULATOR_FAULTS"
	emulatorProfile = "OMNIGRAPH_EMULATOR_PROFILE"
)

// forOwnCalls is for the rig's own calls of the CLI: the emulator's faults are meant for what is measured, and must neither
// hit the boot nor be used up by it.
func (e environment) forOwnCalls() environment {
	return slices.DeleteFunc(e.forOmnigraph(), func(entry string) bool {
		return strings.HasPrefix(entry, emulatorFaults+"=")
	})
}

// fromHere makes the paths of the emulator's faults and cost model such as hold in any folder: what the rig starts runs in
// the rig's, and a relative path is meant from the caller's. A cost model may also be one of the emulator's own, by its name.
func (e environment) fromHere() environment {
	for _, name := range []string{emulatorFaults, emulatorProfile} {
		path := e.get(name)
		if path == "" || filepath.IsAbs(path) || name == emulatorProfile && filepath.Ext(path) == "" && filepath.Base(path) == path {
			continue
		}

		abs, err := filepath.Abs(path)
		if err != nil {
			continue // the current folder is gone: the emulator says that it doesn't find the file
		}

		e = e.with(name, abs)
	}

	return e
}

// lookPath is exec.LookPath with this environment's PATH; entries that are not absolute don't count.
func (e environment) lookPath(name string) string {
	for _, dir := range filepath.SplitList(e.get("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}

		if path, err := executable(filepath.Join(dir, name)); err == nil {
			return path
		}
	}

	return ""
}

func orProcess(env []string) environment {
	if env == nil {
		return os.Environ()
	}

	return env
}
