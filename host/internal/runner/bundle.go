// Package runner runs a script: its init code once per VU, its functions in iterations, and setup, teardown and
// handleSummary.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/internal/js/builtin"
	"go.k6.io/k6/v2/internal/js/compiler"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
)

// Bundle is a script with all that it imports, compiled once for all VUs, and what its init code said when it ran
// for the first time.
type Bundle struct {
	pre       *lib.TestPreInitState
	source    *loader.Source
	files     map[string]fsext.Fs
	recording *loader.RecordingFs
	resolver  *modules.ModuleResolver

	options    lib.Options
	executable []string
	functions  []string
}

// NewBundle loads the script and runs its init code in a VU that is thrown away, which fixes the modules and files
// that later VUs can have. files are keyed by the schemes file and https.
func NewBundle(
	ctx context.Context, pre *lib.TestPreInitState, source *loader.Source, files map[string]fsext.Fs,
) (_ *Bundle, err error) {
	b := &Bundle{pre: pre, source: source, recording: loader.NewRecordingFs(files["file"])}
	b.files = map[string]fsext.Fs{"file": b.recording, "https": files["https"]}
	if b.files["https"] == nil {
		b.files["https"] = fsext.NewMemMapFs()
	}
	load := func(u *url.URL, name string) ([]byte, error) { return loader.Load(ctx, b.files, u, name) }
	b.resolver = modules.NewModuleResolver(builtin.Modules(), load, b.newCompiler(ctx), source.PWD, pre.Usage, pre.Logger)
	if err := b.resolver.LoadMainModule(source.PWD, source.URL.String(), source.Data); err != nil {
		return nil, explainInitError(err)
	}
	s, err := b.runInit(context.WithoutCancel(ctx), 0, consoleOf(pre.Logger))
	if err != nil {
		return nil, err
	}
	b.resolver.Lock()
	b.recording.Lock()
	for name := range s.exports.functions {
		b.functions = append(b.functions, name)
	}
	if b.executable = s.exports.executable(); len(b.executable) == 0 {
		return nil, errNoFunctions
	}
	if b.options, err = readOptions(s.exports.options, pre.Logger); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Bundle) newCompiler(ctx context.Context) *compiler.Compiler {
	c := compiler.New()
	c.LoadSourceMap = func(path string) ([]byte, error) {
		u, err := loader.Resolve(b.source.PWD, path)
		if err != nil {
			return nil, err
		}
		return loader.Load(ctx, b.files, u, path)
	}
	return c
}

func consoleOf(logger logrus.FieldLogger) logrus.FieldLogger {
	return logger.WithField("source", "console")
}

// Options returns the options that the script exports.
func (b *Bundle) Options() lib.Options { return b.options }

// IsExecutable says whether a scenario can run the script's function of this name.
func (b *Bundle) IsExecutable(fn string) bool { return slices.Contains(b.executable, fn) }

// has says whether the script exports the function.
func (b *Bundle) has(fn string) bool { return slices.Contains(b.functions, fn) }

// LoadedFiles returns the files that the init code loaded, in memory, keyed by the scheme of their URLs.
func (b *Bundle) LoadedFiles() map[string]fsext.Fs {
	return map[string]fsext.Fs{"file": b.recording.Kept(), "https": b.files["https"]}
}

// Imported lists the modules that the script loads: k6 modules by name, files by URL.
func (b *Bundle) Imported() []string { return b.resolver.Imported() }

func readOptions(value sobek.Value, logger logrus.FieldLogger) (lib.Options, error) {
	if common.IsNullish(value) {
		return lib.Options{}, nil
	}
	invalid := func(err error) error {
		return errext.WithExitCodeIfNone(fmt.Errorf("the options exported in the script are invalid: %w", err), exitcodes.InvalidConfig)
	}
	if _, ok := value.(*sobek.Object); !ok {
		return lib.Options{}, invalid(errors.New("they have to be an object"))
	}
	data, err := json.Marshal(value.Export())
	if err != nil {
		return lib.Options{}, invalid(err)
	}
	options, unknown, err := lib.ParseOptions(data)
	if err != nil {
		return lib.Options{}, invalid(err)
	}
	if unknown != nil {
		logger.WithError(unknown).Warn("There were unknown fields in the options exported in the script")
	}
	return options, nil
}
