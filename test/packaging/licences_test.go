package packaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/licensecheck"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// permissive are the licences that a user of the extension may find in a program built with it.
var permissive = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "MPL-2.0"}

// licencesOf names the licences that make up a text; none if a part of any size is something else.
func licencesOf(text string) []string {
	found := licensecheck.Scan([]byte(text))
	if found.Percent < 75 {
		return nil
	}
	var ids []string
	for _, m := range found.Match {
		ids = append(ids, m.ID)
	}
	return ids
}

type module struct {
	Path, Version, Dir string
	Main               bool
}

// linked are the modules of others that end up in the program.
func linked(t *testing.T, program string) []module {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", program)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []module
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		// The embedded host is this repository's own.
		if p.Module == nil || p.Module.Main || p.Module.Path == "go.k6.io/k6/v2" || seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		all = append(all, *p.Module)
	}
}

func licenceTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, e := range entries {
		if !e.IsDir() && regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-].*)?$`).MatchString(e.Name()) {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			texts[e.Name()] = string(data)
		}
	}
	return texts
}

func TestEverythingThatIsLinkedInIsPermissivelyLicensed(t *testing.T) {
	t.Parallel()
	for program, atLeast := range map[string]int{"./cmd/k6": 10, "./cmd/omnigraph-emulator": 1} {
		modules := linked(t, program)
		require.GreaterOrEqual(t, len(modules), atLeast, "%s: the check looks at too little", program)
		for _, m := range modules {
			texts := licenceTexts(t, m.Dir)
			if !assert.NotEmpty(t, texts, "%s %s, linked into %s, has no licence", m.Path, m.Version, program) {
				continue
			}
			for name, text := range texts {
				licences := licencesOf(text)
				assert.NotEmpty(t, licences, "%s %s, linked into %s: %s is no known licence", m.Path, m.Version, program, name)
				assert.Subset(t, permissive, licences, "%s %s, linked into %s: the licence in %s is not permissive", m.Path, m.Version, program, name)
			}
		}
	}
}

func TestAnotherLicenceIsNotTakenForAPermissiveOne(t *testing.T) {
	t.Parallel()
	licence := text(t, "LICENSE")
	assert.Equal(t, []string{"Apache-2.0"}, licencesOf(licence))
	assert.NotSubset(t, permissive, licencesOf(licence+"\nParts are under http://www.gnu.org/licenses/agpl.txt\n"))
	for _, text := range []string{"Business Source License 1.1", "All rights reserved.", ""} {
		assert.Empty(t, licencesOf(text), text)
	}
}
