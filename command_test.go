package xk6omnigraph

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
)

// run runs a command line as k6 does, and gives its error.
func run(t *testing.T, line string) error {
	t.Helper()
	k6 := &cobra.Command{Use: "k6", SilenceUsage: true, SilenceErrors: true}
	x := &cobra.Command{Use: "x"}
	k6.AddCommand(x)
	x.AddCommand(newCommand(state.NewGlobalState(t.Context())))
	k6.SetOut(io.Discard)
	k6.SetErr(io.Discard)
	k6.SetArgs(append([]string{"x", "omnigraph"}, strings.Fields(line)...))
	return k6.ExecuteContext(t.Context())
}

// k6 logs an error's text and shows no usage.
func TestWrongCommandLinesNameTheUsage(t *testing.T) {
	const none = 255
	for line, c := range map[string]struct {
		code  int
		wants []string
	}{
		"frob":                        {none, []string{`unknown command "frob"`, "usage: k6 x omnigraph compare|plan|record|report|rig"}},
		"--frob":                      {none, []string{"unknown flag: --frob", "usage: k6 x omnigraph compare|"}},
		"report":                      {none, []string{"at least 1 arg", "usage: k6 x omnigraph report RECORD... [flags]"}},
		"report --frob x":             {none, []string{"unknown flag: --frob", "usage: k6 x omnigraph report RECORD"}},
		"compare a":                   {none, []string{"accepts 2 arg", "usage: k6 x omnigraph compare A B"}},
		"plan":                        {none, []string{"usage: k6 x omnigraph plan RECORD"}},
		"record frob":                 {none, []string{`unknown command "frob"`, "usage: k6 x omnigraph record validate"}},
		"record validate":             {none, []string{"usage: k6 x omnigraph record validate RECORD"}},
		"rig frob":                    {2, []string{`unknown command "frob"`, "k6 x omnigraph rig --help"}},
		"rig up":                      {2, []string{"one directory", "usage: k6 x omnigraph rig up DIR"}},
		"rig make --rows many folder": {2, []string{"rows", "usage: k6 x omnigraph rig make DIR"}},
		"rig run --frob":              {2, []string{"unknown flag: --frob", "usage: k6 x omnigraph rig run [DIR] -- COMMAND"}},
		"rig run":                     {2, []string{"k6 x omnigraph rig run -- k6 run script.js"}},
	} {
		err := run(t, line)
		require.Error(t, err, line)
		for _, want := range c.wants {
			assert.ErrorContains(t, err, want, line)
		}
		assert.LessOrEqual(t, strings.Count(err.Error(), "usage:"), 1, line)
		code := none
		var has errext.HasExitCode
		if errors.As(err, &has) {
			code = int(has.ExitCode())
		}
		assert.Equal(t, c.code, code, line)
	}
}

func TestGroupsOfCommandsShowTheirHelp(t *testing.T) {
	for _, line := range []string{"", "record", "rig", "--help", "compare --help"} {
		assert.NoError(t, run(t, line), line)
	}
}
