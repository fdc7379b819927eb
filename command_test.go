package xk6omnigraph

import (
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
	for line, wants := range map[string][]string{
		"frob":                        {`unknown command "frob"`, "usage: k6 x omnigraph compare|plan|record|report|rig"},
		"--frob":                      {"unknown flag: --frob", "usage: k6 x omnigraph compare|"},
		"report":                      {"at least 1 arg", "usage: k6 x omnigraph report RECORD... [flags]"},
		"report --frob x":             {"unknown flag: --frob", "usage: k6 x omnigraph report RECORD"},
		"compare a":                   {"accepts 2 arg", "usage: k6 x omnigraph compare A B"},
		"plan":                        {"usage: k6 x omnigraph plan RECORD"},
		"record frob":                 {`unknown command "frob"`, "usage: k6 x omnigraph record validate"},
		"record validate":             {"usage: k6 x omnigraph record validate RECORD"},
		"rig frob":                    {`unknown command "frob"`, "k6 x omnigraph rig --help"},
		"rig up":                      {"one directory", "usage: k6 x omnigraph rig up DIR"},
		"rig make --rows many folder": {"rows", "usage: k6 x omnigraph rig make DIR"},
		"rig run --frob":              {"unknown flag: --frob", "usage: k6 x omnigraph rig run [DIR] -- COMMAND"},
		"rig dataset more":            {`unknown command "more"`, "usage: k6 x omnigraph rig dataset"},
		"rig run":                     {"k6 x omnigraph rig run -- k6 run script.js"},
	} {
		err := run(t, line)
		require.Error(t, err, line)
		for _, want := range wants {
			assert.ErrorContains(t, err, want, line)
		}
		assert.LessOrEqual(t, strings.Count(err.Error(), "usage:"), 1, line)
		var has errext.HasExitCode
		require.ErrorAs(t, err, &has, line)
		assert.Equal(t, 2, int(has.ExitCode()), line)
	}
}

func TestGroupsOfCommandsShowTheirHelp(t *testing.T) {
	for _, line := range []string{"", "record", "rig", "--help", "compare --help"} {
		assert.NoError(t, run(t, line), line)
	}
}
