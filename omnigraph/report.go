package omnigraph

import (
	"bytes"
	"fmt"
	"os"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report"
	"github.com/tidwall/gjson"
)

// The files of a recorded run, below its folder.
const (
	recordFile   = "record.json"
	partialFile  = "record.partial.ndjson"
	emptyFile    = "record.empty.json"
	markdownFile = "report.md"
	htmlFile     = "report.html"
)

// report is what handleSummary returns: report(data, options). It takes from data what only k6 knows, and gives the
// terminal's report. The record and the report's files are written once, at the end of the run.
func (mi *instance) report(call sobek.FunctionCall) sobek.Value {
	o, ok := call.Argument(0).(*sobek.Object)
	if !ok {
		mi.throw(fmt.Errorf("report: argument data got %s; it takes what handleSummary gets", describe(call.Argument(0))))
	}
	opts, err := readReportOptions(call.Argument(1))
	if err != nil {
		mi.throw(err)
	}
	encoded, err := encodeJSON(o)
	if err != nil {
		mi.throw(fmt.Errorf("report: argument data is %w", err))
	}
	data := gjson.ParseBytes(encoded)
	facts, err := readSummary(data)
	if err != nil {
		mi.throw(err)
	}
	text, err := mi.root.recording.finish(facts, opts, data.Get("state.isStdOutTTY").Bool() && !data.Get("options.noColor").Bool())
	if err != nil {
		mi.throw(fmt.Errorf("report: %w", err))
	}
	rt := mi.vu.Runtime()
	out := rt.NewObject()
	_ = out.Set("stdout", text)
	return out
}

type reportOptions struct {
	// metrics says whether k6's metrics are shown above the report.
	metrics bool
}

func readReportOptions(v sobek.Value) (reportOptions, error) {
	opts := reportOptions{metrics: true}
	if common.IsNullish(v) {
		return opts, nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return opts, fmt.Errorf("report: argument options got %s; it takes {metrics}", describe(v))
	}
	for _, name := range o.Keys() {
		if name != "metrics" {
			return opts, fmt.Errorf("report: option %s is not known; known is metrics", name)
		}
		if err := setBool(&opts.metrics, o.Get(name)); err != nil {
			return opts, fmt.Errorf("report: option metrics got %s; it takes true or false", describe(o.Get(name)))
		}
	}
	return opts, nil
}

// finish takes up the summary and renders the terminal's report. Where k6's Exit event will come, files wait for it,
// since only it tells how the run ended.
func (r *recording) finish(facts *summaryFacts, opts reportOptions, color bool) (string, error) {
	r.mu.Lock()
	r.summary = facts
	wait := r.deferred
	configured := r.config != nil
	r.mu.Unlock()
	rec, err := r.build()
	if err != nil {
		return "", err
	}
	aside := configured && r.config.keepsEarlier(rec)
	if configured && !wait {
		if err := r.save(); err != nil {
			return "", err
		}
	}
	width := report.TerminalWidth(os.Getenv("COLUMNS"), int(os.Stdout.Fd())) // #nosec G115 -- descriptors are small
	var b bytes.Buffer
	if opts.metrics {
		b.WriteString("\n  █ METRICS\n\n" + facts.text + "\n")
	}
	if err := report.Build(rec).Terminal(&b, report.TerminalOptions{Color: color, Width: width}); err != nil {
		return "", fmt.Errorf("terminal report: %w", err)
	}
	switch {
	case r.unwritable != nil:
		fmt.Fprintf(&b, "\n%s\n", r.unwritable)
	case r.doubtful != nil:
		fmt.Fprintf(&b, "\n%s; k6's log says at its end what is left\n", r.doubtful)
	case aside:
		fmt.Fprintf(&b, "\n%s\n", r.config.keeps())
	case configured:
		fmt.Fprintf(&b, "\nrecord: %s, report: %s, %s\n", r.config.path(recordFile), r.config.path(markdownFile), r.config.path(htmlFile))
	}
	return b.String(), nil
}

// build makes the record of everything so far.
func (r *recording) build() (*recorder.Record, error) {
	r.mu.Lock()
	facts, config := r.summary, r.config
	r.mu.Unlock()
	for _, scenario := range r.scenarios(facts) {
		r.recorder.SetScenario(scenario)
	}
	if config != nil {
		r.recorder.SetScript(config.script)
	}
	rec, err := r.recorder.Finish()
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return rec, nil
}

// scenarios tells for each scenario that was seen whether it kept its schedule. A count that k6 did not give is not
// known, which is not zero: there may be no summary, as with --summary-mode=disabled, and without the tag scenario the
// counts by scenario are of nothing.
func (r *recording) scenarios(facts *summaryFacts) []recorder.Scenario {
	if facts == nil || r.untagged.Load() {
		facts = &summaryFacts{}
	}
	var out []recorder.Scenario
	r.seen.Range(func(key, value any) bool {
		name, _ := key.(string)
		executor, _ := value.(string)
		s := recorder.Scenario{Name: name, Executor: executor}
		if n, ok := facts.iterations[name]; ok {
			s.Started = &n
		}
		if n, ok := facts.dropped[name]; ok {
			s.Dropped = &n
		}
		out = append(out, s)
		return true
	})
	return out
}
