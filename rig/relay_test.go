package rig

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

func TestASignalBetweenTwoPhasesIsForTheNext(t *testing.T) {
	ch := make(chan os.Signal)

	r := newRelay(ch)
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

func TestARelayWithoutSignalsEnds(*testing.T) {
	newRelay(nil).close()

	closed := make(chan os.Signal)
	close(closed)
	newRelay(closed).close()
}
