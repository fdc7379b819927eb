package data

import "sync"

// arrays are the shared arrays of a test by name. They are safe for concurrent use.
type arrays struct {
	mu     sync.Mutex
	byName map[string]*sharedArray
}

// sharedArray holds the JSON of each element. Its own lock keeps VUs that want the same array waiting while one of
// them fills it, but not those that want another.
type sharedArray struct {
	mu       sync.Mutex
	filled   bool
	elements []string
}

func newArrays() *arrays { return &arrays{byName: make(map[string]*sharedArray)} }

// get returns the elements of the named array, filling it if nobody has succeeded in that.
func (a *arrays) get(name string, fill func() ([]string, error)) ([]string, error) {
	a.mu.Lock()
	array, ok := a.byName[name]
	if !ok {
		array = &sharedArray{}
		a.byName[name] = array
	}
	a.mu.Unlock()

	array.mu.Lock()
	defer array.mu.Unlock()
	if array.filled {
		return array.elements, nil
	}
	elements, err := fill()
	if err != nil {
		return nil, err
	}
	array.elements, array.filled = elements, true
	return elements, nil
}
