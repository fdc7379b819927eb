package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/cookiejar"
	"slices"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"

	"go.k6.io/k6/v2/internal/nettransport"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"
)

// Runner makes the VUs of a test and runs the functions that a test runs once. It is safe for concurrent use after
// SetOptions.
type Runner struct {
	pre    *lib.TestPreInitState
	bundle *Bundle

	options     lib.Options
	optionsJSON string // the specified options, for the script's own options object
	runTags     *metrics.TagSet
	resolver    netext.Resolver
	rps         *rate.Limiter
	buffers     *lib.BufferPool
	console     logrus.FieldLogger

	setupData []byte
}

// New makes a runner of the bundle with the script's own options.
func New(pre *lib.TestPreInitState, b *Bundle) (*Runner, error) {
	r := &Runner{pre: pre, bundle: b, buffers: lib.NewBufferPool(), console: consoleOf(pre.Logger)}
	if err := r.SetOptions(b.options); err != nil {
		return nil, err
	}
	return r, nil
}

// GetOptions returns the options in force.
func (r *Runner) GetOptions() lib.Options { return r.options }

// SetOptions sets the consolidated options for the VUs made from now on.
func (r *Runner) SetOptions(opts lib.Options) error {
	resolver, err := nettransport.NewResolver(opts.DNS)
	if err != nil {
		return fmt.Errorf("option dns: %w", err)
	}
	specified := make(map[string]any)
	opts.ForEachSpecified("json", func(key string, value any) { specified[key] = value })
	data, err := json.Marshal(specified)
	if err != nil {
		return fmt.Errorf("consolidated options: %w", err)
	}
	r.options, r.optionsJSON, r.resolver = opts, string(data), resolver
	r.rps = nettransport.NewRPSLimit(opts)
	r.runTags = r.pre.Registry.RootTagSet().WithTagsFromMap(opts.RunTags)
	if r.console, err = r.consoleLogger(); err != nil {
		return fmt.Errorf("console output: %w", err)
	}
	return nil
}

// IsExecutable says whether a scenario can run the script's function of this name.
func (r *Runner) IsExecutable(fn string) bool { return r.bundle.IsExecutable(fn) }

// SetupData returns the JSON of what setup() returned, nil for undefined.
func (r *Runner) SetupData() []byte { return slices.Clone(r.setupData) }

// NewVU makes a VU and runs the script's init code in it. Samples of its iterations go to out. ctx bounds the
// initialisation only.
func (r *Runner) NewVU(
	ctx context.Context, idLocal, idGlobal uint64, out chan<- metrics.SampleContainer,
) (vu *VU, err error) {
	defer func() {
		if value := recover(); value != nil {
			vu, err = nil, panicError(value)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The init code's console goes to the log, whatever the options say.
	s, err := r.bundle.runInit(ctx, idLocal, consoleOf(r.pre.Logger))
	if err != nil {
		return nil, err
	}
	s.console = r.console
	return r.newVU(s, idLocal, idGlobal, out)
}

func (r *Runner) newVU(s *script, idLocal, idGlobal uint64, out chan<- metrics.SampleContainer) (*VU, error) {
	stack, err := nettransport.New(r.options, r.resolver, idLocal, r.pre.KeyLogger)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	vu := &VU{runner: r, script: s, rt: s.vu.rt, loop: s.vu.loop, out: out, transport: stack.Transport, dialer: stack.Dialer}
	vu.state = lib.State{
		Options:        r.options,
		BuiltinMetrics: r.pre.BuiltinMetrics,
		Logger:         r.pre.Logger,
		Dialer:         stack.Dialer,
		Transport:      stack.Transport,
		CookieJar:      jar,
		TLSConfig:      stack.TLSConfig,
		RPSLimit:       r.rps,
		Samples:        out,
		BufferPool:     r.buffers,
		VUID:           idLocal,
		VUIDGlobal:     idGlobal,
		Tags:           lib.NewVUStateTags(r.runTags),
		Usage:          r.pre.Usage,
		TestStatus:     r.pre.TestStatus,
	}
	if r.pre.TracerProvider != nil {
		vu.state.TracerProvider = r.pre.TracerProvider
	}
	vu.callback = vu.callFunction
	if err := r.updateOptions(s); err != nil {
		return nil, err
	}
	s.vu.state = &vu.state
	return vu, nil
}

// updateOptions brings the script's options object up to what the options came out as.
func (r *Runner) updateOptions(s *script) error {
	options, ok := s.exports.options.(*sobek.Object)
	if !ok {
		return nil
	}
	parsed, err := parseJSON(s.vu.rt, r.optionsJSON)
	if err != nil {
		return fmt.Errorf("consolidated options: %w", err)
	}
	final := parsed.ToObject(s.vu.rt)
	for _, key := range final.Keys() {
		if err := options.Set(key, final.Get(key)); err != nil {
			return nil //nolint:nilerr // the script has frozen its options
		}
	}
	return nil
}

func parseJSON(rt *sobek.Runtime, text string) (sobek.Value, error) {
	parse, ok := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	if !ok {
		return nil, errors.New("JSON.parse is not a function: the script must not replace it")
	}
	return parse(sobek.Undefined(), rt.ToValue(text))
}

// minIteration is how long an iteration lasts at least.
func (r *Runner) minIteration() time.Duration { return r.options.MinIterationDuration.TimeDuration() }
