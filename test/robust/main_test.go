package robust

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
)

// TestMain lets this test binary stand in for the omnigraph CLI where it is called by that name.
func TestMain(m *testing.M) {
	if command.StandsFor(os.Args[0]) {
		os.Exit(command.Run(context.Background(), os.Args))
	}
	goleak.VerifyTestMain(settling{m})
}

// settling gives goroutines that are about to end the time for it.
type settling struct{ *testing.M }

func (s settling) Run() int {
	code := s.M.Run()
	_ = leaked()
	return code
}

// leaked finds goroutines that do not end within half a minute.
func leaked() error {
	err := goleak.Find()
	for deadline := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(deadline); err = goleak.Find() {
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
