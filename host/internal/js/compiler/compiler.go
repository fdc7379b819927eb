// Package compiler turns source text, JavaScript or TypeScript, into what the JS engine runs, once for all VUs.
package compiler

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"
)

// Compiler parses files. The zero value has no source maps from files; it may be used concurrently.
type Compiler struct {
	// LoadSourceMap reads the source map that a file points to; nil ignores such maps.
	LoadSourceMap func(path string) ([]byte, error)
}

// New makes a compiler.
func New() *Compiler { return &Compiler{} }

// Parsed is a file that was parsed: either an ES module, to be linked, or a CommonJS program, whose value is a
// function of module, exports and require.
type Parsed struct {
	AST      *ast.Program
	CommonJS bool
}

const (
	commonJSHead = "(function(module, exports, require){"
	commonJSTail = "\n})\n"
)

// Parse reads a file as an ES module and, if that fails or it neither imports nor exports nor awaits anything at
// its top level, as CommonJS. If it can't be parsed and may be TypeScript, its types are stripped first.
func (c *Compiler) Parse(name, source string) (*Parsed, error) {
	parsed, err := c.parse(name, source)
	if err == nil || !mayBeTypeScript(name) {
		return parsed, err
	}
	stripped, stripErr := stripTypes(name, source)
	if stripErr != nil {
		if path.Ext(name) == ".ts" {
			return nil, stripErr
		}
		return nil, err
	}
	return c.parse(name, stripped)
}

func mayBeTypeScript(name string) bool {
	base := path.Base(name)
	return path.Ext(base) == ".ts" || base == "-"
}

func (c *Compiler) parse(name, source string) (*Parsed, error) {
	module, moduleErr := sobek.Parse(name, source, parser.IsModule, c.sourceMaps())
	if moduleErr == nil && isModule(module) {
		return &Parsed{AST: module}, nil
	}
	script, scriptErr := sobek.Parse(name, commonJSHead+source+commonJSTail, c.sourceMaps())
	if scriptErr == nil && len(script.Body) == 1 { // else the source closed the wrapper
		return &Parsed{AST: script, CommonJS: true}, nil
	}
	if moduleErr == nil {
		return &Parsed{AST: module}, nil
	}
	if !looksLikeModule(source) {
		err := c.plainScriptError(name, source, scriptErr)
		if err != nil && !strings.Contains(err.Error(), "port not supported in script") { // else it imports or exports
			return nil, err
		}
	}
	return nil, moduleErr
}

// plainScriptError prefers the complaints about the file as it stands to those about the wrapped one.
func (c *Compiler) plainScriptError(name, source string, wrapped error) error {
	if _, err := sobek.Parse(name, source, c.sourceMaps()); err != nil || wrapped == nil {
		return err
	}
	return wrapped
}

func looksLikeModule(source string) bool {
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import{") || strings.HasPrefix(line, "export ") {
			return true
		}
	}
	return false
}

func isModule(p *ast.Program) bool {
	return p.HasTLA || len(p.ImportEntries) > 0 || len(p.ExportEntries) > 0
}

// sourceMaps makes the parser honour source maps. A map that can't be read is no reason to refuse a script.
func (c *Compiler) sourceMaps() parser.Option {
	return parser.WithSourceMapLoader(func(p string) ([]byte, error) {
		if c.LoadSourceMap == nil {
			return nil, nil
		}
		data, err := c.LoadSourceMap(p)
		if err != nil {
			return nil, nil //nolint:nilerr // the script runs without its map
		}
		return data, nil
	})
}

// CompileCommonJS compiles what Parse found to be CommonJS.
func CompileCommonJS(p *Parsed) (*sobek.Program, error) {
	return sobek.CompileAST(p.AST, false)
}

func stripTypes(name, source string) (string, error) {
	result := api.Transform(source, api.TransformOptions{
		Sourcefile:     name,
		Loader:         api.LoaderTS,
		Target:         api.ESNext,
		Format:         api.FormatDefault,
		Sourcemap:      api.SourceMapInline,
		SourcesContent: api.SourcesContentExclude,
		LogLevel:       api.LogLevelSilent,
		TsconfigRaw:    `{"compilerOptions":{"verbatimModuleSyntax":false}}`,
	})
	if len(result.Errors) == 0 {
		return string(result.Code), nil
	}
	var errs []error
	for _, m := range result.Errors {
		if m.Location != nil {
			errs = append(errs, fmt.Errorf("%s: Line %d:%d %s", name, m.Location.Line, m.Location.Column, m.Text))
			continue
		}
		errs = append(errs, errors.New(m.Text))
	}
	if len(errs) == 1 {
		return "", errs[0]
	}
	return "", fmt.Errorf("%w (and %d more errors)", errs[0], len(errs)-1)
}
