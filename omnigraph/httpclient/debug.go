package httpclient

import (
	"io"
	"strings"

	"go.k6.io/k6/v2/lib"

	"github.com/sirupsen/logrus"
)

// withoutSecrets gives a copy of a VU's state for k6's option httpDebug, which logs requests as they are sent: the token
// is masked in what is logged.
func withoutSecrets(state *lib.State, token string) *lib.State {
	masked := *state
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.TraceLevel)
	logger.AddHook(&masker{next: state.Logger, secret: token})
	masked.Logger = logger
	return &masked
}

// masker hands log entries on with a secret masked.
type masker struct {
	next   logrus.FieldLogger
	secret string
}

// Levels implements logrus.Hook.
func (*masker) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (m *masker) Fire(e *logrus.Entry) error {
	fields := make(logrus.Fields, len(e.Data))
	for name, value := range e.Data {
		if text, ok := value.(string); ok {
			value = m.mask(text)
		}
		fields[name] = value
	}
	next, text := m.next.WithFields(fields), m.mask(e.Message)
	switch e.Level {
	case logrus.TraceLevel, logrus.DebugLevel:
		next.Debug(text)
	case logrus.InfoLevel:
		next.Info(text)
	case logrus.WarnLevel:
		next.Warn(text)
	default:
		next.Error(text)
	}
	return nil
}

func (m *masker) mask(text string) string { return strings.ReplaceAll(text, m.secret, "***") }
