package main

import "fmt"

// section is a row of panels.
type section struct {
	title  string
	panels []panel
}

type panelKind int

const (
	graph panelKind = iota
	single
	list
)

// panel is one question and its answer.
type panel struct {
	kind               panelKind
	title, description string
	unit               string
	decimals           int // of the figures; 0 leaves it to Grafana
	width              int // of 24
	queries            []query
}

// query is an expression; an instant one has one value, at the end of the range.
type query struct{ expr, legend string }

// mark is an annotation: it stands where its expression has a value.
type mark struct{ name, color, expr, title string }

// The series of the run that is looked at. .* stands for all, so that series without the label count, too.
const (
	ofRun       = `testid=~"$testid",instance=~"$instance"`
	ofScenario  = ofRun + `,scenario=~"$scenario"`
	ofOps       = ofScenario + `,transport=~"$transport",op=~"$op"`
	okOps       = ofOps + `,ok="true"`
	ofHTTP      = ofScenario + `,transport="http",op=~"$op"`
	ofCLI       = ofScenario + `,transport="cli",op=~"$op"`
	baselineOps = `testid=~"$baseline",scenario=~"$scenario",transport=~"$transport",op=~"$op",ok="true"`
	unreachable = `error_kind=~"connect|unavailable|graph_unavailable|timeout"`
)

// attempts are operations and their repetitions, by a function of counters.
func attempts(of func(name, selector, by string) string, selector, by string) string {
	ops := of("omnigraph_ops", selector, by)
	return fmt.Sprintf("(%s + %s)", ops, orZero(of("omnigraph_retries", selector, by), ops))
}

// failedShare is the share of attempts that failed: a ratio of counters, never k6's rate since the start of the test.
func failedShare(of func(name, selector, by string) string, selector, by string) string {
	all := attempts(of, selector, by)
	return fmt.Sprintf("%s / %s", orZero(of("omnigraph_errors", selector, by), all), all)
}

func sections(e edition) []section {
	return []section{atAGlance(e), sideBySide(e), throughput(), errorSection(), httpSection(e), cliSection(e), dataSection(), generator(e)}
}

func atAGlance(e edition) section {
	return section{"At a glance", []panel{
		{kind: single, title: "Operations", unit: "short", width: 4,
			description: "All operations since the start of the run, those that failed included.",
			queries:     []query{{total("omnigraph_ops", ofOps, "transport"), "{{transport}}"}}},
		{kind: single, title: "Failed attempts", unit: "percentunit", decimals: 4, width: 4,
			description: "Failed attempts of all attempts since the start of the run, with enough decimals for one in a million.",
			queries:     []query{{failedShare(total, ofOps, "transport"), "{{transport}}"}}},
		{kind: single, title: "Latency, $quantile", unit: "s", width: 4,
			description: "Of successful operations over the whole run.",
			queries:     []query{{e.overall("omnigraph_op_duration", chosen, okOps, "transport"), "{{transport}}"}}},
		{kind: single, title: "CLI minus HTTP, paired median", unit: "s", width: 4,
			description: "The difference between the two variants of one iteration of compare().",
			queries:     []query{{e.overall("omnigraph_pair_overhead", median, ofScenario, "pair"), "{{pair}}"}}},
		{kind: single, title: "Retries", unit: "short", width: 4,
			description: "Attempts after the first.",
			queries:     []query{{total("omnigraph_retries", ofOps, "transport"), "{{transport}}"}}},
		{kind: single, title: "Dropped iterations", unit: "short", width: 4,
			description: "Iterations of the open model that could not start on time. A run that drops more than 5 % is off its schedule.",
			queries: []query{{orZero(total("dropped_iterations", ofScenario, "testid"), total("iterations", ofScenario, "testid")),
				"{{testid}}"}}},
	}}
}

func sideBySide(e edition) section {
	byTransport := func(transport string) string {
		return e.now("omnigraph_op_duration", chosen, ofScenario+`,op=~"$op",ok="true",transport="`+transport+`"`, "query")
	}
	now := e.overall("omnigraph_op_duration", chosen, okOps, "transport, query")
	base := e.overall("omnigraph_op_duration", chosen, baselineOps, "transport, query")
	return section{"CLI against HTTP", []panel{
		{title: "Latency of both transports, $quantile", unit: "s", width: 12,
			description: "Successful operations, as the caller waits for them.",
			queries:     []query{{e.now("omnigraph_op_duration", chosen, okOps, "transport"), "{{transport}}"}}},
		{title: "CLI minus HTTP", unit: "s", width: 12,
			description: "The difference of the two percentiles for each query that both transports make, and the median of the differences within " +
				"an iteration, where compare() makes pairs.",
			queries: []query{
				{byTransport("cli") + " - " + byTransport("http"), "{{query}}"},
				{e.now("omnigraph_pair_overhead", median, ofScenario, "pair"), "paired median, {{pair}}"},
			}},
		{title: "Latency by query, $quantile", unit: "s", width: 12,
			description: "Successful operations.",
			queries:     []query{{e.now("omnigraph_op_duration", chosen, okOps, "transport, query"), "{{transport}} {{query}}"}}},
		{title: "One attempt, $quantile", unit: "s", width: 12,
			description: "Without the waiting on the generator's side and without retries.",
			queries:     []query{{e.now("omnigraph_attempt_duration", chosen, okOps, "transport"), "{{transport}}"}}},
		{kind: list, title: "Against the baseline, $quantile", unit: "percentunit", decimals: 2, width: 24,
			description: "How much slower the run is than the baseline over all of it: 0 is the same, 1 is twice the time. Without error bars: " +
				"`k6 x omnigraph compare` has them.",
			queries: []query{{fmt.Sprintf("%s / %s - 1", now, base), "{{transport}} {{query}}"}}},
	}}
}

func throughput() section {
	return section{"Throughput", []panel{
		{title: "Operations per second", unit: "ops", width: 12,
			queries: []query{{perSecond("omnigraph_ops", ofOps, "transport, op"), "{{transport}} {{op}}"}}},
		{title: "Iterations against the target", unit: "iops", width: 12,
			description: "In the open model what was to start is what completed and what was dropped. The target is the variable of that name: k6 does not send it.",
			queries: []query{
				{perSecond("iterations", ofScenario, "scenario"), "completed {{scenario}}"},
				{perSecond("dropped_iterations", ofScenario, "scenario"), "dropped {{scenario}}"},
				{"vector($target)", "target"},
			}},
	}}
}

func errorSection() section {
	return section{"Errors", []panel{
		{title: "Failed attempts per second, by kind", unit: "ops", width: 12,
			queries: []query{{perSecond("omnigraph_errors", ofOps, "transport, error_kind"), "{{transport}} {{error_kind}}"}}},
		{title: "Share of attempts that failed", unit: "percentunit", decimals: 4, width: 12,
			queries: []query{{failedShare(perSecond, ofOps, "transport"), "{{transport}}"}}},
		{title: "Retries per second", unit: "ops", width: 12,
			queries: []query{{perSecond("omnigraph_retries", ofOps, "transport, op"), "{{transport}} {{op}}"}}},
		{kind: list, title: "Failed attempts by kind", unit: "short", width: 12,
			description: "Since the start of the run. What each kind means is in docs/reference.md.",
			queries:     []query{{total("omnigraph_errors", ofOps, "transport, op, error_kind"), "{{transport}} {{op}} {{error_kind}}"}}},
	}}
}

func httpSection(e edition) section {
	return section{"HTTP", []panel{
		{title: "Attempts on a kept connection", unit: "percentunit", decimals: 2, width: 8,
			description: "Since the start of the run, of the series with the fewest: k6 sends this rate as a running ratio only.",
			queries:     []query{{"min by (instance) (k6_omnigraph_conn_reused_rate{" + ofHTTP + "})", "{{instance}}"}}},
		{title: "Waiting for the first byte, $quantile", unit: "s", width: 8,
			description: "All requests of the run's scenarios.",
			queries:     []query{{e.now("http_req_waiting", chosen, ofScenario, "scenario"), "{{scenario}}"}}},
		{title: "Data", unit: "Bps", width: 8,
			queries: []query{
				{perSecond("data_received", ofScenario, "testid"), "received"},
				{perSecond("data_sent", ofScenario, "testid"), "sent"},
			}},
	}}
}

func cliSection(e edition) section {
	return section{"CLI", []panel{
		{title: "Start of the process, $quantile", unit: "s", width: 6,
			description: "Fork and exec, until the process runs.",
			queries:     []query{{e.now("omnigraph_cli_spawn", chosen, ofCLI, "op"), "{{op}}"}}},
		{title: "Waiting on the generator's side, $quantile", unit: "s", width: 6,
			description: "For a process slot, a connection of the shared pool, or k6's rps limit; operations that did not wait are not in it.",
			queries:     []query{{e.now("omnigraph_queued", chosen, ofOps, "transport"), "{{transport}}"}}},
		{title: "CPU of a process, $quantile", unit: "s", width: 6,
			queries: []query{{e.now("omnigraph_cli_cpu", chosen, ofCLI, "op"), "{{op}}"}}},
		{title: "Peak memory of a process, $quantile", unit: "bytes", width: 6,
			queries: []query{{e.now("omnigraph_cli_max_rss", chosen, ofCLI, "op"), "{{op}}"}}},
	}}
}

func dataSection() section {
	return section{"Data", []panel{
		{title: "Rows returned per second", unit: "short", width: 8,
			queries: []query{{perSecond("omnigraph_rows", ofOps, "transport, query"), "{{transport}} {{query}}"}}},
		{title: "Entities written per second", unit: "short", width: 8,
			queries: []query{{perSecond("omnigraph_affected", ofOps, "entity"), "{{entity}}"}}},
		{title: "Writes per second", unit: "ops", width: 8,
			description: "Mutations, loads and merges that were asked for: each that succeeds is a commit, and each commit makes later reads slower until an optimize.",
			queries: []query{{perSecond("omnigraph_ops", ofScenario+`,transport=~"$transport",op=~"mutate|load|branch_merge"`, "op"),
				"{{op}}"}}},
	}}
}

func generator(e edition) section {
	return section{"The generator", []panel{
		{title: "VUs", unit: "short", width: 8,
			description: "Active and initialised. A generator whose VUs are all active is at its limit: what it then measures is itself.",
			queries: []query{
				{"sum by (instance) (k6_vus{" + ofRun + "})", "active {{instance}}"},
				{"sum by (instance) (k6_vus_max{" + ofRun + "})", "initialised {{instance}}"},
			}},
		{title: "Share of VUs in use", unit: "percentunit", width: 8,
			queries: []query{{"sum by (instance) (k6_vus{" + ofRun + "}) / sum by (instance) (k6_vus_max{" + ofRun + "})", "{{instance}}"}}},
		{title: "Iteration, $quantile", unit: "s", width: 8,
			queries: []query{{e.now("iteration_duration", chosen, ofScenario, "scenario"), "{{scenario}}"}}},
	}}
}

func marks() []mark {
	optimizes := fmt.Sprintf("sum by (testid, transport) (%s{%s,op=\"optimize\"})", counter("omnigraph_ops"), ofScenario)
	before := fmt.Sprintf("sum by (testid, transport) (%s{%s,op=\"optimize\"} offset $__rate_interval)", counter("omnigraph_ops"), ofScenario)
	return []mark{
		// The counter is new at the first optimize, so an increase() alone would not see it.
		{"Optimize", "blue", fmt.Sprintf("(%s - %s) > 0", optimizes, orZero(before, optimizes)), "optimize"},
		{"Outage", "red", fmt.Sprintf("sum by (testid, error_kind) (rate(%s{%s,%s}[$__rate_interval])) > 0",
			counter("omnigraph_errors"), ofScenario, unreachable), "the server can't be reached: {{error_kind}}"},
	}
}
