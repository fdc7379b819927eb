package secretsource

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// redacted stands in the logs where a secret would.
const redacted = "***SECRET_REDACTED***"

// redactor is a log hook that replaces every known secret in the message and in the fields.
type redactor struct {
	mu       sync.Mutex
	secrets  []string
	replacer atomic.Pointer[strings.Replacer]
}

func (r *redactor) add(secret string) {
	if secret == "" {
		return // replacing the empty string would garble every message
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret, redacted)
	r.replacer.Store(strings.NewReplacer(r.secrets...))
}

// Levels implements logrus.Hook: all of them.
func (*redactor) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (r *redactor) Fire(entry *logrus.Entry) error {
	replacer := r.replacer.Load()
	if replacer == nil {
		return nil
	}
	entry.Message = replacer.Replace(entry.Message)
	data := make(logrus.Fields, len(entry.Data))
	for key, value := range entry.Data {
		data[key] = redactValue(replacer, value)
	}
	entry.Data = data
	return nil
}

func redactValue(replacer *strings.Replacer, value any) any {
	switch v := value.(type) {
	case nil, bool, time.Duration,
		int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64:
		return value
	case string:
		return replacer.Replace(v)
	case error:
		return replacer.Replace(v.Error())
	default:
		// Anything else could hide a secret at some depth.
		return fmt.Sprintf("value of type %T left out, it could hold a secret", value)
	}
}
