package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// callTime bounds one HTTP call. A single-row commit on a badly fragmented store takes about a second.
	callTime = 60 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 1 << 20
)

// api is the little of omnigraph's HTTP surface that a rig needs, on one kept connection.
type api struct {
	base, token string
	client      *http.Client
	transport   *http.Transport
}

func newAPI(base, token string) *api {
	t := &http.Transport{MaxIdleConnsPerHost: 1}

	return &api{base: base, token: token, transport: t, client: &http.Client{Transport: t, Timeout: callTime}}
}

func (a *api) close() { a.transport.CloseIdleConnections() }

// statusError is an answer other than 200.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.message) }

// call sends body, if there is one, and decodes the answer into out.
func (a *api) call(ctx context.Context, method, path string, body, out any) error {
	var payload io.Reader

	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}

		payload = bytes.NewReader(data)
	}

	req, err := http.NewRequestWithContext(ctx, method, a.base+path, payload)
	if err != nil {
		return err
	}

	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}

	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}

	res, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() // read to its end below

	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}

	if res.StatusCode != http.StatusOK {
		var doc struct {
			Error string `json:"error"`
		}

		msg := strings.TrimSpace(string(data))
		if json.Unmarshal(data, &doc) == nil && doc.Error != "" {
			msg = doc.Error
		}

		return &statusError{status: res.StatusCode, message: clean(msg)}
	}

	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not the JSON expected: %w", method, path, err)
	}

	return nil
}

// await waits until the server answers /healthz and serves the rig's graph to the rig's own token; the latter
// also proves that it is this server and not another on the same port.
func (r *Rig) await(ctx context.Context, s *Server, token string, limit time.Duration) (string, error) {
	if limit == 0 {
		limit = defaultBootTime
	}

	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer on %s/healthz within %v", s.URL, limit))
	defer cancel()

	a := newAPI(s.URL, token)
	defer a.close()

	var health struct {
		Version string `json:"version"`
	}

	for {
		err := a.call(ctx, http.MethodGet, "/healthz", nil, &health)
		if err == nil && health.Version != "" {
			break // else it is somebody else's answer, who has the port
		}

		select {
		case <-s.proc.done:
			return "", r.died(s)
		case <-ctx.Done():
			return "", &BootError{Err: context.Cause(ctx), Log: fileTail(r.LogFile()), LogFile: r.LogFile()}
		case <-time.After(pollEvery):
		}
	}

	var snapshot map[string]any

	err := a.call(ctx, http.MethodGet, "/graphs/"+Graph+"/snapshot", nil, &snapshot)

	var status *statusError

	switch {
	case err == nil:
		return health.Version, nil
	case s.proc.exited():
		return "", r.died(s)
	case errors.As(err, &status) && status.status == http.StatusUnauthorized:
		return "", fmt.Errorf("%w: another server answers on %s", ErrPortTaken, s.URL)
	default:
		return "", &BootError{
			Err: fmt.Errorf("it is up but does not serve the graph %s: %w", Graph, err),
			Log: fileTail(r.LogFile()), LogFile: r.LogFile(),
		}
	}
}

// died says how a server ended at boot.
func (r *Rig) died(s *Server) error {
	log := fileTail(r.LogFile())

	for _, line := range log {
		if strings.Contains(strings.ToLower(line), "address already in use") {
			return fmt.Errorf("%w: %s", ErrPortTaken, strings.TrimPrefix(s.URL, "http://"))
		}
	}

	err := s.proc.err
	if err == nil {
		err = errors.New("it exited with code 0")
	}

	return &BootError{Err: err, Log: log, LogFile: r.LogFile()}
}
