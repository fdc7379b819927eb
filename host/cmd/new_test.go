package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNewScripts(t *testing.T) {
	t.Parallel()
	const old = "export default 1"
	for name, tc := range map[string]struct {
		args     []string
		code     int
		file     string
		contains string
		says     string
	}{
		"its own name":       {file: "/test/script.js", contains: "export default function"},
		"a name":             {args: []string{"load.js"}, file: "/test/load.js", contains: "export default function", says: "load.js"},
		"another template":   {args: []string{"--template", "protocol", "load.js"}, file: "/test/load.js", contains: "thresholds"},
		"a file as template": {args: []string{"--template", "old.js", "load.js"}, file: "/test/load.js", contains: old},
		"no such template":   {args: []string{"--template", "none.js"}, code: 255, says: "none.js"},
		"a file in its way":  {args: []string{"old.js"}, code: 255, file: "/test/old.js", contains: old, says: "--force"},
		"a file overwritten": {args: []string{"-f", "old.js"}, file: "/test/old.js", contains: "export default function"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, append([]string{"new"}, tc.args...)...)
			p.write(t, "/test/old.js", old)
			assert.Equal(t, tc.code, p.run())
			assert.Contains(t, p.stdout.String()+p.stderr.String(), tc.says)
			if tc.file != "" {
				assert.Contains(t, p.read(t, tc.file), tc.contains)
			}
		})
	}
}

func TestNewScriptsHaveAllThatARunNeeds(t *testing.T) {
	t.Parallel()
	for template := range scriptTemplates {
		p := newProcess(t, "new", "--template", template)
		assert.Equal(t, 0, p.run(), template)
		inspect := newProcess(t, "inspect", "--execution-requirements", "/test/script.js")
		inspect.write(t, "/test/script.js", p.read(t, "/test/script.js"))
		assert.Equal(t, 0, inspect.run(), "%s: %s", template, inspect.stderr.String())
	}
}
