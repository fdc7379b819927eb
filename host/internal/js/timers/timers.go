// Package timers runs JavaScript functions later, on the event loop of the VU that asked for it.
package timers

import (
	"container/heap"
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// Timers are the pending timers of one VU. Its methods belong to the VU's goroutine.
type Timers struct {
	vu     modules.VU
	lastID int64
	lastNo uint64
	queue  dueQueue
	now    *timer // the one whose function runs
	wait   *wait
}

type timer struct {
	id       int64
	no       uint64 // order of creation, for timers that are due at the same time
	due      time.Time
	interval time.Duration
	repeats  bool
	call     sobek.Callable
	args     []sobek.Value
	position int
}

// wait is the one callback that keeps the event loop alive while timers are pending.
type wait struct {
	settled atomic.Bool
	enqueue func(func() error)
	clock   *time.Timer
	due     time.Time
	release func() bool // stops watching the context
}

func (w *wait) settle(f func() error) {
	if w.settled.CompareAndSwap(false, true) {
		w.clock.Stop()
		w.enqueue(f)
	}
}

// New returns the timers of a VU.
func New(vu modules.VU) *Timers { return &Timers{vu: vu} }

// Functions returns the four functions by the names that scripts know.
func (t *Timers) Functions() map[string]func(sobek.FunctionCall) sobek.Value {
	return map[string]func(sobek.FunctionCall) sobek.Value{
		"setTimeout":    func(call sobek.FunctionCall) sobek.Value { return t.set("setTimeout", call, false) },
		"setInterval":   func(call sobek.FunctionCall) sobek.Value { return t.set("setInterval", call, true) },
		"clearTimeout":  t.clear,
		"clearInterval": t.clear,
	}
}

func (t *Timers) set(name string, call sobek.FunctionCall, repeats bool) sobek.Value {
	rt := t.vu.Runtime()
	fn, ok := sobek.AssertFunction(call.Argument(0))
	if !ok {
		panic(rt.NewTypeError(name + "'s callback isn't a callable function"))
	}
	delay := milliseconds(call.Argument(1))
	if repeats && delay < time.Millisecond {
		delay = time.Millisecond
	}
	t.lastID++
	next := &timer{id: t.lastID, interval: delay, repeats: repeats, call: fn}
	if len(call.Arguments) > 2 {
		next.args = append(next.args, call.Arguments[2:]...)
	}
	t.schedule(next)
	t.arm()
	return rt.ToValue(next.id)
}

func (t *Timers) schedule(next *timer) {
	t.lastNo++
	next.no = t.lastNo
	next.due = time.Now().Add(next.interval)
	heap.Push(&t.queue, next)
}

func milliseconds(v sobek.Value) time.Duration {
	const longest = 365 * 24 * time.Hour
	ms := v.ToFloat()
	switch {
	case math.IsNaN(ms) || ms <= 0:
		return 0
	case ms > float64(longest/time.Millisecond):
		return longest
	default:
		return time.Duration(ms * float64(time.Millisecond))
	}
}

func (t *Timers) clear(call sobek.FunctionCall) sobek.Value {
	if id := call.Argument(0); !common.IsNullish(id) {
		wanted := id.ToInteger()
		if t.now != nil && t.now.id == wanted {
			t.now.repeats = false
		}
		for _, pending := range t.queue {
			if pending.id == wanted {
				heap.Remove(&t.queue, pending.position)
				break
			}
		}
		t.arm()
	}
	return sobek.Undefined()
}

// arm makes the outstanding callback come when the first timer is due, or at once when none is left.
func (t *Timers) arm() {
	if len(t.queue) == 0 {
		if t.wait != nil {
			t.wait.settle(t.run)
		}
		return
	}
	due := t.queue[0].due
	if t.wait == nil {
		t.wait = t.newWait(due)
		return
	}
	if !t.wait.due.Equal(due) && !t.wait.settled.Load() {
		t.wait.due = due
		t.wait.clock.Reset(time.Until(due))
	}
}

func (t *Timers) newWait(due time.Time) *wait {
	w := &wait{enqueue: t.vu.RegisterCallback(), due: due}
	w.clock = time.AfterFunc(math.MaxInt64, func() { w.settle(t.run) })
	w.clock.Reset(time.Until(due))
	w.release = context.AfterFunc(t.vu.Context(), func() { w.settle(t.drop) })
	return w
}

// run is the outstanding callback: it runs the first timer that is due and arms the next.
func (t *Timers) run() error {
	t.disarm()
	if len(t.queue) == 0 {
		return nil
	}
	if t.vu.Context().Err() != nil {
		return t.drop()
	}
	first := t.queue[0]
	if time.Until(first.due) > 0 {
		t.arm()
		return nil
	}
	heap.Pop(&t.queue)
	t.now = first
	_, err := first.call(sobek.Undefined(), first.args...)
	t.now = nil
	if err != nil {
		_ = t.drop() // it never fails
		return err
	}
	if first.repeats {
		t.schedule(first)
	}
	t.arm()
	return nil
}

func (t *Timers) disarm() {
	if t.wait != nil {
		t.wait.release()
		t.wait = nil
	}
}

// drop forgets all timers: their iteration has failed or is over.
func (t *Timers) drop() error {
	t.disarm()
	if n := len(t.queue); n > 0 {
		if logger := t.logger(); logger != nil {
			logger.WithField("timers", n).Warn("Pending timers were dropped because what started them has ended")
		}
	}
	clear(t.queue)
	t.queue = t.queue[:0]
	return nil
}

func (t *Timers) logger() logrus.FieldLogger {
	if state := t.vu.State(); state != nil {
		return state.Logger
	}
	if env := t.vu.InitEnv(); env != nil && env.TestPreInitState != nil {
		return env.Logger
	}
	return nil
}

// dueQueue is a heap of timers, the first due on top.
type dueQueue []*timer

func (q dueQueue) Len() int { return len(q) }

func (q dueQueue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].no < q[j].no
	}
	return q[i].due.Before(q[j].due)
}

func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

func (q *dueQueue) Push(x any) {
	next := x.(*timer) //nolint:forcetypeassert // the heap holds nothing else
	next.position = len(*q)
	*q = append(*q, next)
}

func (q *dueQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
