package rigcmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mitodl/xk6-omnigraph/rig/rigcmd"
)

// asProgram makes the test binary be the command line, as k6 would be, for tests of signals and exit codes.
const asProgram = "RIGCMD_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		goleak.VerifyTestMain(m)

		return
	}

	cmd := rigcmd.Command(rigcmd.Config{})
	cmd.SetArgs(os.Args[1:])

	err := cmd.ExecuteContext(context.Background())
	if err == nil {
		os.Exit(0)
	}

	fmt.Fprintln(os.Stderr, "error:", err)

	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}

	os.Exit(255)
}
