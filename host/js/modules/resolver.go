package modules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/internal/js/compiler"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/internal/usage"
)

// FileLoader reads the file at specifier; name is how the script called it.
type FileLoader func(specifier *url.URL, name string) ([]byte, error)

// ModuleResolver finds, reads and compiles modules, once for all VUs. It is safe for concurrent use.
type ModuleResolver struct {
	goModules map[string]any
	load      FileLoader
	compiler  *compiler.Compiler
	base      *url.URL
	usage     *usage.Usage
	logger    logrus.FieldLogger

	mu       sync.RWMutex
	locked   bool
	records  map[string]resolved
	urls     map[sobek.ModuleRecord]*url.URL
	imported []string
	unknown  []string
	main     sobek.ModuleRecord
}

type resolved struct {
	record sobek.ModuleRecord
	err    error
}

// NewModuleResolver makes a resolver of the Go modules given by name and of the files that loadCJS reads. Relative
// specifiers outside any file are taken from base. The compiler, the usage and the logger may be nil.
func NewModuleResolver(goModules map[string]any, loadCJS FileLoader, c *compiler.Compiler,
	base *url.URL, u *usage.Usage, logger logrus.FieldLogger,
) *ModuleResolver {
	if c == nil {
		c = compiler.New()
	}
	return &ModuleResolver{
		goModules: goModules, load: loadCJS, compiler: c, base: base, usage: u, logger: logger,
		records: make(map[string]resolved),
		urls:    make(map[sobek.ModuleRecord]*url.URL),
	}
}

// Lock ends the time in which modules may be loaded that were not loaded before.
func (r *ModuleResolver) Lock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = true
}

// Imported lists the modules that were loaded, in that order: k6 modules by name, files by URL.
func (r *ModuleResolver) Imported() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.imported)
}

// LoadMainModule reads the main script, which lies in the folder pwd, and all that it imports.
func (r *ModuleResolver) LoadMainModule(pwd *url.URL, specifier string, data []byte) error {
	u, err := loader.Resolve(pwd, specifier)
	if err != nil {
		return err
	}
	record, err := r.compile(u, data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.main = record
	r.records[u.String()] = resolved{record: record}
	r.urls[record] = u
	r.mu.Unlock()

	linkErr := record.Link()
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.unknown) > 0 {
		return UnknownModulesError{names: slices.Clone(r.unknown)}
	}
	return linkErr
}

func (r *ModuleResolver) compile(u *url.URL, data []byte) (sobek.ModuleRecord, error) {
	parsed, err := r.compiler.Parse(u.String(), string(data))
	if err != nil {
		return nil, err
	}
	if parsed.CommonJS {
		prg, err := compiler.CompileCommonJS(parsed)
		if err != nil {
			return nil, err
		}
		return &commonJSModule{url: u, prg: prg}, nil
	}
	return sobek.ModuleFromAST(parsed.AST, r.hostResolve)
}

// hostResolve answers the engine's question for what an import means.
func (r *ModuleResolver) hostResolve(referrer any, specifier string) (sobek.ModuleRecord, error) {
	return r.resolve(r.folderOf(referrer), specifier)
}

// folderOf returns the folder of the module that code belongs to, or the base.
func (r *ModuleResolver) folderOf(referrer any) *url.URL {
	record, ok := referrer.(sobek.ModuleRecord)
	if !ok {
		return r.base
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if u, ok := r.urls[record]; ok {
		return loader.Dir(u)
	}
	return r.base
}

func (r *ModuleResolver) mainURL() *url.URL {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.urls[r.main]
}

func isGoModuleName(specifier string) bool {
	return specifier == "k6" || strings.HasPrefix(specifier, "k6/")
}

func (r *ModuleResolver) resolve(folder *url.URL, specifier string) (sobek.ModuleRecord, error) {
	if _, ok := r.goModules[specifier]; ok || isGoModuleName(specifier) {
		return r.cached(specifier, func() (sobek.ModuleRecord, error) { return r.newGoModule(specifier) })
	}
	u, err := r.resolveURL(folder, specifier)
	if err != nil {
		return nil, err
	}
	return r.cached(u.String(), func() (sobek.ModuleRecord, error) { return r.loadFile(u, specifier) })
}

func (r *ModuleResolver) resolveURL(folder *url.URL, specifier string) (*url.URL, error) {
	if folder == nil {
		folder = &url.URL{Scheme: "file", Path: "/"}
	}
	u, err := loader.Resolve(folder, specifier)
	if err != nil {
		return nil, err
	}
	if folder.Scheme == "https" && u.Scheme == "file" {
		return nil, fmt.Errorf("the remote module in %s tried to load the local file %q, which is not allowed", folder, specifier)
	}
	return u, nil
}

func (r *ModuleResolver) cached(key string, make func() (sobek.ModuleRecord, error)) (sobek.ModuleRecord, error) {
	r.mu.RLock()
	known, ok := r.records[key]
	locked := r.locked
	r.mu.RUnlock()
	if ok {
		return known.record, known.err
	}
	if locked {
		return nil, fmt.Errorf("module %q was not loaded when the script was initialised for the first time (__VU 0): "+
			"a VU can only load modules that were loaded then", key)
	}
	record, err := make()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[key] = resolved{record: record, err: err}
	if err == nil {
		r.imported = append(r.imported, key)
	}
	return record, err
}

func (r *ModuleResolver) newGoModule(name string) (sobek.ModuleRecord, error) {
	mod, ok := r.goModules[name]
	if !ok {
		r.mu.Lock()
		r.unknown = append(r.unknown, name)
		r.mu.Unlock()
		// LoadMainModule reports all unknown names at once, so this one must not end the search for others.
		return &goModule{mod: unknownModule{name}}, nil
	}
	if refuser, ok := mod.(importRefuser); ok {
		return nil, refuser.ImportError()
	}
	if r.usage != nil {
		if err := r.usage.Values("modules", name); err != nil && r.logger != nil {
			r.logger.WithError(err).Debug("Could not count the use of a module")
		}
	}
	return &goModule{mod: mod}, nil
}

func (r *ModuleResolver) loadFile(u *url.URL, specifier string) (sobek.ModuleRecord, error) {
	if r.load == nil {
		return nil, fmt.Errorf("module %q can't be read: there is no file loader", specifier)
	}
	data, err := r.load(u, specifier)
	if err != nil {
		return nil, err
	}
	record, err := r.compile(u, data)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls[record] = u
	return record, nil
}

// unknownModule stands for a module that nothing supplies, until that is reported.
type unknownModule struct{ name string }

// UnknownModulesError names the modules that nothing in this binary supplies.
type UnknownModulesError struct{ names []string }

func (e UnknownModulesError) Error() string {
	quoted := make([]string, len(e.names))
	for i, name := range e.names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("unknown modules [%s] were tried to be loaded, but couldn't - this likely means that the name "+
		"is misspelt or that this binary was built without the extension that has it", strings.Join(quoted, ", "))
}

// List returns the names of the unknown modules.
func (e UnknownModulesError) List() []string { return slices.Clone(e.names) }
