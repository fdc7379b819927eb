package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const query = `query get_memory($slug: String) { match { $m: Memory { slug: $slug } } return { $m.slug, $m.title, $m.importance } }`

// body is what the stub answers: three rows in the shape of the real server's answer.
const body = `{"query_name":"get_memory","target":{"branch":"main","snapshot":null},"row_count":3,"columns":["m.slug","m.title","m.importance"],` +
	`"rows":[{"m.slug":"mem-0001","m.title":"first of three rows","m.importance":1},{"m.slug":"mem-0002","m.title":"second of three rows","m.importance":2},{"m.slug":"mem-0003","m.title":"third of three rows","m.importance":3}]}`

// serveStub answers every request alike until in ends.
func serveStub(ctx context.Context, in io.Reader, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("stub: %w", err)
	}
	answer := []byte(body)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(answer))}
		_, _ = w.Write(answer)
	})}
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stub: %w", err)
	}
	return nil
}

// answer is the document as the raw loop decodes it.
type answer struct {
	QueryName string           `json:"query_name"`
	RowCount  int              `json:"row_count"`
	Columns   []string         `json:"columns"`
	Rows      []map[string]any `json:"rows"`
}

// rawLoop is the yardstick: goroutines with one http.Client, io.ReadAll and encoding/json.
func rawLoop(ctx context.Context, address string, clients int, length time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var reads atomic.Int64
	var failure atomic.Pointer[error]
	var running sync.WaitGroup
	start := time.Now()
	for range clients {
		running.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}}
			defer client.CloseIdleConnections()
			for i := 0; ctx.Err() == nil; i++ {
				if err := rawRead(ctx, client, address, i); err != nil {
					if ctx.Err() == nil {
						failure.CompareAndSwap(nil, &err)
					}
					return
				}
				reads.Add(1)
			}
		})
	}
	running.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return float64(reads.Load()) / time.Since(start).Seconds(), nil
}

func rawRead(ctx context.Context, client *http.Client, address string, i int) error {
	request, err := json.Marshal(map[string]any{"query": query, "params": map[string]string{"slug": "mem-" + strconv.Itoa(i%50)}})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/graphs/council/query", bytes.NewReader(request))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench-token")
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if res.StatusCode != http.StatusOK || len(a.Rows) != 3 {
		return fmt.Errorf("status %d with %d rows", res.StatusCode, len(a.Rows))
	}
	return nil
}
