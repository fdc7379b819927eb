package omnigraph

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// emulation is what is known of an emulator that answered. A run with one is labelled: its figures are a model's.
type emulation struct {
	source         emulationSource
	model, version string
}

// emulationSource is how the emulator was recognised. A better source names the cost model better.
type emulationSource uint8

const (
	emulatedByRig     emulationSource = iota + 1 // the environment that a rig exports, or the name of the CLI's program
	emulatedByVersion                            // the version that the server or the CLI gives
	emulatedByHeader                             // the header that each of the emulator's answers carries
)

const (
	// noModel names the cost model of an emulator that answers as fast as it can.
	noModel = "none"
	// emulatorProgram is the emulator's own name, to which the links that stand in for omnigraph's programs lead.
	emulatorProgram = "omnigraph-emulator"
)

// sawEmulator is the one place that labels the run, whatever told it of the emulator.
func (r *recording) sawEmulator(source emulationSource, model, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := emulation{source: source, model: model, version: version}
	if known := r.emulated.Load(); known != nil {
		if known.source >= source {
			now.source, now.model = known.source, known.model
		}
		if known.version != "" {
			now.version = known.version
		}
		if now == *known {
			return
		}
	}
	r.emulated.Store(&now)
	r.recorder.SetEmulator(recorder.Emulator{CostModel: now.model, Version: now.version})
}

// sawAnswer looks at an attempt's answer. Every attempt comes by: it costs a comparison, and for the emulator's answers
// an atomic load.
func (r *recording) sawAnswer(out *wire.Outcome) {
	if out.CostModel == "" {
		return
	}
	if known := r.emulated.Load(); known != nil && known.source == emulatedByHeader {
		return
	}
	r.sawEmulator(emulatedByHeader, out.CostModel, "")
}

// sawVersion looks at the version of a server or a CLI: the emulator's are 0.8.0-emulator and, with a cost model,
// 0.8.0-emulator+NAME.
func (r *recording) sawVersion(version string) {
	_, rest, found := strings.Cut(version, "emulator")
	if !found {
		return
	}
	model := strings.Trim(rest, " -+.()")
	if model == "" {
		model = noModel
	}
	r.sawEmulator(emulatedByVersion, model, version)
}

// sawTarget looks at what a client is pointed at, once for the client: a CLI process tells nothing about who answered
// it. The emulator stands in if that is the server, the store or the CLI of a rig that says so (OMNIGRAPH_EMULATED=1),
// or if the CLI's program is the emulator.
func (r *recording) sawTarget(transport string, s *settings) {
	if ofEmulatedRig(s) || transport == wire.TransportCLI && isEmulatorProgram(s.bin) {
		r.sawEmulator(emulatedByRig, profileModel(os.Getenv("OMNIGRAPH_EMULATOR_PROFILE")), "")
	}
}

func ofEmulatedRig(s *settings) bool {
	if os.Getenv("OMNIGRAPH_EMULATED") != "1" {
		return false
	}
	for _, a := range []struct{ used, variable string }{
		{s.url, "OMNIGRAPH_URL"}, {s.url, "OMNIGRAPH_URI"}, {s.server, "OMNIGRAPH_URL"}, {s.server, "OMNIGRAPH_URI"},
		{s.store, "OMNIGRAPH_STORE"}, {s.bin, "OMNIGRAPH_BIN"},
	} {
		if used := strings.TrimRight(a.used, "/"); used != "" && used == strings.TrimRight(os.Getenv(a.variable), "/") {
			return true
		}
	}
	return false
}

// isEmulatorProgram follows the links that stand in for the CLI.
func isEmulatorProgram(bin string) bool {
	path, err := exec.LookPath(bin)
	if err != nil {
		return false
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && strings.TrimSuffix(filepath.Base(target), ".exe") == emulatorProgram
}

// profileModel is the cost model that a profile stands for as far as its name tells: a profile may be a file.
func profileModel(profile string) string {
	if profile == "" {
		return noModel
	}
	return strings.TrimSuffix(filepath.Base(profile), ".json")
}
