package omnigraph

import (
	"context"
	"encoding"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/grafana/sobek"
)

// sequence lets scenarios that k6 starts together take turns: each step begins once the one before has done all its
// iterations, however long that took. startTime can only guess. It is shared by the VUs of one process.
type sequence struct {
	name  string
	steps []string

	settled sync.Once
	refusal error           // why the steps can't take turns in this process
	absent  []bool          // steps that the test has no scenario for
	opened  []chan struct{} // closed once the step may begin

	mu      sync.Mutex
	done    []int
	arrived []int
	ready   []chan struct{} // closed once all workers of the step have arrived and are warm
}

func newSequenceState(name string, steps []string) *sequence {
	s := &sequence{name: name, steps: steps, absent: make([]bool, len(steps)), done: make([]int, len(steps)), arrived: make([]int, len(steps))}
	for range steps {
		s.opened = append(s.opened, make(chan struct{}))
		s.ready = append(s.ready, make(chan struct{}))
	}
	return s
}

// settle fits the steps to the test that runs, and opens the first. Its scenarios may have been fixed in another
// environment, as an archive's are: a step that is not among them will never be done, and nobody waits for it.
// Steps that are no scenarios at all stay as they are.
func (s *sequence) settle(options *lib.Options) error {
	s.settled.Do(func() {
		if part := segmentOf(options); part != wholeTest {
			s.refusal = fmt.Errorf("sequence: the steps of %q wait for each other within one process, and this one has the segment %s of the test: run it without --execution-segment", s.name, part)
			return
		}
		areScenarios := slices.ContainsFunc(s.steps, func(step string) bool { return options.Scenarios[step] != nil })
		for i, step := range s.steps {
			s.absent[i] = areScenarios && options.Scenarios[step] == nil
		}
		s.open(0)
	})
	return s.refusal
}

// segmentOf is the text form of this process's share of the test. Its type tells nothing else of itself.
func segmentOf(options *lib.Options) string {
	if options.ExecutionSegment == nil {
		return wholeTest
	}
	if marshaler, ok := any(options.ExecutionSegment).(encoding.TextMarshaler); ok {
		if text, err := marshaler.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(options.ExecutionSegment)
}

// wholeTest is the text of the segment that leaves nothing to others.
const wholeTest = "0:1"

// open lets the first step from i on begin that the test has.
func (s *sequence) open(i int) {
	for ; i < len(s.steps); i++ {
		if !s.absent[i] {
			close(s.opened[i])
			return
		}
	}
}

// newSequence is the script's sequence(name, steps): an object with turn(step, options, fn).
func (mi *instance) newSequence(call sobek.FunctionCall) sobek.Value {
	rt := mi.vu.Runtime()
	var name string
	var steps []string
	if err := setText(&name, call.Argument(0)); err != nil || name == "" {
		mi.throw(fmt.Errorf("sequence: argument name got %s; it takes a string that is not empty", describe(call.Argument(0))))
	}
	if err := setStrings(&steps, call.Argument(1), rt); err != nil || len(steps) == 0 {
		mi.throw(fmt.Errorf("sequence: argument steps got %s; it takes a list of step names", describe(call.Argument(1))))
	}
	for i, s := range steps {
		if slices.Contains(steps[:i], s) {
			mi.throw(fmt.Errorf("sequence: step %q occurs twice", s))
		}
	}
	s, err := mi.root.sequence(name, steps)
	if err != nil {
		mi.throw(err)
	}
	o := rt.NewObject()
	_ = o.Set("turn", func(call sobek.FunctionCall) sobek.Value { return mi.turn(s, call) })
	return o
}

func (r *rootModule) sequence(name string, steps []string) (*sequence, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sequences[name]; s != nil {
		if !slices.Equal(s.steps, steps) {
			return nil, fmt.Errorf("sequence: %q was made with the steps %s, got %s", name, strings.Join(s.steps, ", "), strings.Join(steps, ", "))
		}
		return s, nil
	}
	s := newSequenceState(name, steps)
	r.sequences[name] = s
	return s, nil
}

// turnOptions say what one step of a sequence is made of.
type turnOptions struct {
	// of is how many turns make up the step; with the last of them the next step begins.
	of int
	// workers is how many VUs take part: measuring begins once all of them are warm.
	workers int
	// warmup is how often each VU calls the function before its first turn, with the tag phase set to warmup.
	warmup int
}

// turn waits until the step's time has come, runs fn once, and counts. It returns what fn returns.
func (mi *instance) turn(s *sequence, call sobek.FunctionCall) sobek.Value {
	state := mi.vu.State()
	if state == nil {
		mi.throw(common.NewInitContextError("turn can't be used in the init context: call it in a VU function"))
	}
	index := slices.Index(s.steps, call.Argument(0).String())
	if index < 0 {
		mi.throw(fmt.Errorf("turn: step got %s; the sequence %q has %s", describe(call.Argument(0)), s.name, strings.Join(s.steps, ", ")))
	}
	o, err := readTurnOptions(call.Argument(1))
	if err != nil {
		mi.throw(err)
	}
	fn, ok := sobek.AssertFunction(call.Argument(2))
	if !ok {
		mi.throw(fmt.Errorf("turn: argument fn got %s; it takes a function", describe(call.Argument(2))))
	}
	if err := s.settle(&state.Options); err != nil {
		// What an iteration throws does not fail a test, and this one measures nothing.
		if state.TestStatus != nil {
			state.TestStatus.MarkFailed()
		}
		mi.throw(err)
	}
	ctx := mi.vu.Context()
	if !await(ctx, s.opened[index]) {
		return sobek.Undefined()
	}
	if !mi.warm(s, index) {
		mi.warmUp(s, index, o, fn)
		if !await(ctx, s.ready[index]) {
			return sobek.Undefined()
		}
	}
	defer s.count(index, o.of)
	value, err := fn(sobek.Undefined())
	if err != nil {
		mi.throw(err)
	}
	if asPromise(value) != nil {
		mi.throw(fmt.Errorf("turn: fn returned a promise; a turn takes a function that is done when it returns"))
	}
	return value
}

func await(ctx context.Context, ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		return false
	}
}

func (mi *instance) warm(s *sequence, index int) bool {
	return mi.warmed[sequenceStep{s, index}]
}

type sequenceStep struct {
	s     *sequence
	index int
}

// warmUp calls fn a few times outside the measurement and then reports this VU as ready.
func (mi *instance) warmUp(s *sequence, index int, o turnOptions, fn sobek.Callable) {
	if mi.warmed == nil {
		mi.warmed = map[sequenceStep]bool{}
	}
	mi.warmed[sequenceStep{s, index}] = true
	defer s.arrive(index, o.workers)
	tags := mi.vu.State().Tags
	var before string
	var had bool
	tags.Modify(func(t *metrics.TagsAndMeta) {
		before, had = t.Tags.Get("phase")
		t.SetTag("phase", "warmup")
	})
	defer tags.Modify(func(t *metrics.TagsAndMeta) {
		if had {
			t.SetTag("phase", before)
		} else {
			t.DeleteTag("phase")
		}
	})
	for range o.warmup {
		if _, err := fn(sobek.Undefined()); err != nil {
			mi.throw(err)
		}
	}
}

// arrive counts the VUs that are ready; with the last of them the step's measurement begins.
func (s *sequence) arrive(index, workers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived[index]++
	if s.arrived[index] == workers {
		close(s.ready[index])
	}
}

// count counts a turn; with the last of a step the next one begins.
func (s *sequence) count(index, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[index]++
	if s.done[index] == of {
		s.open(index + 1)
	}
}

func readTurnOptions(v sobek.Value) (turnOptions, error) {
	opts := turnOptions{of: 1, workers: 1}
	if common.IsNullish(v) {
		return opts, nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return opts, fmt.Errorf("turn: argument options got %s; it takes {of, workers, warmup}", describe(v))
	}
	for _, name := range o.Keys() {
		value := o.Get(name)
		if common.IsNullish(value) {
			continue
		}
		takes, err := "a whole number, at least 1", error(nil)
		switch name {
		case "of":
			err = setInt(&opts.of, value, 1, math.MaxInt32)
		case "workers":
			err = setInt(&opts.workers, value, 1, math.MaxInt32)
		case "warmup":
			takes, err = "a whole number, at least 0", setInt(&opts.warmup, value, 0, math.MaxInt32)
		default:
			return opts, fmt.Errorf("turn: option %s is not known; known are of, warmup, workers", name)
		}
		if err != nil {
			return opts, fmt.Errorf("turn: option %s got %s; it takes %s", name, describe(value), takes)
		}
	}
	if opts.of < opts.workers {
		return opts, fmt.Errorf("turn: option of got %d, fewer than the %d workers; each takes at least one turn", opts.of, opts.workers)
	}
	return opts, nil
}
