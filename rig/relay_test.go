package rig

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestASignalBetweenTwoPhasesIsForTheNext(t *testing.T) {
	ch := make(chan os.Signal)

	r := newRelay(ch, 0)
	defer r.close()

	got := make(chan string, 10)
	sink := func(name string) func(os.Signal) {
		return func(sig os.Signal) { got <- name + " " + sig.String() }
	}

	r.to(sink("boot"))
	ch <- syscall.SIGHUP

	want := []string{<-got}

	r.hold()
	ch <- syscall.SIGINT
	ch <- syscall.SIGTERM // received only after the one before was dealt with

	r.to(sink("command"))

	want = append(want, <-got, <-got)

	if !slices.Equal(want, []string{"boot hangup", "command interrupt", "command terminated"}) {
		t.Errorf("%q", want)
	}
}

func TestASignalAndItsEchoAreOne(t *testing.T) {
	r := newRelay(nil, 0)
	defer r.close()

	var got []string

	r.to(func(sig os.Signal) { got = append(got, sig.String()) })

	begin := time.Now()
	for _, s := range []struct {
		sig   os.Signal
		after time.Duration
	}{
		{syscall.SIGTERM, 0},
		{syscall.SIGTERM, defaultEcho / 100},            // the group's
		{syscall.SIGINT, defaultEcho / 50},              // another one
		{syscall.SIGTERM, defaultEcho / 25},             // not the last one's echo
		{syscall.SIGTERM, defaultEcho / 2},              // is
		{syscall.SIGTERM, defaultEcho/25 + defaultEcho}, // a second one
		{syscall.SIGTERM, 3 * defaultEcho},              // a third one
	} {
		r.pass(s.sig, begin.Add(s.after))
	}

	if !slices.Equal(got, []string{"terminated", "interrupt", "terminated", "terminated", "terminated"}) {
		t.Errorf("%q", got)
	}
}

// k6 may end a command's context on the signal that it also hands on.
func TestASignalAndTheContextsEndAreOneOrder(t *testing.T) {
	begin := time.Now()

	for name, c := range map[string]struct {
		steps func(r *relay) []bool
		got   []string
		ended []bool
	}{
		"the signal first": {func(r *relay) []bool {
			r.pass(syscall.SIGINT, begin)

			return []bool{r.end(begin.Add(time.Hour))}
		}, []string{"interrupt"}, []bool{false}},
		"the context first": {func(r *relay) []bool {
			ended := r.end(begin)
			r.pass(syscall.SIGINT, begin.Add(defaultEcho/2))

			return []bool{ended}
		}, []string{"terminated"}, []bool{true}},
		"a signal later": {func(r *relay) []bool {
			ended := r.end(begin)
			r.pass(syscall.SIGINT, begin.Add(2*defaultEcho))

			return []bool{ended}
		}, []string{"terminated", "interrupt"}, []bool{true}},
	} {
		r := newRelay(nil, 0)

		var got []string

		r.to(func(sig os.Signal) { got = append(got, sig.String()) })

		if ended := c.steps(r); !slices.Equal(ended, c.ended) || !slices.Equal(got, c.got) {
			t.Errorf("%s: %v, %q", name, ended, got)
		}

		r.close()
	}
}

func TestARelayWithoutSignalsEnds(*testing.T) {
	newRelay(nil, 0).close()

	closed := make(chan os.Signal)
	close(closed)
	newRelay(closed, 0).close()
}

// A command that ends in order must not be told to hurry by a terminal that is gone already.
func TestAHangUpIsOneOrderToEndAndNeverASecond(t *testing.T) {
	begin := time.Now()

	for name, c := range map[string]struct {
		signals []os.Signal
		got     []string
	}{
		"alone":              {[]os.Signal{syscall.SIGHUP}, []string{"hangup"}},
		"twice":              {[]os.Signal{syscall.SIGHUP, syscall.SIGHUP}, []string{"hangup"}},
		"after an interrupt": {[]os.Signal{syscall.SIGINT, syscall.SIGHUP}, []string{"interrupt"}},
		"before a SIGTERM":   {[]os.Signal{syscall.SIGHUP, syscall.SIGTERM}, []string{"hangup", "terminated"}},
	} {
		r := newRelay(nil, 0)

		var got []string

		r.to(func(sig os.Signal) { got = append(got, sig.String()) })

		for i, sig := range c.signals {
			r.pass(sig, begin.Add(time.Duration(i)*time.Minute))
		}

		if !slices.Equal(got, c.got) {
			t.Errorf("%s: %q", name, got)
		}

		r.close()
	}

	r := newRelay(nil, 0)
	defer r.close()

	n := 0
	r.to(func(os.Signal) { n++ })
	r.pass(syscall.SIGHUP, begin)
	r.pass(syscall.SIGTERM, begin.Add(defaultEcho/2))

	if n != 1 {
		t.Errorf("a hang-up and a SIGTERM at once are %d orders", n)
	}
}
