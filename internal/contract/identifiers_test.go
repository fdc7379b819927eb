package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const k6Module = "go.k6.io/k6/v2"

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Path string }
	DepOnly                 bool
}

// listPackages asks the go command for the root module's packages and the export data of all that they import.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module,DepOnly", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func allowedIdentifiers(t *testing.T) map[string]bool {
	t.Helper()
	f, err := os.Open("k6-v2.2.0.txt")
	require.NoError(t, err)
	defer f.Close()
	allowed := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			allowed[line] = true
		}
	}
	require.Greater(t, len(allowed), 500)
	return allowed
}

func TestTheExtensionUsesOnlyIdentifiersOfTheContract(t *testing.T) {
	t.Parallel()
	allowed := allowedIdentifiers(t)
	packages := listPackages(t)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	used := map[string]token.Position{}
	checked := 0
	for _, p := range packages {
		if p.DepOnly || p.Module == nil || p.Module.Path != "github.com/mitodl/xk6-omnigraph" {
			continue
		}
		collectUses(t, p, exports, used)
		checked++
	}
	require.Greater(t, checked, 5)
	require.NotEmpty(t, used, "no use of k6 was found at all: the check looks at nothing")
	var wrong []string
	for name, at := range used {
		if !allowed[name] {
			wrong = append(wrong, fmt.Sprintf("%s: %s", at, name))
		}
	}
	sort.Strings(wrong)
	require.Empty(t, wrong, "identifiers that the interface contract of k6 v2.2.0 does not promise")
}

// collectUses type-checks a package and notes every identifier, field and method of k6 that it uses.
func collectUses(t *testing.T, p listed, exports map[string]string, used map[string]token.Position) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		file := exports[path]
		if file == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file) //nolint:gosec // the go command's own build cache
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	_, err := config.Check(p.ImportPath, fset, files, info)
	require.NoError(t, err)
	for ident, object := range info.Uses {
		if object.Pkg() == nil || !isK6(object.Pkg().Path()) {
			continue
		}
		if _, isPackage := object.(*types.PkgName); isPackage {
			continue
		}
		if object.Parent() == object.Pkg().Scope() {
			used[path(object.Pkg())+"."+object.Name()] = fset.Position(ident.Pos())
		}
	}
	for expr, selection := range info.Selections {
		object := selection.Obj()
		if object.Pkg() == nil || !isK6(object.Pkg().Path()) {
			continue
		}
		if owner := ownerOf(selection); owner != "" {
			used[path(object.Pkg())+"."+owner+"."+object.Name()] = fset.Position(expr.Sel.Pos())
		}
	}
}

func isK6(p string) bool { return p == k6Module || strings.HasPrefix(p, k6Module+"/") }

func path(p *types.Package) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.Path(), k6Module), "/")
}

// ownerOf names the type of k6 whose field or method a selection takes. A field reached through an embedded struct
// belongs to the struct that declares it.
func ownerOf(s *types.Selection) string {
	receiver := s.Recv()
	for _, step := range s.Index()[:len(s.Index())-1] {
		structure, ok := deref(receiver).Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		receiver = structure.Field(step).Type()
	}
	if f, ok := s.Obj().(*types.Func); ok {
		if signature, ok := f.Type().(*types.Signature); ok && signature.Recv() != nil {
			receiver = signature.Recv().Type()
		}
	}
	switch named := deref(receiver).(type) {
	case *types.Named:
		return named.Obj().Name()
	case *types.Alias:
		return named.Obj().Name()
	}
	return ""
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return types.Unalias(p.Elem())
	}
	return types.Unalias(t)
}
