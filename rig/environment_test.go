package rig

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestOmnigraphSeesNothingOfTheUsersSettings(t *testing.T) {
	env := environment{
		"PATH=/bin", "OMNIGRAPH_PROFILE=mine", "OMNIGRAPH_BEARER_TOKEN=secret", "OMNIGRAPH_HOME=/home/me",
		"OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=2", "OMNIGRAPH_EMULATOR_SEED=1", "HOME=/home/me",
	}

	want := environment{
		"PATH=/bin", "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX=2", "OMNIGRAPH_EMULATOR_SEED=1", "HOME=/home/me",
	}
	if got := env.forOmnigraph(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestTheRigsOwnCallsAreSparedTheEmulatorsFaults(t *testing.T) {
	env := environment{"OMNIGRAPH_EMULATOR_FAULTS=faults.json", "OMNIGRAPH_EMULATOR_PROFILE=spike"}

	if got := env.forOwnCalls(); !slices.Equal(got, environment{"OMNIGRAPH_EMULATOR_PROFILE=spike"}) {
		t.Errorf("%v", got)
	}

	if got := env.forOmnigraph(); !slices.Equal(got, env) {
		t.Errorf("the server's: %v", got)
	}
}

func TestTheEmulatorsFilesAreTakenFromTheCallersFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)

	for value, want := range map[string]string{
		"faults.json": filepath.Join(dir, "faults.json"), "../f2.json": filepath.Join(filepath.Dir(dir), "f2.json"), "/etc/f.json": "/etc/f.json", "": "",
	} {
		env := environment{"OMNIGRAPH_EMULATOR_FAULTS=" + value, "A=1"}.fromHere()
		if got := env.get("OMNIGRAPH_EMULATOR_FAULTS"); got != want || env.get("A") != "1" {
			t.Errorf("%q became %q, want %q", value, got, want)
		}
	}

	for value, want := range map[string]string{
		"spike": "spike", "none": "none", "model.json": filepath.Join(dir, "model.json"), "./model": filepath.Join(dir, "model"), "/etc/m": "/etc/m",
	} {
		if got := (environment{"OMNIGRAPH_EMULATOR_PROFILE=" + value}).fromHere().get("OMNIGRAPH_EMULATOR_PROFILE"); got != want {
			t.Errorf("cost model %q became %q, want %q", value, got, want)
		}
	}

	if got := (environment{"A=1"}).fromHere(); !slices.Equal(got, environment{"A=1"}) {
		t.Errorf("%v", got)
	}
}

func TestSettingAVariableReplacesIt(t *testing.T) {
	env := environment{"A=1", "B=2", "A=3"}

	if got := env.get("A"); got != "3" {
		t.Errorf("the last one counts, got %q", got)
	}

	if got := env.with("A", "4", "C", "x=y"); !slices.Equal(got, environment{"B=2", "A=4", "C=x=y"}) {
		t.Errorf("%v", got)
	}

	if got := env.merge(environment{"B=5", "junk"}); !slices.Equal(got, environment{"A=1", "A=3", "B=5"}) {
		t.Errorf("%v", got)
	}

	if got := (environment{"PATH=relative:."}).lookPath("sh"); got != "" {
		t.Errorf("a relative entry of PATH counted: %s", got)
	}
}
