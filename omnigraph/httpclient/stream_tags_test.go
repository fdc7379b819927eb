package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFailuresOnTheWayHaveK6sCodes(t *testing.T) {
	t.Parallel()
	of := func(op string, errno syscall.Errno) error {
		return &url.Error{Op: "Post", URL: "http://user:password@host/", Err: &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)}}
	}
	for name, c := range map[string]struct {
		err     error
		expired bool
		code    int
		text    string
	}{
		"timeout":      {context.DeadlineExceeded, true, 1050, "request timeout"},
		"refused":      {of("dial", syscall.ECONNREFUSED), false, 1212, "dial: connection refused"},
		"dial timeout": {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, false, 1211, "dial: i/o timeout"},
		"reset":        {of("read", syscall.ECONNRESET), false, 1220, "read: connection reset by peer"},
		"broken pipe":  {of("write", syscall.EPIPE), false, 1201, "write: broken pipe"},
		"no such host": {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false, 1101, "lookup: no such host"},
		"ended early":  {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), false, 1000, "read: unexpected EOF"},
		"other":        {&url.Error{Op: "Post", URL: "http://user:password@host/", Err: errors.New("hm")}, false, 1000, "hm"},
	} {
		code, text := requestFailure(c.err, c.expired)
		assert.Equal(t, c.code, code, name)
		assert.Equal(t, c.text, text, name)
	}
}

func TestRealFailuresHaveK6sCodes(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for address, want := range map[string]int{s.URL: codeReset, "http://127.0.0.1:1": codeRefused} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
		require.NoError(t, err)
		transport := &http.Transport{}
		response, err := transport.RoundTrip(req)
		if err == nil {
			_ = response.Body.Close()
		}
		require.Error(t, err)
		code, _ := requestFailure(err, false)
		assert.Equal(t, want, code, address)
	}
}
