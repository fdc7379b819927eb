package console

import (
	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
)

// New makes the object console of a runtime. What scripts print goes to the logger that the function returns at
// that moment.
func New(rt *sobek.Runtime, logger func() logrus.FieldLogger) *sobek.Object {
	obj := rt.NewObject()
	for name, level := range map[string]logrus.Level{
		"log":   logrus.InfoLevel,
		"debug": logrus.DebugLevel,
		"info":  logrus.InfoLevel,
		"warn":  logrus.WarnLevel,
		"error": logrus.ErrorLevel,
	} {
		_ = obj.Set(name, func(call sobek.FunctionCall) sobek.Value {
			write(logger(), level, Format(rt, call.Arguments))
			return sobek.Undefined()
		})
	}
	return obj
}

func write(logger logrus.FieldLogger, level logrus.Level, text string) {
	if logger == nil {
		return
	}
	switch level {
	case logrus.DebugLevel:
		logger.Debug(text)
	case logrus.WarnLevel:
		logger.Warn(text)
	case logrus.ErrorLevel:
		logger.Error(text)
	default:
		logger.Info(text)
	}
}
