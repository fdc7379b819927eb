package robust

import (
	"context"
	"os"
	"testing"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
	"github.com/mitodl/xk6-omnigraph/internal/leaks"
)

// TestMain lets this test binary stand in for the omnigraph CLI where it is called by that name.
func TestMain(m *testing.M) {
	if command.StandsFor(os.Args[0]) {
		os.Exit(command.Run(context.Background(), os.Args))
	}
	os.Exit(leaks.Run(m))
}
