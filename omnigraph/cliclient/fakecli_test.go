package cliclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"
	"github.com/stretchr/testify/require"
)

// The test binary is its own fake CLI: started with fakeMode set, it behaves as that mode says.
const (
	fakeMode = "FAKE_CLI_MODE"
	fakePIDs = "FAKE_CLI_PIDS" // A file to which every process of the fake appends its id.
	fakeArg  = "FAKE_CLI_ARG"
	fakeTold = "FAKE_CLI_TOLD" // A file or folder whose appearance tells the fake to go on.
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fakeCLI(mode))
	}
	os.Exit(leaks.Run(m))
}

const (
	answerText = `{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":1,"columns":["m.slug"],"rows":[{"m.slug":"mem-0001"}]}`
	reportText = "\x1b[31mError:\x1b[0m \n   0: \x1b[91m%s\x1b[0m\n\nLocation:\n   \x1b[35m/home/b/.cargo/registry/src/index-1949/omnigraph-cli-0.8.0/src/helpers.rs\x1b[0m:436\n"
	farTooLong = 10 * time.Minute
	// patience is how long something that must happen is waited for; only a failure takes all of it.
	patience = 50 * time.Second
	// burnt is the CPU time that the mode burn takes.
	burnt = 150 * time.Millisecond
)

// fakeCLI acts out one mode and gives the exit code.
func fakeCLI(mode string) int {
	notePID()
	switch mode {
	case "answer":
		fmt.Println(answerText)
	case "version":
		fmt.Println("omnigraph 9.9.9")
	case "mirror":
		mirror()
	case "garbage":
		fmt.Print("\x00\xff\xfe{{{ not json")
	case "truncated":
		fmt.Print(answerText[:len(answerText)/2])
	case "silent":
	case "half-error":
		fmt.Println(`{"error":"all is lost","code":"internal"}`)
	case "hang":
		time.Sleep(farTooLong)
	case "hang-after-answer":
		fmt.Println(answerText)
		time.Sleep(farTooLong)
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		time.Sleep(farTooLong)
	case "hold":
		startFake("hang")
		fmt.Println(answerText)
	case "hold-silent":
		startFake("hang")
	case "hold-stderr":
		startFakeWith("hang", nil, os.Stderr)
		fmt.Println(answerText)
	case "orphan":
		startFakeDetachedOutput("hang")
		fmt.Println(answerText)
	case "flood":
		flood(os.Stdout)
	case "flood-stderr":
		flood(os.Stderr)
	case "chatty":
		_, _ = io.Copy(os.Stderr, io.LimitReader(endless{}, 3<<20))
		fmt.Println(answerText)
	case "kill-self":
		n, _ := strconv.Atoi(os.Getenv(fakeArg))
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		time.Sleep(farTooLong)
	case "report":
		code, message, _ := strings.Cut(os.Getenv(fakeArg), " ")
		fmt.Fprintf(os.Stderr, reportText, message)
		n, _ := strconv.Atoi(code)
		return n
	case "long-report":
		fmt.Fprintf(os.Stderr, reportText, os.Getenv(fakeArg))
		_, _ = io.Copy(os.Stderr, io.LimitReader(endless{}, 3<<20))
		return 1
	case "document":
		code, doc, _ := strings.Cut(os.Getenv(fakeArg), " ")
		fmt.Println(doc)
		n, _ := strconv.Atoi(code)
		return n
	case "memory":
		mb, _ := strconv.Atoi(os.Getenv(fakeArg))
		used := bytes.Repeat([]byte{1}, mb<<20)
		// More than the pipe and the reader's buffer take: the process is still there when the reader has had the beginning.
		fmt.Println(answerText + strings.Repeat(" ", 1<<20))
		return int(used[len(used)-1]) - 1
	case "burn":
		var usage syscall.Rusage
		for usage.Utime.Nano()+usage.Stime.Nano() < burnt.Nanoseconds() {
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
				return 1
			}
		}
		fmt.Println(answerText)
	case "answer-when-told":
		if !awaitFile(os.Getenv(fakeTold)) {
			return 1
		}
		fmt.Println(answerText)
	case "stored":
		return stored()
	default:
		return driver(mode)
	}
	return 0
}

func notePID() {
	path := os.Getenv(fakePIDs)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, os.Getpid())
		_ = f.Close()
	}
}

func fakeCommand(mode string) *exec.Cmd {
	self, _ := os.Executable()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeMode+"="+mode)
	return cmd
}

// startFake starts a further process that inherits the output, and does not wait for it.
func startFake(mode string) { startFakeWith(mode, os.Stdout, os.Stderr) }

func startFakeWith(mode string, stdout, stderr io.Writer) {
	cmd := fakeCommand(mode)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	_ = cmd.Start()
	awaitPIDs(os.Getenv(fakePIDs), 2)
}

func startFakeDetachedOutput(mode string) {
	_ = fakeCommand(mode).Start()
	awaitPIDs(os.Getenv(fakePIDs), 2)
}

// awaitPIDs waits until n processes have written their ids, and gives them.
func awaitPIDs(path string, n int) []int {
	for end := time.Now().Add(patience); path != "" && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if pids := notedPIDs(path); len(pids) >= n {
			return pids
		}
	}
	return nil
}

// notedPIDs gives the processes that have written their ids so far.
func notedPIDs(path string) []int {
	text, _ := os.ReadFile(path)
	var pids []int
	for id := range strings.FieldsSeq(string(text)) {
		pid, _ := strconv.Atoi(id)
		pids = append(pids, pid)
	}
	return pids
}

// awaitFile waits until there is something of that name.
func awaitFile(path string) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// whenAsked is a context that does something each time somebody is about to wait for its end.
type whenAsked struct {
	context.Context
	asked func()
}

func (w whenAsked) Done() <-chan struct{} {
	w.asked()
	return w.Context.Done()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func flood(w io.Writer) { _, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30)) }

// reflection is what the mirror mode answers in its only row.
type reflection struct {
	Args     []string          `json:"args"`
	Env      []string          `json:"env"`
	Files    map[string][]byte `json:"files"`
	Modes    map[string]string `json:"modes"`
	HomeMode string            `json:"homeMode"`
	HomeList []string          `json:"homeList"`
	Stdin    string            `json:"stdin"`
	Group    bool              `json:"group"`
}

// mirror answers a query with all that the process was given.
func mirror() {
	r := reflection{Args: os.Args[1:], Env: os.Environ(), Files: map[string][]byte{}, Modes: map[string]string{}}
	for i, arg := range r.Args {
		if i > 0 && (r.Args[i-1] == "--query" || r.Args[i-1] == "--params-file" || r.Args[i-1] == "--data") {
			r.Files[r.Args[i-1]], _ = os.ReadFile(arg)
			if info, err := os.Stat(arg); err == nil {
				r.Modes[r.Args[i-1]] = info.Mode().String()
			}
			if info, err := os.Stat(filepath.Dir(arg)); err == nil {
				r.Modes["folder"] = info.Mode().String()
			}
		}
	}
	if info, err := os.Stat(os.Getenv(envHome)); err == nil {
		r.HomeMode = info.Mode().String()
	}
	entries, _ := os.ReadDir(os.Getenv(envHome))
	for _, e := range entries {
		r.HomeList = append(r.HomeList, e.Name())
	}
	stdin, err := io.ReadAll(os.Stdin)
	r.Stdin = fmt.Sprintf("%q %v", stdin, err)
	group, _ := syscall.Getpgid(0)
	r.Group = group == os.Getpid()
	row, _ := json.Marshal(r)
	fmt.Printf(`{"row_count":1,"columns":["mirror"],"rows":[%s]}`, row)
}

// stored acts like the CLI on the catalog: `writes` is a mutation, everything else a read.
func stored() int {
	command, name := os.Args[1], os.Args[len(os.Args)-1]
	switch {
	case command == "query" && name == "writes":
		fmt.Fprintf(os.Stderr, reportText, "'writes' is a mutation — use omnigraph mutate writes")
		return 1
	case command == "mutate" && name != "writes":
		fmt.Fprintf(os.Stderr, reportText, "'"+name+"' is a read — use omnigraph query "+name)
		return 1
	case command == "mutate":
		fmt.Println(`{"branch":"main","query_name":"writes","affected_nodes":1,"affected_edges":0,"actor_id":"act"}`)
	default:
		fmt.Println(answerText)
	}
	return 0
}

// fake makes a client whose CLI is the test binary in a mode.
func fake(t testing.TB, mode string, change ...func(*Config)) *Client {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	config := Config{
		Bin:    self,
		Server: "http://127.0.0.1:1",
		Store:  "graphs/council.omni",
		Token:  "token-of-the-test",
		// The race detector lets every program sleep for a second at its end, unless told otherwise.
		Env: map[string]string{fakeMode: mode, "GORACE": "atexit_sleep_ms=0"},
	}
	for _, f := range change {
		f(&config)
	}
	c, err := New(config)
	require.NoError(t, err)
	return c
}

func withEnv(name, value string) func(*Config) { return func(c *Config) { c.Env[name] = value } }

func withArg(value string) func(*Config) { return withEnv(fakeArg, value) }
