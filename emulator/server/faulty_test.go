package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
	"github.com/mitodl/xk6-omnigraph/internal/leaks"
)

// faultyServer serves the demo under a plan of one rule for mutations.
func faultyServer(t *testing.T, rule faults.Rule) (*httptest.Server, *server.Server) {
	t.Helper()
	rule.Route = "mutate"
	s := demoServer(t, server.Options{Faults: faults.New(faults.Plan{Rules: []faults.Rule{rule}}, nil)})
	hs := httptest.NewServer(s)
	t.Cleanup(hs.Close)
	return hs, s
}

func sendInsert(t *testing.T, url string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphs/council/mutate", strings.NewReader(insertProject))
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	res, err := client.Do(authorized(req))
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(res.Body)
	return res, text, errors.Join(err, res.Body.Close())
}

// written reports whether the mutation of sendInsert was carried out.
func written(t *testing.T, h http.Handler) bool {
	t.Helper()
	a := ask(t, h, "POST", "/graphs/council/query", `{"query":"query q() { match { $p: Project { slug: \"new\" } } return { $p.slug } }"}`)
	require.Equal(t, 200, a.status)
	return strings.Contains(a.text, `"row_count":1`)
}

func TestFaultsAnswerWithTheirStatusAndWords(t *testing.T) {
	t.Parallel()
	for kind, want := range map[faults.Kind]struct {
		status  int
		words   string
		field   string
		written bool
	}{
		faults.AdmissionCap:     {429, "actor in-flight count cap", "code", false},
		faults.ManifestConflict: {409, "refresh and retry", "manifest_conflict", false},
		faults.ReadSetConflict:  {409, "reprepare", "read_set_conflict", false},
		faults.KeyConflict:      {409, "already has id", "key_conflict", false},
		faults.DatasetConflict:  {409, "published_dataset_version_conflict", "published_dataset_version_conflict", false},
		faults.IndexRebuild:     {409, "full_text_index_rebuild_required", "code", false},
		faults.MergeConflict:    {409, "merge conflicts", "merge_conflicts", false},
		faults.Precondition:     {412, "precondition failed", "precondition_failure", false},
		faults.RecoveryRequired: {503, "recovery_required", "recovery_required", false},
		faults.Unavailable:      {503, "graph_unavailable", "code", false},
		faults.Internal:         {500, "injected failure", "code", false},
		faults.SidecarDiffers:   {500, "manifest delta differs", "code", false},
		faults.AheadOfManifest:  {500, "ahead of manifest", "code", false},
		faults.BadGateway:       {502, "<html>", "", true},
		faults.GatewayTimeout:   {504, "<html>", "", true},
		faults.Malformed:        {200, "", "", true},
		faults.WrongType:        {200, "affected_nodes", "", true},
		faults.SlowBody:         {200, "affected_nodes", "affected_nodes", true},
		faults.Latency:          {200, "affected_nodes", "affected_nodes", true},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			hs, s := faultyServer(t, faults.Rule{Kind: kind, Delay: faults.Duration(10 * time.Millisecond), RetryAfter: 7})
			start := time.Now()
			res, text, err := sendInsert(t, hs.URL)
			require.NoError(t, err)
			require.Equal(t, want.status, res.StatusCode)
			require.Contains(t, string(text), want.words)
			require.Equal(t, want.written, written(t, s))
			if want.field != "" {
				var doc map[string]any
				require.NoError(t, json.Unmarshal(text, &doc))
				require.Contains(t, doc, want.field)
			}
			switch kind {
			case faults.AdmissionCap:
				require.Equal(t, "7", res.Header.Get("Retry-After"))
			case faults.Malformed:
				require.False(t, json.Valid(text))
			case faults.WrongType, faults.BadGateway:
				require.Equal(t, "text/html", res.Header.Get("Content-Type"))
			case faults.SlowBody:
				require.GreaterOrEqual(t, time.Since(start), 70*time.Millisecond)
			case faults.Latency:
				require.GreaterOrEqual(t, time.Since(start), 10*time.Millisecond)
			}
		})
	}
}

func TestFaultsBreakTheConnection(t *testing.T) {
	t.Parallel()
	for kind, done := range map[faults.Kind]bool{faults.ResetBefore: false, faults.ResetAfter: true} {
		hs, s := faultyServer(t, faults.Rule{Kind: kind})
		_, _, err := sendInsert(t, hs.URL)
		require.ErrorIs(t, err, syscall.ECONNRESET, kind)
		require.Equal(t, done, written(t, s), kind)
	}
	hs, s := faultyServer(t, faults.Rule{Kind: faults.Truncated})
	res, text, err := sendInsert(t, hs.URL)
	require.Error(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.Less(t, int64(len(text)), res.ContentLength)
	require.True(t, written(t, s))
}

// restarting serves the demo until the test's end; its first mutation restarts it.
func restarting(t *testing.T, closed, missing time.Duration) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	runner, err := server.Listen(ctx, ownAddress(t))
	require.NoError(t, err)
	rule := faults.Rule{Kind: faults.Restart, Route: "mutate", Count: 1, Closed: faults.Duration(closed), Missing: faults.Duration(missing)}
	s := demoServer(t, server.Options{Faults: faults.New(faults.Plan{Rules: []faults.Rule{rule}}, nil), Restart: runner.Restart})
	served := make(chan error, 1)
	go func() { served <- runner.Serve(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
		requireClosed(t, runner.Addr())
	})
	url = "http://" + runner.Addr()
	_, _, err = sendInsert(t, url)
	require.Error(t, err)
	return url
}

// TestARestartClosesThePortThenHidesTheGraphs looks at each phase of a restart while that lasts: an hour.
func TestARestartClosesThePortThenHidesTheGraphs(t *testing.T) {
	t.Parallel()
	// seen is the phase that a mutation meets; a connection that breaks is none.
	seen := func(t *testing.T, url string) string {
		t.Helper()
		res, text, err := sendInsert(t, url)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return "refused"
		case err == nil && res.StatusCode == http.StatusNotFound:
			require.Contains(t, string(text), "graph 'council' not found")
			return "missing"
		case err == nil && res.StatusCode == http.StatusOK:
			return "back"
		}
		return ""
	}
	const moment = time.Millisecond
	for _, tt := range []struct {
		last            string
		closed, missing time.Duration
		before          []string
	}{
		{"refused", time.Hour, moment, nil},
		{"missing", 100 * moment, time.Hour, []string{"refused"}},
		{"back", 100 * moment, 100 * moment, []string{"refused", "missing"}},
	} {
		t.Run(tt.last, func(t *testing.T) {
			t.Parallel()
			url := restarting(t, tt.closed, tt.missing)
			left := tt.before
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				require.True(t, time.Now().Before(deadline), "it does not come to this phase")
				now := seen(t, url)
				if now == tt.last {
					break
				}
				if now == "" {
					continue
				}
				at := slices.Index(left, now)
				require.GreaterOrEqual(t, at, 0, "%q where only %q may still come", now, left)
				left = left[at:] // a phase that was too short to be seen is left out
			}
			require.Equal(t, tt.last, seen(t, url), "it stays")
		})
	}
}

// ownAddress is an address to listen on whose port nobody else takes once it is closed: no other test listens on this
// one of the loopback's addresses, where the system has more than one.
func ownAddress(t *testing.T) string {
	t.Helper()
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(t.Name()))
	sum := digest.Sum32()
	host := fmt.Sprintf("127.%d.%d.%d", 1+sum%250, sum>>8&0xff, 1+sum>>16%250)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host+":0")
	if err != nil {
		return "127.0.0.1:0"
	}
	require.NoError(t, l.Close())
	return host + ":0"
}

// requireClosed checks that nobody listens, not even a socket that was forgotten.
func requireClosed(t *testing.T, address string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestTheEndClosesThePort(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"while it serves": true, "before it serves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			runner, err := server.Listen(ctx, ownAddress(t))
			require.NoError(t, err)
			served := make(chan error, 1)
			if !begun {
				cancel()
			}
			go func() { served <- runner.Serve(ctx, demoServer(t, server.Options{})) }()
			if begun {
				_, _, err = sendInsert(t, "http://"+runner.Addr())
				require.NoError(t, err)
			}
			cancel()
			require.NoError(t, <-served)
			requireClosed(t, runner.Addr())
		})
	}
}

func TestAdminRoutesChangeThePlanForTheirTokenOnLoopback(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{Faults: faults.New(faults.Plan{}, nil), AdminToken: "admin-secret"})
	admin := func(remote, token, method, path, body string) answer {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.RemoteAddr = remote
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		return answer{w.Code, w.Header(), w.Body.String()}
	}
	const here, plan = "127.0.0.1:5", `{"seed":1,"rules":[{"route":"query","kind":"internal","count":1}]}`
	require.Equal(t, 404, admin("192.0.2.1:5", "admin-secret", "GET", "/admin/faults", "").status)
	require.Equal(t, 401, admin(here, demo.Tokens["act-load"], "GET", "/admin/faults", "").status)
	require.Equal(t, 404, admin(here, "admin-secret", "GET", "/admin/nope", "").status)
	require.Equal(t, 405, admin(here, "admin-secret", "POST", "/admin/faults", "").status)
	require.Equal(t, 400, admin(here, "admin-secret", "PUT", "/admin/faults", `{"rules":[{"kind":"nope"}]}`).status)
	require.Equal(t, 200, ask(t, s, "POST", "/graphs/council/query", pointRead).status)
	require.Equal(t, 200, admin("[::1]:5", "admin-secret", "PUT", "/admin/faults", plan).status)
	require.Contains(t, admin(here, "admin-secret", "GET", "/admin/faults", "").text, `"internal"`)
	require.Equal(t, 500, ask(t, s, "POST", "/graphs/council/query", pointRead).status)
	require.Equal(t, 200, ask(t, s, "POST", "/graphs/council/query", pointRead).status)
	closed := demoServer(t, server.Options{Faults: faults.New(faults.Plan{}, nil)})
	require.Equal(t, 404, ask(t, closed, "GET", "/admin/faults", "").status)
}

func TestFaultsSpareOtherActors(t *testing.T) {
	t.Parallel()
	s := demoServer(t, server.Options{Faults: faults.New(faults.Plan{Rules: []faults.Rule{{Actor: "act-load-2", Kind: faults.Internal}}}, nil)})
	require.Equal(t, 200, ask(t, s, "POST", "/graphs/council/query", pointRead).status)
	require.Equal(t, 500, ask(t, s, "POST", "/graphs/council/query", pointRead, "Authorization", "Bearer "+demo.Tokens["act-load-2"]).status)
}

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }
