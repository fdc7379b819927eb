package cliclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// driver acts as a load generator in a process of its own, for what would hurt the test process: being killed, and
// running out of descriptors.
func driver(mode string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	inner := Config{Bin: self, Server: "http://127.0.0.1:1", Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}}
	switch mode {
	case "driver-hang":
		inner.Env[fakeMode], inner.Env[fakePIDs] = "hang", os.Getenv(fakeArg)
		return drive(inner, 4, 0, farTooLong)
	case "driver-few-files":
		limit, err := strconv.Atoi(os.Getenv(fakeArg))
		if err != nil || limitFiles(limit) != nil {
			return 1
		}
		// No process ends before the descriptors have run out.
		inner.Env[fakeMode], inner.Env[fakeTold] = "answer-when-told", os.Getenv(fakeTold)
		return drive(inner, 100, 3, time.Minute)
	}
	return 64
}

// limitFiles sets this process's limit of open files, whose type differs between systems.
func limitFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = 0
	for range n {
		limit.Cur++
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

// driven is what a driver prints: how often each error kind came, with one message of each.
type driven struct {
	Kinds     map[wire.ErrorKind]int    `json:"kinds"`
	Messages  map[wire.ErrorKind]string `json:"messages"`
	FilesMore int                       `json:"filesMore"`
	AfterAll  string                    `json:"afterAll"`
}

func drive(config Config, vus, iterations int, timeout time.Duration) int {
	c, err := New(config)
	if err != nil {
		return 1
	}
	op := &wire.Operation{Op: wire.OpQuery, Graph: "g", Text: "query q() {}", Timeout: timeout}
	if iterations > 0 {
		// The runtime opens its poller with the first pipe.
		tell()
		if first := c.Do(context.Background(), op); first.Err != nil || os.Remove(os.Getenv(fakeTold)) != nil {
			return 1
		}
	}
	before := openFiles()
	result := driven{Kinds: map[wire.ErrorKind]int{}, Messages: map[wire.ErrorKind]string{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range vus {
		wg.Go(func() {
			// The parent-death signal must hold for any thread that a call comes from, also one that ends.
			runtime.LockOSThread()
			for i := 0; i < iterations || iterations == 0; i++ {
				out := c.Do(context.Background(), op)
				mu.Lock()
				kind := wire.ErrorKind("")
				if out.Err != nil {
					kind = out.Err.Kind
					tell()
					result.Messages[kind] = out.Err.Message
				}
				result.Kinds[kind]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	result.FilesMore = openFiles() - before
	if out := c.Do(context.Background(), op); out.Err != nil {
		result.AfterAll = out.Err.Error()
	}
	text, _ := json.Marshal(result)
	fmt.Println(string(text))
	return 0
}

// tell lets the processes end that wait for it. A folder takes no descriptor.
func tell() { _ = os.Mkdir(os.Getenv(fakeTold), 0o700) }

// openFiles counts this process's descriptors.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
