package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/cmd/state"
)

// rawFormatter prints the message and nothing else.
type rawFormatter struct{}

func (rawFormatter) Format(entry *logrus.Entry) ([]byte, error) {
	return append([]byte(entry.Message), '\n'), nil
}

// setUpLogging makes the logger of gs write what, where and how the global flags say. The returned function
// closes what was opened for it.
func setUpLogging(gs *state.GlobalState) (closeLog func() error, err error) {
	closeLog = func() error { return nil }
	if gs.Flags.Verbose {
		gs.Logger.SetLevel(logrus.DebugLevel)
	}

	isTTY := false
	name, argument, _ := strings.Cut(gs.Flags.LogOutput, "=")
	switch name {
	case "stderr":
		gs.Logger.SetOutput(gs.Stderr)
		isTTY = gs.Stderr.IsTTY
	case "stdout":
		gs.Logger.SetOutput(gs.Stdout)
		isTTY = gs.Stdout.IsTTY
	case "none":
		gs.Logger.SetOutput(io.Discard)
	case "file":
		file, err := openLogFile(gs, argument)
		if err != nil {
			return closeLog, err
		}
		gs.Logger.SetOutput(file)
		closeLog = file.Close
	case "loki":
		return closeLog, refuse("--log-output loki")
	default:
		return closeLog, fmt.Errorf("unsupported log output %q, use stderr, stdout, none or file=PATH", gs.Flags.LogOutput)
	}

	switch gs.Flags.LogFormat {
	case "raw":
		gs.Logger.SetFormatter(rawFormatter{})
	case "json":
		gs.Logger.SetFormatter(&logrus.JSONFormatter{})
	case "", "text":
		gs.Logger.SetFormatter(&logrus.TextFormatter{
			ForceColors:   isTTY && !gs.Flags.NoColor,
			DisableColors: !isTTY || gs.Flags.NoColor,
		})
	default:
		return closeLog, fmt.Errorf("unsupported log format %q, use raw or json", gs.Flags.LogFormat)
	}
	return closeLog, nil
}

// openLogFile opens the file of --log-output file=PATH[,level=LEVEL] and sets the level.
func openLogFile(gs *state.GlobalState, argument string) (io.WriteCloser, error) {
	path := ""
	for i, part := range strings.Split(argument, ",") {
		key, value, isOption := strings.Cut(part, "=")
		switch {
		case i == 0:
			path = part
		case isOption && key == "level":
			level, err := logrus.ParseLevel(value)
			if err != nil {
				return nil, fmt.Errorf("log level of --log-output file: %w", err)
			}
			gs.Logger.SetLevel(level)
		default:
			return nil, fmt.Errorf("unknown setting %q of --log-output file, use file=PATH or file=PATH,level=LEVEL", part)
		}
	}
	if path == "" {
		return nil, fmt.Errorf("--log-output file needs a path: file=PATH")
	}
	file, err := gs.FS.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("could not open the log file: %w", err)
	}
	return file, nil
}
