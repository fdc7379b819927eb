package robust

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
)

// TestMain lets this test binary stand in for the omnigraph CLI where it is called by that name.
func TestMain(m *testing.M) {
	if command.StandsFor(os.Args[0]) {
		os.Exit(command.Run(context.Background(), os.Args))
	}
	goleak.VerifyTestMain(m)
}
