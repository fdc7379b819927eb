package httpclient

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lateReader is a connection whose reader gets its turn only long after the writer has met the server's break, as on a
// busy machine.
type lateReader struct {
	net.Conn
	broken chan struct{}
	once   sync.Once
}

func (c *lateReader) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.once.Do(func() { close(c.broken) })
	}
	return n, err
}

func (c *lateReader) Read(p []byte) (int, error) {
	<-c.broken
	time.Sleep(400 * time.Millisecond)
	return c.Conn.Read(p)
}

// refusing reads a part of each request, says something, and closes.
func refusing(t *testing.T, answer string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 1<<20)
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close() // what was not read makes it a reset
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// send posts what no two sockets' buffers hold, by a transport whose reader is late.
func send(t *testing.T, address string) (status int, text string, err error) {
	t.Helper()
	const size = 16 << 20
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &lateReader{Conn: conn, broken: make(chan struct{})}, err
	}}
	defer transport.CloseIdleConnections()
	probe := newSendProbe(t.Context(), size)
	defer probe.done()
	ctx := httptrace.WithClientTrace(t.Context(), probe.trace())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, bytes.NewReader(make([]byte, size)))
	require.NoError(t, err)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestAnAnswerIsKeptHoweverLateItIsRead(t *testing.T) {
	t.Parallel()
	address := refusing(t, "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 9\r\n\r\ntoo large")
	for range 5 { // what the transport sees first is chance
		status, text, err := send(t, address)
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestEntityTooLarge, status)
		assert.Equal(t, "too large", text)
	}
}

func TestABreakWithoutAnAnswerIsToldAsSoonAsItsReaderHasMetIt(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, _, err := send(t, refusing(t, ""))
	require.Error(t, err)
	// The wait for an answer is bounded at 30 s, which only this limit tells from its end by the connection's.
	assert.Less(t, time.Since(began), 25*time.Second)
}
