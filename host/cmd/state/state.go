// Package state holds what a command needs from its process, so that commands can be tested without one.
package state

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/mattn/go-colorable"
	"github.com/mattn/go-isatty"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/console"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/secretsource"
)

// eventBuffer is how many events a subscriber may lag behind before it holds up the test.
const eventBuffer = 100

// GlobalState is the process as commands see it. Extensions only read it.
type GlobalState struct {
	Ctx context.Context //nolint:containedctx // it is the process's, and part of the API

	FS              fsext.Fs
	Getwd           func() (string, error)
	UserOSConfigDir string
	BinaryName      string
	CmdArgs         []string
	Env             map[string]string
	Events          *event.System

	DefaultFlags, Flags GlobalFlags

	OutMutex       *sync.Mutex
	Stdout, Stderr *console.Writer
	Stdin          io.Reader

	OSExit       func(int)
	SignalNotify func(chan<- os.Signal, ...os.Signal)
	SignalStop   func(chan<- os.Signal)

	Logger         *logrus.Logger
	FallbackLogger logrus.FieldLogger

	SecretsManager *secretsource.Manager
	Usage          *usage.Usage
	TestStatus     *lib.TestStatus
}

// NewGlobalState describes the running process.
func NewGlobalState(ctx context.Context) *GlobalState {
	mutex := &sync.Mutex{}
	stdout := newWriter(os.Stdout, mutex)
	stderr := newWriter(os.Stderr, mutex)
	env := BuildEnvMap(os.Environ())

	// Both are only the base of default paths: without them these paths are relative.
	configDir, err := os.UserConfigDir()
	if err != nil {
		configDir = ".config"
	}
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		cacheDir = ".cache"
	}
	binary := "k6"
	if len(os.Args) > 0 && os.Args[0] != "" {
		binary = filepath.Base(os.Args[0])
	}

	defaults := GetDefaultFlags(configDir, cacheDir)
	flags := flagsFromEnvironment(defaults, env)

	formatter := &logrus.TextFormatter{
		ForceColors:   stderr.IsTTY && !flags.NoColor,
		DisableColors: !stderr.IsTTY || flags.NoColor,
	}
	logger := &logrus.Logger{
		Out: stderr, Formatter: formatter, Hooks: make(logrus.LevelHooks), Level: logrus.InfoLevel,
	}
	fallback := &logrus.Logger{
		Out: stderr, Formatter: formatter, Hooks: make(logrus.LevelHooks), Level: logrus.InfoLevel,
	}

	return &GlobalState{
		Ctx:             ctx,
		FS:              fsext.NewOsFs(),
		Getwd:           os.Getwd,
		UserOSConfigDir: configDir,
		BinaryName:      binary,
		CmdArgs:         os.Args,
		Env:             env,
		Events:          event.NewSystem(eventBuffer, logger),
		DefaultFlags:    defaults,
		Flags:           flags,
		OutMutex:        mutex,
		Stdout:          stdout,
		Stderr:          stderr,
		Stdin:           os.Stdin,
		OSExit:          os.Exit,
		SignalNotify:    signal.Notify,
		SignalStop:      signal.Stop,
		Logger:          logger,
		FallbackLogger:  fallback,
		Usage:           usage.New(),
		TestStatus:      lib.NewTestStatus(),
	}
}

func newWriter(file *os.File, mutex *sync.Mutex) *console.Writer {
	fd := file.Fd()
	return &console.Writer{
		RawOutFd: int(fd), // #nosec G115 -- descriptors are small
		IsTTY:    isatty.IsTerminal(fd) || isatty.IsCygwinTerminal(fd),
		Mutex:    mutex,
		Writer:   colorable.NewColorable(file),
	}
}
