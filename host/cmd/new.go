package cmd

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/lib/fsext"
)

// newScriptName is the file that `k6 new` makes unless it is told another.
const newScriptName = "script.js"

// newScriptMode leaves reading and writing to the owner.
const newScriptMode fs.FileMode = 0o600

// scriptTemplates are what `k6 new` can begin a script with.
var scriptTemplates = map[string]string{ //nolint:gochecknoglobals // a table
	"minimal": `import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = {
  vus: 2,
  duration: '10s',
};

export default function () {
  const res = http.get('http://127.0.0.1:8080/');
  check(res, { 'status is 200': (r) => r.status === 200 });
  sleep(1);
}
`,
	"protocol": `import http from 'k6/http';
import { check, group, sleep } from 'k6';

const base = __ENV.BASE_URL || 'http://127.0.0.1:8080';

export const options = {
  scenarios: {
    steady: { executor: 'constant-vus', vus: 2, duration: '10s' },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    http_req_duration: ['p(95)<500'],
  },
};

export default function () {
  group('read', () => {
    const res = http.get(` + "`${base}/`" + `);
    check(res, { 'status is 200': (r) => r.status === 200 });
  });
  group('write', () => {
    const res = http.post(` + "`${base}/`" + `, JSON.stringify({ name: 'test' }), {
      headers: { 'Content-Type': 'application/json' },
    });
    check(res, { 'was accepted': (r) => r.status < 400 });
  });
  sleep(1);
}
`,
}

func newNewCommand(gs *state.GlobalState) *cobra.Command {
	force, template := false, "minimal"
	cmd := &cobra.Command{
		Use:   "new [FILE]",
		Short: "Create a script to begin with",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := newScriptName
			if len(args) > 0 {
				name = args[0]
			}
			return createScript(gs, name, template, force)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "overwrite a file that is there already")
	cmd.Flags().StringVar(&template, "template", template, "what to begin with: minimal, protocol, or the path of a script")
	return cmd
}

// createScript writes a new script. The template is the name of one, or the path of a file.
func createScript(gs *state.GlobalState, name, template string, force bool) error {
	pwd, err := gs.Getwd()
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	if template == "browser" {
		return refuse("the template browser")
	}
	content, known := scriptTemplates[template]
	if !known {
		data, err := fsext.ReadFile(gs.FS, fsext.Abs(pwd, template))
		if err != nil {
			return fmt.Errorf("the template %q is none of minimal and protocol, and no file: %w", template, err)
		}
		content = string(data)
	}
	path := fsext.Abs(pwd, name)
	exists, err := fsext.Exists(gs.FS, path)
	if err != nil {
		return fmt.Errorf("looking for %s: %w", name, err)
	}
	if exists && !force {
		return fmt.Errorf("%s already exists; use --force to overwrite it", name)
	}
	if err := fsext.WriteFile(gs.FS, path, []byte(content), newScriptMode); err != nil {
		return fmt.Errorf("writing the new script: %w", err)
	}
	_, err = fmt.Fprintf(gs.Stdout, "New script created: %s. Run it with `k6 run %s`.\n", name, name)
	return err
}
