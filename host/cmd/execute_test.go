package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/console"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/subcommand"
)

func TestMain(m *testing.M) {
	subcommand.RegisterExtension("trial", newTrialCommand)
	modules.Register("k6/x/panics", &panics{})
	leaktest.VerifyTestMain(m)
}

// panics is a module with a fault.
type panics struct{}

// Now panics.
func (*panics) Now() { panic("a fault in the module") }

// newTrialCommand is what an extension would register.
func newTrialCommand(gs *state.GlobalState) *cobra.Command {
	return &cobra.Command{
		Use: "trial",
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				_, err := gs.Stdout.Write([]byte("tried\n"))
				return err
			case args[0] == "plain":
				return errors.New("plain trouble")
			default:
				return errext.WithExitCodeIfNone(errors.New("coded trouble"), exitcodes.ExitCode(7))
			}
		},
	}
}

// process is a k6 that runs within a test.
type process struct {
	gs             *state.GlobalState
	stdout, stderr bytes.Buffer
	signals        chan os.Signal // gets what the process is sent
	exits          chan int
}

// newProcess makes one with the arguments, in an empty folder of a file system in memory.
func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{signals: make(chan os.Signal, 2), exits: make(chan int, 2)}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	mutex := &sync.Mutex{}
	stdout := &console.Writer{Mutex: mutex, Writer: &p.stdout}
	stderr := &console.Writer{Mutex: mutex, Writer: &p.stderr}
	logger := &logrus.Logger{
		Out: stderr, Formatter: &logrus.TextFormatter{DisableColors: true}, Hooks: make(logrus.LevelHooks), Level: logrus.InfoLevel,
	}
	defaults := state.GetDefaultFlags("/home/.config", "/home/.cache")
	p.gs = &state.GlobalState{
		Ctx:            context.Background(),
		FS:             fsext.NewMemMapFs(),
		Getwd:          func() (string, error) { return "/test", nil },
		BinaryName:     "k6",
		CmdArgs:        append([]string{"k6"}, args...),
		Env:            map[string]string{},
		Events:         event.NewSystem(100, logger),
		DefaultFlags:   defaults,
		Flags:          defaults,
		OutMutex:       mutex,
		Stdout:         stdout,
		Stderr:         stderr,
		Stdin:          &bytes.Buffer{},
		OSExit:         func(code int) { p.exits <- code },
		SignalNotify:   func(c chan<- os.Signal, _ ...os.Signal) { go p.forward(c, ended) },
		SignalStop:     func(chan<- os.Signal) {},
		Logger:         logger,
		FallbackLogger: logger,
		Usage:          usage.New(),
		TestStatus:     lib.NewTestStatus(),
	}
	return p
}

// forward hands on what the process is sent, as long as it lives.
func (p *process) forward(to chan<- os.Signal, ended <-chan struct{}) {
	for {
		select {
		case sig := <-p.signals:
			select {
			case to <- sig:
			default: // as the system does with a channel that is full
			}
		case <-ended:
			return
		}
	}
}

func (p *process) run() int { return execute(p.gs) }

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}} {
		p := newProcess(t, args...)
		require.Zero(t, p.run())
		assert.Regexp(t, `(?m)^k6 v2\.2\.0 `, p.stdout.String())
		assert.Regexp(t, `(?m)^Extensions:\n(  .*\n)*  go\.k6\.io/k6/v2.*, trial \[subcommand\]$`, p.stdout.String())
		assert.Empty(t, p.stderr.String())
	}
	p := newProcess(t, "version", "--json")
	require.Zero(t, p.run())
	var document struct{ Version string }
	require.NoError(t, json.Unmarshal(p.stdout.Bytes(), &document))
	assert.Equal(t, "v2.2.0", document.Version)
}

func TestHelpNamesTheCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--help"}} {
		p := newProcess(t, args...)
		require.Zero(t, p.run())
		assert.Regexp(t, `(?m)^ +run +\S`, p.stdout.String())
		assert.Regexp(t, `(?m)^Usage:`, p.stdout.String())
	}
}

func TestSubcommandsOfExtensions(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "x", "trial")
	require.Zero(t, p.run())
	assert.Equal(t, "tried\n", p.stdout.String())

	p = newProcess(t, "x", "trial", "plain")
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stderr.String(), `level=error msg="plain trouble"`)

	p = newProcess(t, "--log-format", "json", "x", "trial", "coded")
	assert.Equal(t, 7, p.run())
	assert.Contains(t, p.stderr.String(), `"msg":"coded trouble"`)

	p = newProcess(t, "trial")
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stderr.String(), `unknown command \"trial\" for \"k6\"`)

	p = newProcess(t, "x", "nothing")
	p.gs.Flags.AutoExtensionResolution = false
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stderr.String(), `msg="unknown command \"nothing\" for \"k6 x\""`)
}

func TestWhatOnlyTheRealK6Has(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"new", "--template=browser"}, {"cloud", "run", "--local-execution", "script.js"}, {"deps", "script.js"},
		{"version", "--log-output=loki=http://127.0.0.1:1"},
	} {
		p := newProcess(t, args...)
		assert.Equal(t, 255, p.run(), "%v", args)
		assert.Contains(t, p.stderr.String(), "the real k6 has it", "%v", args)
	}
}

func TestAnEnvironmentThatAsksForTheDashboardIsTold(t *testing.T) {
	t.Parallel()
	p := script(t, emptyScript)
	p.gs.Env = map[string]string{"K6_WEB_DASHBOARD": "true"}
	assert.Zero(t, p.run())
	assert.Contains(t, p.stderr.String(), "K6_WEB_DASHBOARD")
}

func TestLogOutputs(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "--log-output=stdout", "run", "/test/none.js")
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stdout.String(), "none.js")
	assert.Empty(t, p.stderr.String())

	p = newProcess(t, "--log-output=none", "run", "/test/none.js")
	assert.Equal(t, 255, p.run())
	assert.Empty(t, p.stderr.String())

	p = newProcess(t, "--log-output=file=/test/k6.log", "run", "/test/none.js")
	assert.Equal(t, 255, p.run())
	data, err := fsext.ReadFile(p.gs.FS, "/test/k6.log")
	require.NoError(t, err)
	assert.Contains(t, string(data), "level=error")

	for _, output := range []string{"moon", "file", "file=/x,colour=red", "file=/x,level=loud"} {
		p = newProcess(t, "version", "--log-output="+output)
		assert.Equal(t, 255, p.run(), output)
	}
}
