package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/engine"
	"go.k6.io/k6/v2/internal/runner"
	"go.k6.io/k6/v2/internal/summary"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

func newRunCommand(gs *state.GlobalState, interrupts *interrupts) *cobra.Command {
	flags := &testFlags{systemEnv: true}
	cmd := &cobra.Command{
		Use:   "run SCRIPT",
		Short: "Start a test",
		Long:  "Run a script, or an archive made by `k6 archive`; - stands for standard input.",
		Args:  exactlyOneScript,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newRun(cmd.Context(), gs, args[0], flags)
			if err != nil {
				return err
			}
			r.interrupts = interrupts
			r.addressGiven = cmd.Flags().Changed("address")
			return r.run(cmd.Context())
		},
	}
	flags.addTo(cmd, optionFlags(&flags.config.Options), runtimeFlags(&flags.runtime, &flags.features, true),
		configFlags(&flags.config))
	return cmd
}

func exactlyOneScript(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("`%s` takes one argument, a script, an archive or \"-\" for standard input; it got %d",
			cmd.CommandPath(), len(args))
	}
	return nil
}

// run is one execution of `k6 run`.
type run struct {
	gs     *state.GlobalState
	path   string
	test   *test
	config config
	runner *runner.Runner
	state  *lib.TestRunState
	mode   summary.Mode
	scopes *summary.Scopes
	// interrupts are watched from the first VU on, and until the process ends.
	interrupts *interrupts
	// addressGiven says that the address of the REST API stands on the command line.
	addressGiven bool
}

// newRun loads the test and settles its options.
func newRun(ctx context.Context, gs *state.GlobalState, path string, flags *testFlags) (*run, error) {
	printBanner(gs)
	t, err := loadTest(ctx, gs, path, flags)
	if err != nil {
		return nil, err
	}
	r := &run{gs: gs, path: path, test: t}
	if err := r.settle(flags); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return r, nil
}

func (r *run) settle(flags *testFlags) error {
	c, err := settleConfig(r.gs, r.test, flags)
	if err != nil {
		return err
	}
	r.config = c
	if r.mode, err = summary.ParseMode(r.test.pre.RuntimeOptions.SummaryMode.String); err != nil {
		return invalidConfig(err)
	}
	if r.runner, err = runner.New(r.test.pre, r.test.bundle); err != nil {
		return err
	}
	if err := r.runner.SetOptions(c.Options); err != nil {
		return err
	}
	groups, err := lib.NewGroupSummary()
	if err != nil {
		return err
	}
	r.state = &lib.TestRunState{
		TestPreInitState: r.test.pre,
		Options:          c.Options,
		RunTags:          r.test.pre.Registry.RootTagSet().WithTagsFromMap(c.RunTags),
		GroupSummary:     groups,
	}
	return nil
}

// settleConfig brings all layers of options together and checks the result.
func settleConfig(gs *state.GlobalState, t *test, flags *testFlags) (config, error) {
	c, err := consolidate(gs, t, flags.config)
	if err != nil {
		return c, err
	}
	if c, err = deriveConfig(c, gs.Logger); err != nil {
		return c, err
	}
	if err := validateConfig(c, t.bundle.IsExecutable); err != nil {
		return c, err
	}
	if t.pre.RuntimeOptions.NoThresholds.Bool {
		return c, nil
	}
	for name, thresholds := range c.Thresholds {
		if err := thresholds.Parse(); err != nil {
			return c, invalidConfig(err)
		}
		if err := thresholds.Validate(name, t.pre.Registry); err != nil {
			return c, invalidConfig(err)
		}
	}
	return c, nil
}

// run executes the test from the first VU to the summary.
func (r *run) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.test.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	thresholds := r.config.Thresholds
	if r.test.pre.RuntimeOptions.NoThresholds.Bool {
		thresholds = nil
	}
	aggregator, err := engine.NewAggregator(r.test.pre.Registry, thresholds, r.config.SystemTags, r.gs.Logger)
	if err != nil {
		return err
	}
	tuple, err := lib.NewExecutionTuple(r.config.ExecutionSegment, r.config.ExecutionSegmentSequence)
	if err != nil {
		return invalidConfig(err)
	}
	outputs, err := createOutputs(r.gs, r.test, output.Params{ExecutionPlan: engine.NewPlan(r.config.Options, tuple).Steps}, r.config)
	if err != nil {
		return err
	}
	stopServer, err := serveAddress(r.gs, r.addressGiven)
	if err != nil {
		return err
	}
	defer stopServer()

	receivers := receiversOf(outputs)
	if r.mode == summary.ModeFull {
		r.scopes = summary.NewScopes()
		receivers = append(receivers, r.scopes.AddMetricSamples)
	}
	pump := engine.NewPump(r.config.MetricSamplesBufferSize.Int64, aggregator, r.state, receivers, func(err error) {
		r.gs.Logger.WithError(err).Error("a sample does not fit into the tree of groups")
	})
	e, err := engine.New(r.state, adaptRunner(r.runner), pump.Samples(), r.gs.Logger)
	if err != nil {
		pump.Close()
		return err
	}
	stopOutputs, err := engine.StartOutputs(outputs, r.state, e.Abort, r.gs.Logger)
	if err != nil {
		pump.Close()
		return err
	}
	r.describe(e.Plan(), outputs)
	r.interrupts.watch(e.Abort)

	screen := startDisplay(r.gs, e)
	stopJudging := engine.StartJudging(aggregator, e)
	runErr := e.Run(ctx)
	stopJudging()
	pump.Close()

	crossed, _ := aggregator.Judge(e.ExecutionState().GetCurrentTestRunDuration(), true)
	screen.pause()
	if e.ExecutionState().HasStarted() {
		r.summarize(ctx, e)
	}
	screen.finish()
	r.interrupts.finish()
	verdict := r.verdict(runErr, crossed)
	stopOutputs(verdict)
	if r.config.Linger.Bool && runErr == nil {
		r.linger(ctx)
		r.interrupts.finish()
	}
	return verdict
}

func receiversOf(outputs []output.Output) []func([]metrics.SampleContainer) {
	receivers := make([]func([]metrics.SampleContainer), len(outputs))
	for i, o := range outputs {
		receivers[i] = o.AddMetricSamples
	}
	return receivers
}

// verdict is the error that the process ends with. What went wrong with the run comes before its results.
func (r *run) verdict(runErr error, crossed []string) error {
	var thresholdErr error
	if len(crossed) > 0 {
		thresholdErr = errext.WithAbortReasonIfNone(errext.WithExitCodeIfNone(
			fmt.Errorf("thresholds on metrics '%s' have been crossed", strings.Join(crossed, ", ")),
			exitcodes.ThresholdsHaveFailed), errext.AbortedByThresholdsAfterTestEnd)
	}
	if runErr == nil && r.gs.TestStatus.Failed() {
		runErr = errext.WithExitCodeIfNone(errors.New("test run was marked as failed"), exitcodes.MarkedAsFailed)
	}
	if runErr == nil {
		return thresholdErr
	}
	var stopped *engine.ThresholdError
	if thresholdErr != nil && !errors.As(runErr, &stopped) {
		r.gs.Logger.Error(thresholdErr)
	}
	return runErr
}

// linger waits for a signal or the end of the process.
func (r *run) linger(ctx context.Context) {
	signal := r.interrupts.linger()
	if !r.gs.Flags.Quiet {
		r.gs.Logger.Info("the test is over, but --linger is on: waiting for Ctrl+C")
	}
	select {
	case <-signal:
	case <-ctx.Done():
	}
}

func printBanner(gs *state.GlobalState) {
	if gs.Flags.Quiet {
		return
	}
	text := banner()
	if gs.Stdout.IsTTY && !gs.Flags.NoColor {
		text = "\x1b[36m" + text + "\x1b[0m"
	}
	// Nowhere to report a failure of standard output.
	_, _ = fmt.Fprintf(gs.Stdout, "\n%s\n", text)
}

// describe prints what is going to run and where its samples go.
func (r *run) describe(plan engine.Plan, outputs []output.Output) {
	if r.gs.Flags.Quiet {
		return
	}
	descriptions := make([]string, len(outputs))
	for i, o := range outputs {
		descriptions[i] = o.Description()
	}
	out := "-"
	if len(descriptions) > 0 {
		out = strings.Join(descriptions, ", ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "     execution: local\n        script: %s\n        output: %s\n\n", r.path, out)
	const indent = "              "
	lines := strings.Split(strings.TrimSuffix(plan.Describe(), "\n"), "\n")
	fmt.Fprintf(&b, "     scenarios: %s\n", lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintf(&b, "%s%s\n", indent, line)
	}
	_, _ = fmt.Fprintln(r.gs.Stdout, b.String())
}
