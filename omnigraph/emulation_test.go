package omnigraph

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/internal/executable"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

func (r *runtime) recorded(t *testing.T) *recorder.Record {
	t.Helper()
	rec, err := r.root.recording.build()
	require.NoError(t, err)
	return rec
}

func TestTheEmulatorsHeaderIsTheOneThatIsLookedFor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, costmodel.Header, wire.HeaderCostModel)
	assert.Equal(t, costmodel.Header, http.CanonicalHeaderKey(costmodel.Header))
	assert.Equal(t, costmodel.None, noModel)
}

func TestARunOnTheEmulatorIsLabelledByItsFirstAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		status     int
		body       string
		header     string
		want       *recorder.Emulator
	}{
		{"ok/a success", `og.query("query q() { match { $m: Memory } return { $m.slug } }")`, 200, threeRows, "spike", &recorder.Emulator{CostModel: "spike"}},
		{"ok/a failure", `og.query("query q() { match { $m: Memory } return { $m.slug } }")`, 404, `{"error":"no graph"}`, "spike", &recorder.Emulator{CostModel: "spike"}},
		{"ok/without a cost model", `og.schema()`, 200, `{"schema":"node A {}"}`, "none", &recorder.Emulator{CostModel: "none"}},
		{"ok/a version without a header", `og.health()`, 200, `{"status":"ok","version":"0.8.0-emulator+slow"}`, "", &recorder.Emulator{CostModel: "slow", Version: "0.8.0-emulator+slow"}},
		{"ok/the header before the version", `og.health()`, 200, `{"status":"ok","version":"0.8.0-emulator"}`, "slow", &recorder.Emulator{CostModel: "slow", Version: "0.8.0-emulator"}},
		{"ok/a real server", `og.health()`, 200, `{"status":"ok","version":"0.8.0"}`, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			header := []string{}
			if c.header != "" {
				header = []string{costmodel.Header, c.header}
			}
			server := newStub(t, answer(c.status, c.body, header...))
			r := newRuntime(t)
			r.js(fmt.Sprintf(`const og = connect(%q, {graph: "council"})`, server.URL))
			r.enter().js(c.code + ";" + c.code)
			rec := r.recorded(t)
			assert.Equal(t, c.want, rec.Emulator)
			labelled := false
			for _, reason := range rec.Reasons {
				labelled = labelled || reason.Code == "emulator"
			}
			assert.Equal(t, c.want != nil, labelled)
			if c.want != nil {
				assert.NotEqual(t, recorder.Valid, rec.Verdict)
			}
		})
	}
}

func TestACLIRunOnAnEmulatedRigIsLabelled(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, emulatorProgram)
	executable.Write(t, program, "#!/bin/sh\necho '{}'\n")
	link := filepath.Join(dir, "omnigraph")
	require.NoError(t, os.Symlink(program, link))
	other := filepath.Join(dir, "other")
	executable.Write(t, other, "#!/bin/sh\necho '{}'\n")
	for _, c := range []struct {
		name, code string
		env        map[string]string
		want       *recorder.Emulator
	}{
		{"ok/the rig's server", fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:1/", bin: %q})`, other), map[string]string{"OMNIGRAPH_EMULATED": "1", "OMNIGRAPH_URI": "http://127.0.0.1:1", "OMNIGRAPH_EMULATOR_PROFILE": "spike"}, &recorder.Emulator{CostModel: "spike"}},
		{"ok/the rig's store", fmt.Sprintf(`connect("/rig/council.omni", {bin: %q})`, other), map[string]string{"OMNIGRAPH_EMULATED": "1", "OMNIGRAPH_STORE": "/rig/council.omni"}, &recorder.Emulator{CostModel: "none"}},
		{"ok/the rig's CLI", fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:2", bin: %q})`, other), map[string]string{"OMNIGRAPH_EMULATED": "1", "OMNIGRAPH_BIN": other, "OMNIGRAPH_EMULATOR_PROFILE": "/etc/slow.json"}, &recorder.Emulator{CostModel: "slow"}},
		{"ok/a link to the emulator", fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:2", bin: %q})`, link), nil, &recorder.Emulator{CostModel: "none"}},
		{"ok/a real rig", fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:1", bin: %q})`, other), map[string]string{"OMNIGRAPH_EMULATED": "", "OMNIGRAPH_URI": "http://127.0.0.1:1"}, nil},
		{"ok/another server than the rig's", fmt.Sprintf(`new CLIClient({server: "http://127.0.0.1:2", bin: %q})`, other), map[string]string{"OMNIGRAPH_EMULATED": "1", "OMNIGRAPH_URI": "http://127.0.0.1:1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"OMNIGRAPH_EMULATED", "OMNIGRAPH_URI", "OMNIGRAPH_URL", "OMNIGRAPH_STORE", "OMNIGRAPH_BIN", "OMNIGRAPH_EMULATOR_PROFILE"} {
				t.Setenv(name, c.env[name])
			}
			r := newRuntime(t)
			r.js("const og = " + c.code)
			r.enter().js(`og.schema()`)
			assert.Equal(t, c.want, r.recorded(t).Emulator)
		})
	}
}

// The label is looked for at every attempt.
func TestLookingForTheEmulatorAllocatesNothing(t *testing.T) {
	r := newRecording()
	for _, out := range []*wire.Outcome{{}, {CostModel: "spike"}} {
		r.sawAnswer(out)
		assert.Zero(t, testing.AllocsPerRun(100, func() { r.sawAnswer(out) }))
	}
}
