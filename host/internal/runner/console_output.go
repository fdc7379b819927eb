package runner

import (
	"fmt"
	"os"

	"github.com/sirupsen/logrus"
)

// consoleLogger is where the script's console goes: the log, or the file of the option consoleOutput.
func (r *Runner) consoleLogger() (logrus.FieldLogger, error) {
	path := r.options.ConsoleOutput.String
	if !r.options.ConsoleOutput.Valid || path == "" {
		return consoleOf(r.pre.Logger), nil
	}
	// The file stays open until the process ends: nothing tells when the last line is written.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600) // #nosec -- the user names it
	if err != nil {
		return nil, fmt.Errorf("opening the file of the console output: %w", err)
	}
	logger := logrus.New()
	logger.SetOutput(file)
	if log, ok := r.pre.Logger.(*logrus.Logger); ok {
		logger.SetLevel(log.GetLevel())
	}
	logger.SetFormatter(&logrus.TextFormatter{DisableColors: true, FullTimestamp: true})
	return logger, nil
}
