package packaging

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"
	"gopkg.in/yaml.v3"
)

func version(t *testing.T) string {
	t.Helper()
	v := "v" + strings.TrimSpace(text(t, "VERSION"))
	require.True(t, semver.IsValid(v) && semver.Canonical(v) == v, "VERSION is %q; it takes major.minor.patch", v[1:])
	return v
}

var heading = regexp.MustCompile(`(?m)^## (.+)$`)

func TestTheChangelogBeginsWithWhatIsUnreleasedAndDescends(t *testing.T) {
	t.Parallel()
	headings := heading.FindAllStringSubmatch(text(t, "CHANGELOG.md"), -1)
	require.NotEmpty(t, headings)
	assert.Equal(t, "Unreleased", headings[0][1])
	before := version(t)
	for i, h := range headings[1:] {
		m := regexp.MustCompile(`^(\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$`).FindStringSubmatch(h[1])
		require.NotNil(t, m, "the heading %q takes VERSION - DATE", h[1])
		c := semver.Compare("v"+m[1], before)
		assert.True(t, c < 0 || (i == 0 && c == 0), "%s stands after %s", m[1], before)
		before = "v" + m[1]
	}
}

func TestATaggedVersionIsInTheChangelog(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "tag", "--list", "v*").Output()
	if err != nil {
		t.Skipf("this is no git work tree, but an unpacked source: %v", err)
	}
	changelog := text(t, "CHANGELOG.md")
	for _, tag := range strings.Fields(string(out)) {
		require.True(t, semver.IsValid(tag), tag)
		assert.Contains(t, changelog, "\n## "+strings.TrimPrefix(tag, "v")+" - ", "the tag %s", tag)
		assert.LessOrEqual(t, semver.Compare(tag, version(t)), 0, "VERSION is behind the tag %s", tag)
	}
}

func TestTheManifestsNameThisVersion(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "deploy/operator/*.yaml"))
	require.NoError(t, err)
	images := 0
	for _, f := range files {
		rel, err := filepath.Rel(root, f)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`k6-omnigraph:(\S+)`).FindAllStringSubmatch(text(t, rel), -1) {
			assert.Equal(t, strings.TrimPrefix(version(t), "v"), m[1], rel)
			images++
		}
	}
	assert.Positive(t, images)
}

// workflow is what the tests read of one.
type workflow struct {
	On          any `yaml:"on"`
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout     int `yaml:"timeout-minutes"`
		Needs       any
		Permissions map[string]string
		Steps       []struct{ Name, Uses, Run string }
	}
}

func readWorkflow(t *testing.T, name string) (w workflow, commands string) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text(t, ".github/workflows/"+name)), &w))
	for job, j := range w.Jobs {
		assert.Positive(t, j.Timeout, "%s: job %s may run for ever", name, job)
		for _, s := range j.Steps {
			commands += s.Run + "\n"
			if s.Uses != "" {
				assert.Regexp(t, `^[a-z-]+/[a-z-]+@v\d+$`, s.Uses, "an action and its version")
			}
		}
	}
	assert.Equal(t, map[string]string{"contents": "read"}, w.Permissions, "%s: no more than it needs", name)
	return w, commands
}

func TestTheWorkflowsRunWhatHasToHold(t *testing.T) {
	t.Parallel()
	_, ci := readWorkflow(t, "ci.yml")
	assert.Contains(t, ci, ".ci/run")
	assert.FileExists(t, filepath.Join(root, ".ci/run"))
	w, release := readWorkflow(t, "release.yml")
	for _, step := range []string{".ci/run", "govulncheck", "xk6 build", "xk6 lint", "cyclonedx-gomod", "sha256sum", "VERSION", "CHANGELOG.md", "gh release create"} {
		assert.Contains(t, release, step)
	}
	m := regexp.MustCompile(`(?m)^GOSEC_VERSION := (\S+)$`).FindStringSubmatch(text(t, "Makefile"))
	require.NotNil(t, m)
	assert.Contains(t, release, "/gosec@"+m[1]+"\n", "make lint and the release check with one gosec")
	assert.Equal(t, "write", w.Jobs["publish"].Permissions["contents"], "only the last job may write")
	for name, job := range w.Jobs {
		if name != "publish" {
			assert.Empty(t, job.Permissions, name)
		}
	}
	for _, line := range strings.Split(ci+release, "\n") {
		assert.NotRegexp(t, `\bgo (get|mod tidy|work sync|work vendor)\b`, line, "these ask a registry for k6")
	}
}
