package secretsource

import (
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"
)

// Manager asks sources for secrets, remembers the answers, and has them redacted from the logs. It is safe for
// concurrent use.
type Manager struct {
	sources map[string]Source
	redact  *redactor

	mu    sync.Mutex
	cache map[[2]string]*cached
}

type cached struct {
	once  sync.Once
	value string
	err   error
}

// NewManager returns a manager of the sources and the log hook that redacts the secrets it handed out. A source may
// appear under several names.
func NewManager(sources map[string]Source) (*Manager, logrus.Hook, error) {
	for name, source := range sources {
		if source == nil {
			return nil, nil, fmt.Errorf("secret source %q is nil", name)
		}
	}
	redact := &redactor{}
	return &Manager{sources: sources, redact: redact, cache: make(map[[2]string]*cached)}, redact, nil
}

// Get returns the secret key of the source. A failed lookup is not remembered.
func (m *Manager) Get(sourceName, key string) (string, error) {
	if m == nil || len(m.sources) == 0 {
		return "", fmt.Errorf("no secret sources are configured, use --secret-source to add one")
	}
	source, ok := m.sources[sourceName]
	if !ok {
		if sourceName == DefaultSourceName {
			return "", fmt.Errorf("no default secret source is configured, mark one with `default`")
		}
		return "", fmt.Errorf("no secret source with name %q is configured", sourceName)
	}
	id := [2]string{sourceName, key}
	m.mu.Lock()
	entry, ok := m.cache[id]
	if !ok {
		entry = &cached{}
		m.cache[id] = entry
	}
	m.mu.Unlock()

	entry.once.Do(func() {
		entry.value, entry.err = source.Get(key)
		if entry.err == nil {
			m.redact.add(entry.value)
			return
		}
		m.mu.Lock()
		delete(m.cache, id)
		m.mu.Unlock()
	})
	return entry.value, entry.err
}
