package modules

import "sync"

// exportedNames are the export names of a module whose exports show only once an instance of it exists. They are
// taken from the first instance.
type exportedNames struct {
	mu      sync.Mutex
	known   bool
	names   []string
	waiting []func([]string)
}

// get calls back with the names, at once or as soon as they are known, and says whether it did so at once.
func (e *exportedNames) get(callback func([]string)) bool {
	e.mu.Lock()
	if !e.known {
		e.waiting = append(e.waiting, callback)
		e.mu.Unlock()
		return false
	}
	e.mu.Unlock()
	callback(e.names)
	return true
}

// set fixes the names; only the first call counts.
func (e *exportedNames) set(list func() []string) {
	e.mu.Lock()
	if e.known {
		e.mu.Unlock()
		return
	}
	e.known, e.names = true, list()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, callback := range waiting {
		callback(e.names)
	}
}
