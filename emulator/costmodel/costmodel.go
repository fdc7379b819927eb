// Package costmodel says how long a real omnigraph would have taken for what the emulator does in no time.
// Its figures are a model's, fitted to published tables, and never a measurement.
package costmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Header is the response header by which every answer of the emulator names its cost model.
const Header = "Omnigraph-Emulator-Cost-Model"

// ClientHeader is set by the emulator's CLI stand-in, so that the server can charge for what a CLI call costs
// under load: only the server knows how much is in flight.
const ClientHeader = "Omnigraph-Emulator-Client"

// Label is the sentence that every report of a run against a costed emulator carries at its top.
func Label(name string) string {
	return fmt.Sprintf("emulator, cost model %s: a model's figures, not a measurement", name)
}

// Work is what an operation touched.
type Work struct {
	// Fragments of the tables read.
	Fragments int
	// Rows looked at.
	Rows int
	// Commits in the branch's history; SinceOptimize of those after the last compaction.
	Commits       int
	SinceOptimize int
	// Others is how many other operations of its kind are in flight.
	Others int
	// Draw, from 0 to 1, places a commit within its spread.
	Draw float64
}

// Draw is the n-th place within a spread: a sequence that fills the interval evenly and is the same every time.
func Draw(n uint64) float64 {
	const golden = 0.6180339887498949
	_, f := math.Modf(float64(n) * golden)
	return f
}

// Model is a profile. All times are milliseconds.
type Model struct {
	Name string `json:"name"`
	// ReadMS is a read of nothing on a compacted store.
	ReadMS float64 `json:"read_ms"`
	// ReadPerFragmentMS is added for each fragment after the first.
	ReadPerFragmentMS float64 `json:"read_per_fragment_ms"`
	// ReadPerRowMS is added for each row looked at.
	ReadPerRowMS float64 `json:"read_per_row_ms"`
	// ReadPerCommitMS is added for each commit in the history.
	ReadPerCommitMS float64 `json:"read_per_commit_ms"`
	// ReadContention is the share of a read's cost that is added for each other read in flight.
	ReadContention float64 `json:"read_contention"`
	// CommitMS is one commit on a store with nothing to fold and no other writer.
	CommitMS float64 `json:"commit_ms"`
	// CommitPerCommitMS is added for each commit since the last optimize.
	CommitPerCommitMS float64 `json:"commit_per_commit_ms"`
	// CommitContentionMS is added by the number of writers in flight when a commit gets the lock, CLI processes
	// that start among them; between the points it is interpolated, beyond the last it grows on as before.
	CommitContentionMS []Point `json:"commit_contention_ms"`
	// CommitSpread is the share by which commits differ from each other, up and down. Without it a closed loop
	// of few writers falls into step with itself, and its medians jump.
	CommitSpread float64 `json:"commit_spread"`
	// CLIStartMS is what the CLI takes before it sends its request, beyond the bare start of a process.
	CLIStartMS float64 `json:"cli_start_ms"`
	// CLIPerCommitMS is added to that for each commit in the history.
	CLIPerCommitMS float64 `json:"cli_per_commit_ms"`
	// CLISlowdown multiplies the contention part of an operation's cost: a process that starts while the
	// server is busy starts more slowly.
	CLISlowdown float64 `json:"cli_slowdown"`
	// OptimizeMS and OptimizePerFragmentMS are the cost of a compaction.
	OptimizeMS            float64 `json:"optimize_ms"`
	OptimizePerFragmentMS float64 `json:"optimize_per_fragment_ms"`
}

// Point is one point of a piecewise linear function.
type Point struct {
	// N is a number of writers, from 1 on.
	N int `json:"n"`
	// MS is the cost there.
	MS float64 `json:"ms"`
}

// leftName is the file by which a server tells whoever works on its stores directly what that costs.
const leftName = "emulator.profile.json"

// Leave writes the model into a store's directory, or removes the one there if m is nil: a CLI that optimizes
// the store is started by somebody who knows the store, not the server's profile.
func Leave(dir string, m *Model) error {
	path := filepath.Join(dir, leftName)
	if m == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove an old cost model: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode the cost model: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("leave the cost model in the store: %w", err)
	}
	return nil
}

// Left reads the model that a server left in a store's directory; nil if none did.
func Left(dir string) (*Model, error) {
	path := filepath.Join(dir, leftName)
	text, err := os.ReadFile(path) // #nosec G304 -- beside the store that the user names
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the store's cost model: %w", err)
	}
	return parse(path, text)
}

// ms turns milliseconds into a duration; what no duration holds is the longest one.
func ms(v float64) time.Duration {
	if ns := v * float64(time.Millisecond); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

func (m *Model) readAlone(w Work) float64 {
	return m.ReadMS + m.ReadPerFragmentMS*float64(max(w.Fragments-1, 0)) + m.ReadPerRowMS*float64(w.Rows) +
		m.ReadPerCommitMS*float64(w.Commits)
}

// Read is the cost of a read. cli adds what the caller being a CLI process costs on top.
func (m *Model) Read(w Work, cli bool) time.Duration {
	alone := m.readAlone(w)
	contention := alone * m.ReadContention * float64(w.Others)
	total := alone + contention
	if cli {
		total += m.CLISlowdown * contention
	}
	return ms(total)
}

// Commit is how long a commit holds the graph's commit lock.
func (m *Model) Commit(w Work) time.Duration {
	alone := m.CommitMS + m.CommitPerCommitMS*float64(w.SinceOptimize) + m.contention(w.Others)
	return ms(alone * (1 + m.CommitSpread*(2*w.Draw-1)))
}

// BeforeCommit is what the start of a CLI process loses to other writers, before its own write queues.
func (m *Model) BeforeCommit(w Work) time.Duration {
	return ms(m.CLISlowdown * m.contention(w.Others))
}

// contention interpolates CommitContentionMS at others+1 writers.
func (m *Model) contention(others int) float64 {
	n := others + 1
	p := m.CommitContentionMS
	if len(p) == 0 || n <= p[0].N {
		return 0
	}
	if len(p) == 1 {
		return p[0].MS
	}
	i := 1
	for i < len(p)-1 && p[i].N < n {
		i++
	}
	a, b := p[i-1], p[i]
	// Beyond the last point a falling line must not end below nothing.
	return max(a.MS+(b.MS-a.MS)*float64(n-a.N)/float64(b.N-a.N), 0)
}

// Start is what the CLI takes before it sends its request, beyond the bare start of a process, for a history of
// so many commits.
func (m *Model) Start(commits int) time.Duration {
	return ms(m.CLIStartMS + m.CLIPerCommitMS*float64(commits))
}

// Optimize is the cost of folding fragments.
func (m *Model) Optimize(fragments int) time.Duration {
	return ms(m.OptimizeMS + m.OptimizePerFragmentMS*float64(fragments))
}
