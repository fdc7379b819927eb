package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

const root = "../.."

var k6 string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "omnigraph-deploy-")
	if err != nil {
		panic(err)
	}
	k6 = filepath.Join(dir, "k6")
	if out, err := exec.Command("go", "build", "-o", k6, "../../cmd/k6").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build k6: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(data)
}

// documents reads all YAML documents of a file.
func documents(t *testing.T, path string) []any {
	t.Helper()
	var all []any
	for d := yaml.NewDecoder(strings.NewReader(text(t, path))); ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, path)
		all = append(all, doc)
	}
}

func testRunSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const file = "deploy/operator/testrun.schema.json"
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text(t, file)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(file, doc))
	schema, err := c.Compile(file)
	require.NoError(t, err)
	return schema
}

// into reads a file of one YAML document as JSON would be read.
func into(t *testing.T, path string, v any) {
	t.Helper()
	docs := documents(t, path)
	require.Len(t, docs, 1, path)
	data, err := json.Marshal(docs[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v), path)
}

// asJSON turns what YAML gives into what a JSON decoder would.
func asJSON(t *testing.T, doc any) any {
	t.Helper()
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return out
}

func testRuns(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy/operator/testrun*.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 2)
	for i, f := range files {
		files[i], err = filepath.Rel(root, f)
		require.NoError(t, err)
	}
	return files
}

func TestTheTestRunsFitTheSchemaOfTheFieldsUsed(t *testing.T) {
	t.Parallel()
	schema := testRunSchema(t)
	for _, file := range testRuns(t) {
		for _, doc := range documents(t, file) {
			assert.NoError(t, schema.Validate(asJSON(t, doc)), file)
		}
	}
}

func TestTheSchemaRefusesWhatTheOperatorWouldNotTake(t *testing.T) {
	t.Parallel()
	schema := testRunSchema(t)
	good := text(t, "deploy/operator/testrun.yaml")
	for name, change := range map[string][2]string{
		"unknown field":           {"  quiet:", "  quite:"},
		"parallelism as a text":   {"parallelism: 4", `parallelism: "4"`},
		"quiet as a boolean":      {`quiet: "true"`, "quiet: true"},
		"no script":               {"  script:\n    localFile: /scripts/mix.js\n", ""},
		"an image without a tag":  {"k6-omnigraph:0.1.0", "k6-omnigraph"},
		"an image tagged latest":  {"k6-omnigraph:0.1.0", "k6-omnigraph:latest"},
		"a number as a variable":  {"        value: \"1\"", "        value: 1"},
		"another kind":            {"kind: TestRun", "kind: K6"},
		"running as root":         {"runAsNonRoot: true", "runAsNonRoot: false"},
		"arguments over lines":    {"arguments: >-", "arguments: |-"},
		"a volume without source": {"        persistentVolumeClaim:\n          claimName: omnigraph-load-results\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(good, change[0], change[1], 1)
			require.NotEqual(t, good, changed)
			var doc any
			require.NoError(t, yaml.Unmarshal([]byte(changed), &doc))
			assert.Error(t, schema.Validate(asJSON(t, doc)))
		})
	}
}

// testRun is what a run in a cluster is made from.
type testRun struct {
	Metadata struct{ Name string }
	Spec     struct {
		Parallelism int
		Script      struct{ LocalFile string }
		Arguments   string
		Runner      struct {
			Env []struct {
				Name, Value string
				ValueFrom   struct{ SecretKeyRef struct{ Name, Key string } }
			}
			VolumeMounts []struct{ MountPath string }
		}
	}
}

func readTestRun(t *testing.T, file string) testRun {
	t.Helper()
	var run testRun
	into(t, file, &run)
	return run
}

func TestTheManifestsAgreeWithImageSecretAndVolume(t *testing.T) {
	t.Parallel()
	var secret struct {
		Metadata   struct{ Name string }
		StringData map[string]string
	}
	into(t, "deploy/operator/secret.yaml", &secret)
	dockerfile := text(t, "deploy/Dockerfile")
	for _, file := range testRuns(t) {
		run := readTestRun(t, file)
		folder, script := filepath.Split(strings.TrimPrefix(run.Spec.Script.LocalFile, "/"))
		assert.FileExists(t, filepath.Join(root, folder, script), file)
		assert.Contains(t, dockerfile, "COPY "+strings.TrimSuffix(folder, "/")+" /", "the script is in the image")
		var results string
		for _, e := range run.Spec.Runner.Env {
			if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
				assert.Equal(t, secret.Metadata.Name, ref.Name, file)
				assert.Contains(t, secret.StringData, ref.Key, file)
			}
			if e.Name == "RESULTS_DIR" {
				results = e.Value
			}
			assert.NotContains(t, strings.ToLower(e.Value), "bearer", "no token stands in a manifest")
		}
		require.NotEmpty(t, results, "%s keeps no record", file)
		assert.Equal(t, run.Spec.Parallelism > 1, strings.Contains(results, "$(POD_NAME)"), "each of several pods has a folder of its own")
		require.NotEmpty(t, run.Spec.Runner.VolumeMounts)
		assert.True(t, strings.HasPrefix(results, run.Spec.Runner.VolumeMounts[0].MountPath+"/"), file)
		assert.Contains(t, run.Spec.Arguments, "--tag instance=$(POD_NAME)", file)
		assert.Contains(t, run.Spec.Arguments, "--tag testid=", file)
		if run.Spec.Parallelism > 1 {
			assert.NotContains(t, text(t, run.Spec.Script.LocalFile), "sequence(", "steps wait for each other within one process only")
		}
	}
}

// inspected does what the operator's initializer does: it archives the script with its arguments and asks what it needs.
func inspected(t *testing.T, args []string) {
	t.Helper()
	tar := filepath.Join(t.TempDir(), "archive.tar")
	out, err := exec.CommandContext(t.Context(), k6, append([]string{"archive", "-O", tar}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	doc, err := exec.CommandContext(t.Context(), k6, "inspect", "--execution-requirements", tar).Output()
	require.NoError(t, err)
	var needs struct{ MaxVUs, TotalDuration any }
	require.NoError(t, json.Unmarshal(doc, &needs), "the operator reads one JSON document: %s", doc)
	assert.NotNil(t, needs.MaxVUs, string(doc))
	assert.NotNil(t, needs.TotalDuration, string(doc))
}

// TestTheMixOfTheManifestRunsInFourProcesses does on this machine what the operator does in a cluster: it inspects
// the script with the manifest's arguments, gives each process its segment, and merges the records.
func TestTheMixOfTheManifestRunsInFourProcesses(t *testing.T) {
	t.Parallel()
	run := readTestRun(t, "deploy/operator/testrun.yaml")
	r := rigtest.Start(t, rigtest.Rows(60))
	results := t.TempDir()
	script, err := filepath.Abs(filepath.Join(root, run.Spec.Script.LocalFile))
	require.NoError(t, err)
	n := run.Spec.Parallelism
	require.Equal(t, 4, n)
	var writers []string // as the secret has: of as many actors as there are pods
	for _, actor := range []string{"act-load", "act-load-2", "act-load-3", "act-load-4"} {
		require.NotEmpty(t, r.Tokens[actor])
		writers = append(writers, r.Tokens[actor])
	}
	ends := []string{"0"}
	for i := 1; i <= n; i++ {
		ends = append(ends, fmt.Sprintf("%d/%d", i, n))
	}
	ends[n] = "1"
	var wg sync.WaitGroup
	outputs := make([]string, n)
	for i := range n {
		pod := fmt.Sprintf("omnigraph-mix-%d", i+1)
		expand := strings.NewReplacer("$(POD_NAME)", pod).Replace
		args := []string{"--quiet", "--no-color"}
		fields := strings.Fields(expand(run.Spec.Arguments))
		for j := 0; j+1 < len(fields); j += 2 {
			if fields[j] != "--out" { // no Prometheus is here
				args = append(args, fields[j], fields[j+1])
			}
		}
		// The same rate and time in small.
		args = append(args, "-e", "RATE=8", "-e", "DURATION=3s", "-e", "MAX_VUS=16")
		if i == 0 {
			inspected(t, append(args, script))
		}
		args = append(args, "--execution-segment", ends[i]+":"+ends[i+1], "--execution-segment-sequence", strings.Join(ends, ","))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, k6, append(append([]string{"run", "--no-usage-report"}, args...), script)...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "OMNIGRAPH_TOKEN="+r.Token, "OMNIGRAPH_TOKENS="+strings.Join(writers, ","))
		for _, e := range run.Spec.Runner.Env {
			switch {
			case e.Name == "OMNIGRAPH_URI":
				cmd.Env = append(cmd.Env, "OMNIGRAPH_URI="+r.URL)
			case e.Value != "":
				cmd.Env = append(cmd.Env, e.Name+"="+strings.Replace(expand(e.Value), run.Spec.Runner.VolumeMounts[0].MountPath, results, 1))
			}
		}
		wg.Go(func() {
			var exit *exec.ExitError
			if out, err := cmd.CombinedOutput(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 99) {
				outputs[i] = fmt.Sprintf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	for i, out := range outputs {
		require.Empty(t, out, "pod %d", i+1)
	}
	files, err := filepath.Glob(filepath.Join(results, run.Metadata.Name, "*", "record.json"))
	require.NoError(t, err)
	require.Len(t, files, n, "a record of every pod")
	var records []*recorder.Record
	for _, f := range files {
		rec, err := recorder.Read(f)
		require.NoError(t, err)
		records = append(records, rec)
	}
	merged, err := recorder.Merge(records...)
	require.NoError(t, err)
	assert.Len(t, merged.MergedFrom, n)
	for _, reason := range merged.Reasons {
		assert.NotEqual(t, "identity_mismatch", reason.Code, reason.Text)
	}
	html := filepath.Join(t.TempDir(), "report.html")
	out, err := exec.CommandContext(t.Context(), k6, append([]string{"x", "omnigraph", "report", "-o", html}, files...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.FileExists(t, html)
	assert.Contains(t, text(t, "deploy/operator/collect.yaml"), "k6 x omnigraph report -o /results/"+run.Metadata.Name)
}

// withNothing runs k6 without any environment, as an operator's initializer does, and gives what it printed.
func withNothing(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), k6, args...)
	cmd.Env = []string{}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "k6 %s: %s", strings.Join(args, " "), stderr.String())
	return out
}

func TestEveryScriptIsInspectedAndArchivedWithoutAnyEnvironment(t *testing.T) {
	t.Parallel()
	var scripts []string
	for _, pattern := range []string{"smoke.js", "scripts/*.js", "examples/*.js", "deploy/cloud/*.js", "test/*.test.js", "test/*/*.js", "dashboards/generate/testdata/*.js"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		scripts = append(scripts, found...)
	}
	for _, script := range scripts {
		t.Run(strings.TrimPrefix(script, root+"/"), func(t *testing.T) {
			t.Parallel()
			tar := filepath.Join(t.TempDir(), "archive.tar")
			assert.Empty(t, withNothing(t, "archive", "-O", tar, script), "nothing is printed beside the archive")
			for _, of := range []string{script, tar} {
				var options, more map[string]any
				d := json.NewDecoder(bytes.NewReader(withNothing(t, "inspect", of)))
				require.NoError(t, d.Decode(&options), "the operator reads one JSON document")
				assert.ErrorIs(t, d.Decode(&more), io.EOF, "and no more than that")
			}
		})
	}
}

func TestTheCloudScriptsRunHereFromTheirArchive(t *testing.T) {
	t.Parallel()
	r := rigtest.Start(t, rigtest.Rows(5))
	for _, script := range []string{"local-execution.js", "http-only.js"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			tar := filepath.Join(t.TempDir(), "archive.tar")
			withNothing(t, "archive", "-O", tar, "-e", "VUS=1", "-e", "DURATION=1s", filepath.Join(root, "deploy/cloud", script))
			cmd := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", "--no-thresholds", tar)
			cmd.Env = append(os.Environ(), "OMNIGRAPH_URI="+r.URL, "OMNIGRAPH_GRAPH="+r.Graph, "OMNIGRAPH_TOKEN="+r.Token)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Regexp(t, `checks_succeeded\.*: 100\.00%`, string(out))
		})
	}
	assert.NotContains(t, text(t, "deploy/cloud/http-only.js"), "k6/x/", "the cloud's own generators lack extensions")
}

func TestTheImageIsPinnedInitedAndWithoutRoot(t *testing.T) {
	t.Parallel()
	dockerfile := text(t, "deploy/Dockerfile")
	froms := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(dockerfile, -1)
	require.Len(t, froms, 3)
	for _, from := range froms {
		if from[1] != "${OMNIGRAPH_IMAGE}" { // given as a whole
			assert.Regexp(t, `^[a-z]+:\$\{[A-Z_]+\}@\$\{[A-Z_]+DIGEST\}$`, from[1])
		}
	}
	assert.NotContains(t, dockerfile, ":latest")
	for _, arg := range regexp.MustCompile(`\$\{([A-Z_0-9]+)\}`).FindAllStringSubmatch(dockerfile, -1) {
		assert.Regexp(t, `(?m)^ARG `+arg[1]+`\b`, dockerfile)
	}
	users := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(dockerfile)
	require.NotNil(t, users, "a numeric user, which runAsNonRoot can check")
	assert.NotEqual(t, "0", users[1])
	for _, manifest := range testRuns(t) {
		assert.Contains(t, text(t, manifest), "runAsUser: "+users[1])
	}
	for _, copied := range regexp.MustCompile(`(?m)^COPY (?:--chmod=\S+ )?([a-z][^ ]*) `).FindAllStringSubmatch(dockerfile, -1) {
		_, err := os.Stat(filepath.Join(root, copied[1]))
		assert.NoError(t, err, "copied into the image")
	}
	wrapper := text(t, "deploy/k6.sh")
	assert.Contains(t, wrapper, "tini -s -- /usr/local/libexec/k6")
	assert.Contains(t, dockerfile, "/build/k6 /usr/local/libexec/k6")
	assert.Contains(t, dockerfile, "ARG K6_VERSION="+requiredK6(t), "the k6 that go.mod requires")
	assert.Contains(t, dockerfile, "GOWORK=off xk6 build")
}

func requiredK6(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`go\.k6\.io/k6/v2 (v\S+)`).FindStringSubmatch(text(t, "go.mod"))
	require.NotNil(t, m)
	return m[1]
}

func TestComposeMountsWhatIsThere(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Image     string
			Command   []string
			Volumes   []string
			DependsOn []string `json:"depends_on"`
			Ports     []string
			Build     struct {
				Context, Dockerfile string
				Args                map[string]string
			}
		}
		Volumes map[string]any
	}
	into(t, "deploy/compose.yaml", &compose)
	made := map[string]bool{"./rig": true, "../results": true} // by the steps in deploy/README.md, and by runs
	for _, name := range []string{"server", "prometheus", "grafana", "k6"} {
		service, ok := compose.Services[name]
		require.True(t, ok, name)
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(source, ".") {
				assert.Contains(t, compose.Volumes, source)
				continue
			}
			if !made[source] {
				_, err := os.Stat(filepath.Join(root, "deploy", source))
				assert.NoError(t, err, "%s mounts %s", name, source)
			}
		}
		for _, other := range service.DependsOn {
			assert.Contains(t, compose.Services, other)
		}
		for _, port := range service.Ports {
			assert.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s is open to other machines: %s", name, port)
		}
		if name != "k6" {
			assert.Regexp(t, `^\$\{[A-Z_]+:\?.*digest.*\}$`, service.Image, "pinned by whoever runs it")
		}
	}
	assert.FileExists(t, filepath.Join(root, "deploy", compose.Services["k6"].Build.Context, compose.Services["k6"].Build.Dockerfile))
	for arg := range compose.Services["k6"].Build.Args {
		assert.Regexp(t, `(?m)^ARG `+arg+`$`, text(t, "deploy/Dockerfile"))
	}
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	into(t, "deploy/grafana/provisioning/datasources/prometheus.yaml", &sources)
	require.Len(t, sources.Datasources, 1)
	assert.Equal(t, "prometheus", sources.Datasources[0].Type)
	assert.Equal(t, "http://prometheus:9090", sources.Datasources[0].URL)
	assert.Contains(t, strings.Join(compose.Services["grafana"].Volumes, " "), "/var/lib/dashboards")
	assert.Contains(t, text(t, "deploy/grafana/provisioning/dashboards/omnigraph.yaml"), "path: /var/lib/dashboards")
}

// TestTheServiceOfTheServerServesTheRig starts the server as the compose file says, on a rig that was stopped, and runs a
// script with the environment of the compose file's k6.
func TestTheServiceOfTheServerServesTheRig(t *testing.T) {
	t.Parallel()
	r := rigtest.Start(t, rigtest.Rows(5))
	require.NoError(t, r.Server.Stop())
	var compose struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
		}
	}
	into(t, "deploy/compose.yaml", &compose)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	here := strings.NewReplacer("/cluster", r.Dir(), "0.0.0.0:8080", address, "server:8080", address).Replace

	service := compose.Services["server"]
	require.Equal(t, "omnigraph-server", service.Command[0])
	ctx, cancel := context.WithCancel(t.Context())
	args := make([]string, 0, len(service.Command))
	for _, arg := range service.Command[1:] {
		args = append(args, here(arg))
	}
	server := exec.CommandContext(ctx, r.ServerBin, args...)
	server.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range service.Environment {
		server.Env = append(server.Env, name+"="+here(value))
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	require.NoError(t, err)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		cancel()
		_ = server.Wait()
		_ = log.Close()
	})
	for deadline := time.Now().Add(2 * time.Minute); ; {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			require.NoError(t, conn.Close())
			break
		}
		require.True(t, time.Now().Before(deadline), "the server did not come up: %v", err)
		time.Sleep(50 * time.Millisecond)
	}

	script, err := filepath.Abs(filepath.Join(root, "examples/compare.js"))
	require.NoError(t, err)
	load := exec.CommandContext(t.Context(), k6, "run", "--quiet", "--no-usage-report", script)
	load.Dir = t.TempDir()
	load.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + load.Dir, "OMNIGRAPH_BIN=" + r.Bin}
	for name, value := range compose.Services["k6"].Environment {
		if !strings.Contains(value, "${") {
			load.Env = append(load.Env, name+"="+here(value))
		}
		if name == "OMNIGRAPH_STORE" {
			assert.DirExists(t, here(value))
		}
	}
	load.Env = append(load.Env, "OMNIGRAPH_TOKEN="+r.Token) // as `jq` takes it out of tokens.json
	out, err := load.CombinedOutput()
	said, _ := os.ReadFile(log.Name())
	require.NoError(t, err, "%s\n%s", out, said)
}
