package omnigraph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// retryPolicy says when an attempt is repeated. The zero value never repeats.
type retryPolicy struct {
	maxAttempts   int
	maxElapsed    time.Duration
	baseDelay     time.Duration
	maxDelay      time.Duration
	budget        float64          // retries per operation that the process may spend beyond budgetBurst; 0 is no limit
	kinds         []wire.ErrorKind // nil is every kind whose repetition may help; an empty list is none
	indeterminate bool
}

const (
	defaultMaxAttempts = 3
	defaultMaxElapsed  = 30 * time.Second
	defaultBaseDelay   = 100 * time.Millisecond
	defaultMaxDelay    = 5 * time.Second
)

func setRetry(s *settings, v sobek.Value, rt *sobek.Runtime) error {
	if b, ok := v.Export().(bool); ok {
		if b {
			return errWrongType
		}
		s.retry = retryPolicy{}
		return nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return errWrongType
	}
	p := retryPolicy{maxAttempts: defaultMaxAttempts, maxElapsed: defaultMaxElapsed, baseDelay: defaultBaseDelay, maxDelay: defaultMaxDelay}
	for _, name := range o.Keys() {
		value := o.Get(name)
		if common.IsNullish(value) {
			continue
		}
		var err error
		var takes string
		switch name {
		case "maxAttempts":
			takes, err = "a whole number from 1 to 1000", setInt(&p.maxAttempts, value, 1, 1000)
		case "maxElapsed":
			takes, err = "a duration above 0, at most 24h", setDuration(&p.maxElapsed, value, true)
		case "baseDelay":
			takes, err = "a duration, at most 24h", setDuration(&p.baseDelay, value, false)
		case "maxDelay":
			takes, err = "a duration, at most 24h", setDuration(&p.maxDelay, value, false)
		case "budget":
			takes, err = "a number above 0, at most 1000: retries per operation", setFloat(&p.budget, value, 0, 1000)
		case "kinds":
			takes, err = "a list of error kinds", setKinds(&p.kinds, value, rt)
		case "indeterminate":
			takes, err = "true or false", setBool(&p.indeterminate, value)
		default:
			return fmt.Errorf("has the unknown member %q; it takes maxAttempts, maxElapsed, baseDelay, maxDelay, budget, kinds, indeterminate", name)
		}
		if err != nil && err != errWrongType { //nolint:errorlint // a sentinel of this package, never wrapped
			return err
		}
		if err != nil {
			return fmt.Errorf("has the member %s with %s; it takes %s", name, describe(value), takes)
		}
	}
	s.retry = p
	return nil
}

func setFloat(to *float64, v sobek.Value, above, high float64) error {
	var f float64
	switch n := v.Export().(type) {
	case int64:
		f = float64(n)
	case float64:
		f = n
	default:
		return errWrongType
	}
	if !(f > above && f <= high) {
		return errWrongType
	}
	*to = f
	return nil
}

// hopeless are the kinds whose repetition can't come out otherwise, whatever happens on the server meanwhile.
var hopeless = []wire.ErrorKind{wire.KindBadRequest, wire.KindUnsupported, wire.KindCanceled}

func setKinds(to *[]wire.ErrorKind, v sobek.Value, rt *sobek.Runtime) error {
	var names []string
	if err := setStrings(&names, v, rt); err == errWrongType { //nolint:errorlint // a sentinel of this package, never wrapped
		return err
	} else if err != nil {
		return fmt.Errorf("has the member kinds, which %w", err)
	}
	kinds := make([]wire.ErrorKind, len(names))
	for i, n := range names {
		kinds[i] = wire.ErrorKind(n)
		if !kinds[i].Known() {
			return fmt.Errorf("has the member kinds with %q, which is no error kind; docs/reference.md lists them", n)
		}
		if slices.Contains(hopeless, kinds[i]) {
			return fmt.Errorf("has the member kinds with %q, which is never repeated: the same operation would fail again", n)
		}
	}
	*to = kinds
	return nil
}

// next decides about another attempt after a failed one: how long to wait first, or that there is none.
//
// elapsed is the time since the operation began. The delay is exponential with full jitter (uniform between 0 and the
// bound); what the server asked for in Retry-After is the least, and where that lies beyond the time left the
// operation gives up at once.
func (p *retryPolicy) next(attempt int, elapsed time.Duration, e *wire.Error, random func(int64) int64) (time.Duration, bool) {
	if attempt >= p.maxAttempts || !p.covers(e) {
		return 0, false
	}
	bound := p.baseDelay
	for i := 1; i < attempt && bound < p.maxDelay; i++ {
		bound *= 2
	}
	bound = min(bound, p.maxDelay)
	var delay time.Duration
	if bound > 0 {
		delay = time.Duration(random(int64(bound) + 1))
	}
	delay = max(delay, e.RetryAfter)
	if elapsed+delay >= p.maxElapsed {
		return 0, false
	}
	return delay, true
}

func (p *retryPolicy) covers(e *wire.Error) bool {
	if e.Kind == wire.KindCanceled || e.Indeterminate && !p.indeterminate {
		return false
	}
	if p.kinds != nil {
		return slices.Contains(p.kinds, e.Kind)
	}
	return e.Retryable || e.Indeterminate && p.indeterminate && e.Kind.Retryable()
}

// retryBudget bounds the retries of a process to a share of its operations, so that a struggling server does not get
// a multiple of the load: a token bucket that each operation fills by the budget and each retry empties by one.
type retryBudget struct {
	mu     sync.Mutex
	tokens float64
}

// A budget begins with this many retries, and never holds more beyond one operation's share, so that a rare failure early
// on may be repeated.
const budgetBurst = 10

func (b *retryBudget) deposit(perOperation float64) {
	b.mu.Lock()
	b.tokens = min(b.tokens+perOperation, budgetBurst+perOperation)
	b.mu.Unlock()
}

func (b *retryBudget) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// budget gives the process-wide budget of one error kind. It is made at its first use, whose operation's share is in it.
func (r *rootModule) budget(kind wire.ErrorKind, perOperation float64) *retryBudget {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.budgets == nil {
		r.budgets = map[string]*retryBudget{}
	}
	b := r.budgets[string(kind)]
	if b == nil {
		b = &retryBudget{tokens: budgetBurst + perOperation}
		r.budgets[string(kind)] = b
	}
	return b
}

// seededRandom is a VU's own source, so that VUs don't back off in step and a run can be repeated.
func seededRandom(vuID uint64) func(int64) int64 {
	source := rand.New(rand.NewPCG(vuID, 0x9e3779b97f4a7c15)) // #nosec G404 -- spreads retries in time, nothing secret
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Int64N(n)
	}
}

// depositBudgets fills every budget in use for one operation.
func (r *rootModule) depositBudgets(perOperation float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.budgets {
		b.deposit(perOperation)
	}
}
