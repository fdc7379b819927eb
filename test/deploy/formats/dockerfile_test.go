package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

const (
	root       = "../../.."
	dockerfile = root + "/deploy/Dockerfile"
)

// digest is one that a user would give.
const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// image is the Dockerfile as BuildKit reads it.
type image struct {
	stages []instructions.Stage
	args   []instructions.ArgCommand
	lint   []string
}

func readImage(t *testing.T) image {
	t.Helper()
	data, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		t.Errorf("%s", w.Short)
	}
	var i image
	rules := linter.New(&linter.Config{Warn: func(rule, _, _, message string, at []parser.Range) {
		i.lint = append(i.lint, fmt.Sprintf("%s: %s %v", rule, message, at))
	}})
	i.stages, i.args, err = instructions.Parse(parsed.AST, rules)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// commands are a stage's instructions of one kind.
func commands[C instructions.Command](s instructions.Stage) []C {
	var all []C
	for _, c := range s.Commands {
		if command, ok := c.(C); ok {
			all = append(all, command)
		}
	}
	return all
}

func (i image) final() instructions.Stage { return i.stages[len(i.stages)-1] }

// base is what a stage begins with, for values of the arguments that a user gives.
func (i image) base(t *testing.T, s instructions.Stage, given ...string) string {
	t.Helper()
	var env []string
	for _, command := range i.args {
		for _, a := range command.Args {
			at := slices.IndexFunc(given, func(g string) bool { return strings.HasPrefix(g, a.Key+"=") })
			switch {
			case at >= 0:
				env = append(env, given[at])
			case a.Value != nil:
				env = append(env, a.Key+"="+*a.Value)
			}
		}
	}
	name, unmatched, err := shell.NewLex('\\').ProcessWord(s.BaseName, shell.EnvsFromSlice(env))
	if err != nil {
		t.Fatal(err)
	}
	for u := range unmatched {
		name += "(no " + u + ")"
	}
	return name
}

func TestBuildKitReadsTheDockerfileWithoutAComplaint(t *testing.T) {
	for _, complaint := range readImage(t).lint {
		t.Error(complaint)
	}
}

func TestEveryStageIsPinnedByADigestThatTheUserGives(t *testing.T) {
	i := readImage(t)
	given := []string{"GO_DIGEST=" + digest, "DEBIAN_DIGEST=" + digest, "OMNIGRAPH_IMAGE=registry.example/omnigraph@" + digest}
	for n, s := range i.stages {
		name := i.base(t, s, given...)
		ref, err := reference.ParseNormalizedNamed(name)
		if err != nil {
			t.Errorf("stage %d begins with %q: %v", n, name, err)
			continue
		}
		if _, ok := ref.(reference.Digested); !ok {
			t.Errorf("stage %d begins with %s, which has no digest", n, name)
		}
		// A digest that was forgotten is an error of the build, not an image that nobody pinned.
		name = i.base(t, s)
		if _, err := reference.ParseNormalizedNamed(name); err == nil && name != "" {
			t.Errorf("stage %d begins with %s when no digest is given", n, name)
		}
	}
}

func ignored(t *testing.T) *patternmatcher.PatternMatcher {
	t.Helper()
	f, err := os.Open(dockerfile + ".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatIsCopiedIsThereAndInTheContext(t *testing.T) {
	i := readImage(t)
	ignore := ignored(t)
	var names []string
	for _, s := range i.stages {
		for _, c := range commands[*instructions.CopyCommand](s) {
			if c.From != "" {
				if !slices.Contains(names, c.From) {
					t.Errorf("COPY --from=%s: no stage before this one is called so", c.From)
				}
				continue
			}
			for _, source := range c.SourcePaths {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					t.Errorf("COPY %s: %v", source, err)
				}
				out, err := ignore.MatchesOrParentMatches(source)
				if err != nil || out {
					t.Errorf("COPY %s: the context is without it (%v)", source, err)
				}
			}
		}
		if len(commands[*instructions.AddCommand](s)) > 0 {
			t.Error("ADD fetches and unpacks what nobody looked at")
		}
		names = append(names, s.Name)
	}
}

// goFiles are the sources and embedded files of the extension, which xk6 build compiles in the image.
func goFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, ".")
	cmd.Dir = root
	work, err := filepath.Abs(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "GOWORK="+work)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"go.mod", "go.sum"}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if rel, err := filepath.Rel(top, lines.Text()); err == nil && lines.Text() != "" && !strings.HasPrefix(rel, "host/") {
			files = append(files, rel)
		}
	}
	return files
}

func TestTheContextHasWhatTheExtensionIsCompiledFrom(t *testing.T) {
	ignore := ignored(t)
	files := goFiles(t)
	if len(files) < 50 {
		t.Fatalf("only %d files: %v", len(files), files)
	}
	for _, f := range files {
		if out, err := ignore.MatchesOrParentMatches(f); err != nil || out {
			t.Errorf("the context is without %s (%v)", f, err)
		}
	}
	for _, f := range []string{".git/config", "bin/k6", "results/spike/record.json", "deploy/.env", "deploy/rig/tokens.json", "scripts/scripts_test.go"} {
		if out, err := ignore.MatchesOrParentMatches(f); err != nil || !out {
			t.Errorf("the context has %s (%v)", f, err)
		}
	}
}

func TestTheImageRunsWithoutRootBehindAnInit(t *testing.T) {
	final := readImage(t).final()
	users := commands[*instructions.UserCommand](final)
	if len(users) != 1 {
		t.Fatalf("%d USER instructions", len(users))
	}
	for id := range strings.SplitSeq(users[0].User, ":") {
		if n, err := strconv.Atoi(id); err != nil || n < 1000 {
			t.Errorf("USER %s: runAsNonRoot takes numbers only", users[0].User)
		}
	}
	entry := commands[*instructions.EntrypointCommand](final)
	if len(entry) != 1 || entry[0].PrependShell || !slices.Equal(entry[0].CmdLine, []string{"/usr/local/bin/k6"}) {
		t.Errorf("ENTRYPOINT %v: k6 gets the signals itself, through the init", entry)
	}
	var installed, copied []string
	for _, c := range commands[*instructions.RunCommand](final) {
		installed = append(installed, strings.Fields(strings.Join(c.CmdLine, " "))...)
	}
	if !slices.Contains(installed, "tini") || !slices.Contains(installed, "ca-certificates") {
		t.Errorf("installed are %v", installed)
	}
	for _, c := range commands[*instructions.CopyCommand](final) {
		copied = append(copied, c.DestPath)
		if c.DestPath == "/usr/local/bin/k6" && c.Chmod != "0755" {
			t.Errorf("COPY --chmod=%s: the wrapper has to be executable wherever it was checked out", c.Chmod)
		}
	}
	wrapper, err := os.ReadFile(root + "/deploy/k6.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"/usr/local/bin/k6", "/usr/local/libexec/k6", "/usr/local/bin/omnigraph", "/scripts"} {
		if !slices.Contains(copied, place) {
			t.Errorf("nothing is copied to %s: %v", place, copied)
		}
	}
	if !strings.Contains(string(wrapper), "\nexec /usr/bin/tini -s -- /usr/local/libexec/k6 \"$@\"\n") {
		t.Errorf("the wrapper starts something else: %s", wrapper)
	}
}

func TestNoSecretGetsIntoALayer(t *testing.T) {
	i := readImage(t)
	secret := func(what, key string) {
		for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "KEY"} {
			if strings.Contains(strings.ToUpper(key), word) {
				t.Errorf("%s %s stays readable in the image", what, key)
			}
		}
	}
	for _, s := range i.stages {
		for _, c := range commands[*instructions.EnvCommand](s) {
			for _, pair := range c.Env {
				secret("ENV", pair.Key)
			}
		}
		for _, c := range commands[*instructions.ArgCommand](s) {
			for _, a := range c.Args {
				secret("ARG", a.Key)
			}
		}
	}
}
