package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/lib/fsext"
)

// script makes a process that runs the script, quietly, with further arguments.
func script(t *testing.T, source string, args ...string) *process {
	t.Helper()
	p := newProcess(t, append([]string{"run", "-q", "/test/script.js"}, args...)...)
	p.write(t, "/test/script.js", source)
	return p
}

func (p *process) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, fsext.WriteFile(p.gs.FS, name, []byte(content), 0o600))
}

func (p *process) read(t *testing.T, name string) string {
	t.Helper()
	data, err := fsext.ReadFile(p.gs.FS, name)
	require.NoError(t, err)
	return string(data)
}

const emptyScript = `export default function () {}`

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		args   []string
		env    map[string]string
		code   int
		says   string // on stderr
	}{
		"all is well":             {script: emptyScript},
		"iterations throw":        {script: `export default function () { throw new Error('boom') }`, says: `Error: boom\n\tat default (file:///test/script.js:1:`},
		"crossed threshold":       {script: `export const options = {thresholds: {iterations: ['count>1']}}; ` + emptyScript, code: 99, says: "thresholds on metrics 'iterations' have been crossed"},
		"thresholds are off":      {script: `export const options = {thresholds: {iterations: ['count>1']}}; ` + emptyScript, args: []string{"--no-thresholds"}},
		"setup takes too long":    {script: `import { sleep } from 'k6'; export const options = {setupTimeout: '10ms'}; export function setup() { sleep(9) }; ` + emptyScript, code: 100, says: "setup() execution timed out"},
		"teardown takes too long": {script: `import { sleep } from 'k6'; export const options = {teardownTimeout: '10ms'}; export function teardown() { sleep(9) }; ` + emptyScript, code: 101, says: "teardown() execution timed out"},
		"no default function":     {script: `export function other() {}`, code: 104, says: `There were problems with the specified script configuration:\n\t- executor default: function 'default' not found in exports`},
		"bad threshold":           {script: `export const options = {thresholds: {iterations: ['avg<1']}}; ` + emptyScript, code: 104, says: "unsupported aggregation method avg on metric of type counter. supported aggregation methods for this metric are: count, rate"},
		"bad scenario":            {script: `export const options = {scenarios: {a: {executor: 'constant-vus', vus: 0}}}; ` + emptyScript, code: 104, says: `- scenario a has configuration errors: the number of VUs must be more than 0, the duration is unspecified`},
		"two kinds of load":       {script: `export const options = {iterations: 1, stages: [{duration: '1s', target: 1}]}; ` + emptyScript, code: 104, says: "using `iterations` and `stages` options simultaneously is not allowed"},
		"bad variable":            {script: emptyScript, env: map[string]string{"K6_VUS": "abc"}, code: 104, says: "envconfig.Process: assigning K6_VUS to VUs: converting 'abc' to type null.Int."},
		"script throws at once":   {script: `throw new Error('boom'); ` + emptyScript, code: 107, says: "boom"},
		"unknown module":          {script: `import 'k6/x/nothing'; ` + emptyScript, code: 107, says: `unknown modules [\"k6/x/nothing\"]`},
		"abort":                   {script: `import exec from 'k6/execution'; export default function () { exec.test.abort('why') }`, code: 108, says: "test aborted: why"},
		"abort at once":           {script: `import exec from 'k6/execution'; exec.test.abort('why'); ` + emptyScript, code: 108, says: "test aborted: why"},
		"marked as failed":        {script: `import exec from 'k6/execution'; export default function () { exec.test.fail('why') }`, code: 110, says: "test run was marked as failed"},
		"unknown flag":            {script: emptyScript, args: []string{"--frob"}, code: 255, says: "unknown flag: --frob"},
		"unknown output":          {script: emptyScript, args: []string{"--out", "zz"}, code: 255, says: "invalid output type 'zz', available types are: csv, "},
		"foreign output":          {script: emptyScript, args: []string{"--out", "cloud"}, code: 255, says: "the real k6 has it"},
		"nothing exported":        {script: `export const x = 1`, code: 255, says: "no exported functions in script"},
		"setup is no function":    {script: `export const setup = 1; ` + emptyScript, code: 255, says: "setup"},
		"paused":                  {script: emptyScript, args: []string{"--paused"}, code: 104, says: "the real k6 has it"},
		"segment out of sequence": {script: emptyScript, args: []string{"--execution-segment", "0:1/3", "--execution-segment-sequence", "0,1/2,1"}, code: 104, says: "sequence"},
		"taken address":           {script: emptyScript, args: []string{"--address", "192.0.2.1:1"}, code: 106, says: "REST API"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, tc.script, tc.args...)
			for key, value := range tc.env {
				p.gs.Env[key] = value
			}
			assert.Equal(t, tc.code, p.run(), p.stderr.String())
			assert.Contains(t, p.stderr.String(), tc.says)
		})
	}
}

func TestPanicInAModuleEndsTheTestWithItsSummary(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"iteration": `export default function () { panics.now() }`,
		"setup":     `export function setup() { panics.now() } export default function () {}`,
		"init":      `if (__VU > 0) panics.now(); export default function () {}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, `import panics from 'k6/x/panics'; `+source+
				`; export function handleSummary() { return {stdout: 'the summary'} }`)
			assert.Equal(t, 109, p.run())
			assert.Contains(t, p.stderr.String(), "a fault in the module")
			if name == "iteration" {
				assert.Equal(t, "the summary", strings.TrimSpace(p.stdout.String()))
			}
		})
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	p := script(t, `export const options = {tags: {a: 'script', b: 'script'}};
		export default function () {} export function handleSummary() { return {stdout: JSON.stringify(options.tags)} }`,
		"--features", "merge-run-tags", "--tag", "b=flag")
	require.Zero(t, p.run(), p.stderr.String())
	assert.JSONEq(t, `{"a": "script", "b": "flag"}`, p.stdout.String())

	p = script(t, emptyScript, "--features", "frost")
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stderr.String(), "freeze-env, merge-run-tags, native-histograms")
}

func TestFeaturesInOptions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		features, config, want string
		args                   []string
		code                   int
	}{
		"of the script":             {features: `['merge-run-tags']`, want: `{"a": "script", "b": "flag"}`},
		"of the config file":        {features: `undefined`, config: `{"features": ["merge-run-tags"]}`, want: `{"a": "script", "b": "flag"}`},
		"the script wins":           {features: `['freeze-env']`, config: `{"features": ["merge-run-tags"]}`, want: `{"b": "flag"}`},
		"the command line wins":     {features: `['merge-run-tags']`, args: []string{"--features", "freeze-env"}, want: `{"b": "flag"}`},
		"one that there is not":     {features: `['frost']`, code: 104},
		"another that there is not": {features: `undefined`, config: `{"features": ["frost"]}`, code: 104},
		"no list":                   {features: `'freeze-env'`, code: 104},
		"none":                      {features: `[]`, want: `{"b": "flag"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, `export const options = {features: `+tc.features+`, tags: {a: 'script', b: 'script'}};
				export default function () {} export function handleSummary() { return {stdout: JSON.stringify(options.tags)} }`,
				append([]string{"--tag", "b=flag", "-c", "/test/config.json"}, tc.args...)...)
			p.write(t, "/test/config.json", cmp.Or(tc.config, "{}"))
			require.Equal(t, tc.code, p.run(), p.stderr.String())
			if tc.want != "" {
				assert.JSONEq(t, tc.want, p.stdout.String())
			}
		})
	}
}

func TestMissingScript(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "run", "-q", "nowhere.js")
	assert.Equal(t, 255, p.run())
	assert.Contains(t, p.stderr.String(), `The moduleSpecifier \"nowhere.js\" couldn't be found on local disk.`)
}

func TestLayersOfOptions(t *testing.T) {
	t.Parallel()
	const showOptions = `
		export const options = {vus: 2, iterations: 2, userAgent: 'script', batch: 2, rps: 2, tags: {from: 'script'}};
		export default function () {}
		export function handleSummary() {
			return {'/test/options.json': JSON.stringify(options)};
		}`
	p := script(t, showOptions, "-c", "/test/config.json", "--user-agent", "flag", "--tag", "by=flag")
	p.write(t, "/test/config.json", `{"vus": 9, "userAgent": "file", "batch": 1, "rps": 1, "maxRedirects": 1}`)
	p.gs.Env = map[string]string{"K6_USER_AGENT": "env", "K6_BATCH": "3", "K6_ITERATIONS": "3"}
	require.Zero(t, p.run(), p.stderr.String())
	var got struct {
		VUs, Iterations, Batch, RPS, MaxRedirects int
		UserAgent                                 string
		Tags                                      map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(p.read(t, "/test/options.json")), &got))
	assert.Equal(t, []int{2, 3, 3, 2, 1}, []int{got.VUs, got.Iterations, got.Batch, got.RPS, got.MaxRedirects})
	assert.Equal(t, "flag", got.UserAgent)
	assert.Equal(t, map[string]string{"by": "flag"}, got.Tags, "tags are replaced, not merged")
}

func TestLaterLayersDropScenariosWithAWarning(t *testing.T) {
	t.Parallel()
	const source = `export const options = {scenarios: {mine: {executor: 'per-vu-iterations', exec: 'mine'}}};
		export function mine() { console.log('mine ran') } export default function () { console.log('default ran') }`
	for name, layer := range map[string]func(*process){
		"cli": func(p *process) { p.gs.CmdArgs = append(p.gs.CmdArgs, "-i", "1") },
		"env": func(p *process) { p.gs.Env["K6_ITERATIONS"] = "1" },
	} {
		p := script(t, source)
		layer(p)
		require.Zero(t, p.run())
		assert.Contains(t, p.stderr.String(), name)
		assert.Contains(t, p.stderr.String(), "overrode scenarios configuration entirely")
		assert.Contains(t, p.stderr.String(), "default ran")
		assert.NotContains(t, p.stderr.String(), "mine ran")
	}
}

func TestBannerAndProgress(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "run", "-u", "2", "-i", "4", "--out", "json=/test/out.json", "/test/script.js")
	p.write(t, "/test/script.js", emptyScript)
	require.Zero(t, p.run())
	for _, want := range []string{
		"     execution: local\n        script: /test/script.js\n        output: json (/test/out.json)\n",
		"     scenarios: (100.00%) 1 scenario, 2 max VUs, 10m30s max duration (incl. graceful stop):\n" +
			"              * default: 4 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)\n",
	} {
		assert.Contains(t, p.stdout.String(), want)
	}
	assert.Regexp(t, `0/2 VUs, 4 complete and 0 interrupted iterations\n`+
		`default ✓ \[ 100% \] 2 VUs  \d\dm\d\d\.\ds/10m0s  4/4 shared iters\n`, p.stdout.String())
	assert.Contains(t, p.read(t, "/test/out.json"), `"metric":"iterations"`)
}

func TestSignalsAbortOnceThenKill(t *testing.T) {
	t.Parallel()
	const source = `import { sleep } from 'k6';
		export default function () { console.log('at work'); sleep(60) }
		export function teardown() { console.log('teardown ran'); if (__ENV.SLOW) sleep(60) }
		export function handleSummary() { return {stdout: 'the summary'} }`
	p := script(t, source)
	p.gs.Logger.AddHook(signalOn{"at work": func() { p.signals <- os.Interrupt }})
	assert.Equal(t, 105, p.run())
	assert.Contains(t, p.stderr.String(), "teardown ran")
	assert.Contains(t, p.stderr.String(), "test run was aborted because k6 received a 'interrupt' signal")
	assert.Equal(t, "the summary", strings.TrimSpace(p.stdout.String()))

	p = script(t, source, "-e", "SLOW=1")
	ctx, cancel := context.WithCancel(t.Context())
	p.gs.Ctx = ctx
	terminate := func() { p.signals <- syscall.SIGTERM }
	p.gs.Logger.AddHook(signalOn{"at work": terminate, "teardown ran": terminate})
	p.gs.OSExit = func(code int) {
		p.exits <- code
		cancel() // the real one ends the process; this one ends what is still running
	}
	p.run()
	assert.Equal(t, 105, <-p.exits)
}

func TestASignalWhileTheLastResultsAreWrittenLosesNothing(t *testing.T) {
	t.Parallel()
	const answered, ended = "the test is over and its last results are being written: another signal ends k6 without them",
		"aborting k6 at once, since it received a second signal 'interrupt'"
	for name, c := range map[string]struct {
		source  string
		signals []string // the messages that answer the signals sent while a subscriber is at work
		code    int
		exits   int
	}{
		"a second one": {"export default function () { console.log('at work'); sleep(60) }", []string{answered}, 105, 0},
		"a third one":  {"export default function () { console.log('at work'); sleep(60) }", []string{answered, ended}, 105, 1},
		"the first":    {"export default function () {}", []string{answered}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, "import { sleep } from 'k6'; "+c.source)
			heard := make(chan struct{})
			hear := func() { heard <- struct{}{} }
			p.gs.Logger.AddHook(signalOn{"at work": func() { p.signals <- os.Interrupt }, answered: hear, ended: hear})
			id, events := p.gs.Events.Subscribe(event.Exit)
			defer p.gs.Events.Unsubscribe(id)
			written := make(chan bool, 1)
			go func() {
				exit := <-events
				for range c.signals {
					p.signals <- os.Interrupt
					<-heard
				}
				written <- true
				exit.Done()
			}()
			assert.Equal(t, c.code, p.run())
			assert.True(t, <-written)
			assert.Len(t, p.exits, c.exits)
			for _, message := range c.signals {
				assert.Equal(t, 1, strings.Count(p.stderr.String(), message), message)
			}
		})
	}
}

// signalOn calls a function when its message is logged.
type signalOn map[string]func()

func (signalOn) Levels() []logrus.Level { return logrus.AllLevels }

func (s signalOn) Fire(entry *logrus.Entry) error {
	if f := s[entry.Message]; f != nil {
		f()
	}
	return nil
}

func TestInspect(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "inspect", "--execution-requirements", "-e", "N=3", "/test/script.js")
	p.write(t, "/test/script.js", `export const options = {vus: Number(__ENV.N), duration: '5s'}; `+emptyScript)
	require.Zero(t, p.run(), p.stderr.String())
	var got struct {
		VUs, MaxVUs   int
		TotalDuration string
	}
	require.NoError(t, json.Unmarshal(p.stdout.Bytes(), &got))
	assert.Equal(t, 3, got.VUs)
	assert.Equal(t, 3, got.MaxVUs)
	assert.Equal(t, "35s", got.TotalDuration)
}

func TestArchivesRunElsewhere(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "archive", "-e", "A=stored", "-e", "B=stored", "-u", "2", "-O", "/test/all.tar", "/test/script.js")
	p.write(t, "/test/script.js", `import { x } from './lib/x.js'; const data = open('data.txt');
		export const options = {iterations: 4};
		export default function () { console.log(x + data + __ENV.A + __ENV.B + __ENV.OUTSIDE) }`)
	p.write(t, "/test/lib/x.js", `export const x = 'imported ';`)
	p.write(t, "/test/data.txt", "opened ")
	p.gs.Env["OUTSIDE"] = "outside"
	require.Zero(t, p.run(), p.stderr.String())

	other := newProcess(t, "run", "-q", "-e", "B=given", "/elsewhere/all.tar")
	other.write(t, "/elsewhere/all.tar", p.read(t, "/test/all.tar"))
	require.Zero(t, other.run(), other.stderr.String())
	assert.Equal(t, 4, strings.Count(other.stderr.String(), "imported opened storedgivenundefined"))
}

func TestStandardInput(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "run", "-")
	p.gs.Stdin = strings.NewReader(`export default function () { console.log('piped') }`)
	require.Zero(t, p.run())
	assert.Contains(t, p.stderr.String(), "piped")
	assert.Contains(t, p.stdout.String(), "script: -\n")
}

func TestSummaryExport(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--new-machine-readable-summary"}} {
		p := script(t, emptyScript, append(args, "--summary-export", filepath.FromSlash("/test/summary.json"))...)
		require.Zero(t, p.run())
		var document map[string]any
		require.NoError(t, json.Unmarshal([]byte(p.read(t, "/test/summary.json")), &document))
		if len(args) == 0 {
			assert.Contains(t, document, "root_group")
		} else {
			assert.Contains(t, document, "results")
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	p := script(t, `import secrets from 'k6/secrets';
		export default async function () { console.log('it is ' + await secrets.get('key')) }`,
		"--secret-source", "mock=key=tell-nobody")
	require.Zero(t, p.run(), p.stderr.String())
	assert.Contains(t, p.stderr.String(), "it is ***SECRET_REDACTED***")
	assert.NotContains(t, p.stderr.String(), "tell-nobody")
}
