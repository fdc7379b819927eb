package httpclient

import "sync"

// Contracts remembers for each server which version of the HTTP contract it asked for, so that only the first request
// of a process has to find out. It is safe for concurrent use; the zero value is ready.
type Contracts struct{ byServer sync.Map }

func (c *Contracts) get(server string) string {
	v, _ := c.byServer.Load(server)
	s, _ := v.(string)
	return s
}

func (c *Contracts) set(server, version string) {
	if c.get(server) != version {
		c.byServer.Store(server, version)
	}
}
