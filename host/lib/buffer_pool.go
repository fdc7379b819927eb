package lib

import (
	"bytes"
	"sync"
)

// BufferPool recycles byte buffers. It is safe for concurrent use.
type BufferPool struct {
	pool *sync.Pool
}

// NewBufferPool returns an empty pool.
func NewBufferPool() *BufferPool {
	return &BufferPool{pool: &sync.Pool{New: func() any { return new(bytes.Buffer) }}}
}

// Get returns an empty buffer.
func (bp BufferPool) Get() *bytes.Buffer {
	if b, ok := bp.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

// Put gives a buffer back; its content must not be used any more.
func (bp BufferPool) Put(b *bytes.Buffer) {
	b.Reset()
	bp.pool.Put(b)
}
