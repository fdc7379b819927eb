package netext

import (
	"net"
	"sync/atomic"
)

// Conn is a connection that adds what passes through it to the counters of the dialer that made it.
type Conn struct {
	net.Conn

	// BytesRead and BytesWritten are shared by all connections of a dialer and changed atomically.
	BytesRead, BytesWritten *int64
}

// Read reads from the connection and counts the bytes.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		atomic.AddInt64(c.BytesRead, int64(n))
	}
	return n, err
}

// Write writes to the connection and counts the bytes.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		atomic.AddInt64(c.BytesWritten, int64(n))
	}
	return n, err
}
