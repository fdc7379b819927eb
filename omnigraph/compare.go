package omnigraph

import (
	"fmt"
	"regexp"
	"sync"
	"time"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// variantScope collects what the operations of one variant's callback take together.
type variantScope struct {
	name string
	// iteration is the VU's iteration that compare was called in.
	iteration int64

	mu     sync.Mutex
	ops    int
	failed bool
	key    recorder.CellKey
	// total is the time in which at least one operation was under way. Of what is under way now there are running, the
	// first of them since began; before until everything is in total.
	total        time.Duration
	running      int
	began, until time.Time

	// result is what close found: operations that nobody awaits may go on.
	result variantResult
}

type variantResult struct {
	took   time.Duration
	failed bool
	key    recorder.CellKey
}

// variantIn gives the variant whose callback runs in a VU's iteration, or nil. An iteration that is cut off while a
// callback's promise is pending ends without a word: what it left says nothing about the next one.
func (mi *instance) variantIn(state *lib.State) *variantScope {
	if mi.variant != nil && mi.variant.iteration != state.Iteration {
		mi.variant = nil
	}
	return mi.variant
}

// begin and end are called by every operation that was prepared while the scope was the current one, from any goroutine.
func (v *variantScope) begin(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running == 0 {
		v.began = at
		if at.Before(v.until) { // it waited for a processor until the one before had ended
			v.began = v.until
		}
	}
	v.running++
}

func (v *variantScope) end(at time.Time, failed bool, s *series) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if at.After(v.until) {
		v.until = at
	}
	if v.running--; v.running == 0 && v.until.After(v.began) {
		v.total += v.until.Sub(v.began)
	}
	if v.ops == 0 {
		v.key = s.key
	} else {
		// Several kinds of operation in one callback: the pair has no single name then.
		if v.key.Op != s.key.Op {
			v.key.Op = ""
		}
		if v.key.Query != s.key.Query {
			v.key.Query = ""
		}
	}
	v.ops++
	v.failed = v.failed || failed
}

// comparison is one call of compare.
type comparison struct {
	mi     *instance
	scopes []*variantScope // in the order in which the script wrote them
	calls  []sobek.Callable
	order  []int
	state  *lib.State
}

var variantName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// compare runs each variant's callback once and records the differences between the first variant and every other.
// Which variant goes first rotates by VU and iteration, so that no variant always meets what another left behind.
func (mi *instance) compare(call sobek.FunctionCall) sobek.Value {
	c, err := mi.newComparison(call)
	if err != nil {
		mi.throw(err)
	}
	outer := mi.variantIn(c.state)
	value, err := c.run(0, outer)
	if err != nil {
		mi.variant = outer
		mi.throw(err)
	}
	return value
}

func (mi *instance) newComparison(call sobek.FunctionCall) (*comparison, error) {
	state := mi.vu.State()
	if state == nil {
		return nil, common.NewInitContextError("compare can't be used in the init context: call it in a VU function")
	}
	o, ok := call.Argument(0).(*sobek.Object)
	if !ok || isArray(o) || isFunction(call.Argument(0)) {
		return nil, fmt.Errorf("compare: argument variants got %s; it takes an object of at least two callbacks, such as {cli: () => …, http: () => …}", describe(call.Argument(0)))
	}
	c := &comparison{mi: mi, state: state}
	for _, name := range o.Keys() {
		fn, ok := sobek.AssertFunction(o.Get(name))
		if !ok {
			return nil, fmt.Errorf("compare: variant %s got %s; it takes a function", name, describe(o.Get(name)))
		}
		if !variantName.MatchString(name) {
			return nil, fmt.Errorf("compare: the variant's name %q becomes a tag; it takes 1 to 64 letters, digits, dots, dashes and underscores", name)
		}
		c.scopes = append(c.scopes, &variantScope{name: name, iteration: state.Iteration})
		c.calls = append(c.calls, fn)
	}
	n := len(c.scopes)
	if n < 2 {
		return nil, fmt.Errorf("compare: argument variants has %d callbacks; it takes at least two", n)
	}
	first := int((state.VUID + uint64(max(state.Iteration, 0))) % uint64(n)) // #nosec G115 -- never negative, below n
	for i := range n {
		c.order = append(c.order, (first+i)%n)
	}
	return c, nil
}

// run calls the variant at a position of the order and all after it. A callback that returns a promise makes the whole
// comparison one.
func (c *comparison) run(position int, outer *variantScope) (sobek.Value, error) {
	mi := c.mi
	for ; position < len(c.order); position++ {
		i := c.order[position]
		mi.variant = c.scopes[i]
		value, err := c.calls[i](sobek.Undefined())
		if err != nil {
			return nil, err
		}
		if asPromise(value) != nil {
			return c.after(value, position, outer)
		}
		if err := c.scopes[i].close(); err != nil {
			return nil, err
		}
	}
	mi.variant = outer
	return c.finish(), nil
}

func asPromise(v sobek.Value) *sobek.Promise {
	if v == nil {
		return nil
	}
	p, _ := v.Export().(*sobek.Promise)
	return p
}

// after goes on once a callback's promise is settled.
func (c *comparison) after(value sobek.Value, position int, outer *variantScope) (sobek.Value, error) {
	rt := c.mi.vu.Runtime()
	object, _ := value.(*sobek.Object)
	then, ok := sobek.AssertFunction(object.Get("then"))
	if !ok {
		return nil, fmt.Errorf("compare: a variant returned a promise without then")
	}
	fulfilled := func(sobek.FunctionCall) sobek.Value {
		if err := c.scopes[c.order[position]].close(); err != nil {
			c.mi.variant = outer
			c.mi.throw(err)
		}
		v, err := c.run(position+1, outer)
		if err != nil {
			c.mi.variant = outer
			c.mi.throw(err)
		}
		return v
	}
	rejected := func(call sobek.FunctionCall) sobek.Value {
		c.mi.variant = outer
		panic(call.Argument(0))
	}
	return then(value, rt.ToValue(fulfilled), rt.ToValue(rejected))
}

// close checks that the callback did something that can be compared, and takes up what it came to.
func (v *variantScope) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ops == 0 {
		return fmt.Errorf("compare: variant %s made no operation; its callback has to make at least one, and to await those that it starts", v.name)
	}
	v.result = variantResult{took: v.total, failed: v.failed, key: v.key}
	if v.running > 0 && v.until.After(v.began) {
		v.result.took += v.until.Sub(v.began)
	}
	return nil
}

// finish records the pairs and gives the script what each variant took.
func (c *comparison) finish() sobek.Value {
	mi, rt := c.mi, c.mi.vu.Runtime()
	tags := c.state.Tags.GetCurrentValues()
	a := &c.scopes[0].result
	now := time.Now()
	var samples []metrics.Sample
	durations := rt.NewObject()
	for i := range c.scopes {
		b := &c.scopes[i].result
		_ = durations.Set(c.scopes[i].name, metrics.D(b.took))
		if i == 0 {
			continue
		}
		failed := a.failed || b.failed
		key := recorder.PairKey{
			Scenario: runningScenario(mi.vu.Context(), tags.Tags), Op: shared(a.key.Op, b.key.Op), Query: shared(a.key.Query, b.key.Query),
			Workers: levelOf(tags.Tags, "workers"), Phase: tagOf(tags.Tags, "phase"), A: c.scopes[0].name, B: c.scopes[i].name,
		}
		mi.root.recording.recorder.Pair(key).Record(metrics.D(a.took), metrics.D(b.took), c.before(0, i), failed)
		if !failed {
			samples = append(samples, metrics.Sample{
				TimeSeries: metrics.TimeSeries{Metric: mi.metrics.pairOverhead, Tags: c.pairTags(tags.Tags, key)},
				Time:       now, Value: metrics.D(a.took - b.took), Metadata: tags.Metadata,
			})
		}
	}
	if len(samples) > 0 {
		metrics.PushIfNotDone(mi.vu.Context(), c.state.Samples, metrics.Samples(samples))
	}
	return durations
}

func (c *comparison) pairTags(base *metrics.TagSet, key recorder.PairKey) *metrics.TagSet {
	tags := base.With("pair", key.A+"-"+key.B)
	if key.Op != "" {
		tags = tags.With("op", key.Op)
	}
	if key.Query != "" {
		tags = tags.With("query", key.Query)
	}
	return tags
}

// before tells whether variant a ran before variant b.
func (c *comparison) before(a, b int) bool {
	for _, i := range c.order {
		switch i {
		case a:
			return true
		case b:
			return false
		}
	}
	return false
}

// shared is what two variants' names have in common: the same value, or nothing.
func shared(a, b string) string {
	if a == b {
		return a
	}
	return ""
}
