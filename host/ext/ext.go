// Package ext is the registry of the extensions that are linked into the binary.
package ext

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// ExtensionType is what an extension extends.
type ExtensionType uint8

// The types of extension.
const (
	JSExtension ExtensionType = iota + 1
	OutputExtension
	SecretSourceExtension
	SubcommandExtension
)

// String returns the type's name as `k6 version` prints it.
func (t ExtensionType) String() string {
	switch t {
	case JSExtension:
		return "js"
	case OutputExtension:
		return "output"
	case SecretSourceExtension:
		return "secret-source"
	case SubcommandExtension:
		return "subcommand"
	default:
		return "unknown"
	}
}

// Extension is a registered extension and the Go module it comes from.
type Extension struct {
	Name, Path, Version string
	Type                ExtensionType
	Module              any
}

// String returns the line that `k6 version` prints.
func (e Extension) String() string {
	return fmt.Sprintf("%s %s, %s [%s]", e.Path, e.Version, e.Name, e.Type)
}

//nolint:gochecknoglobals // registration happens in init functions: the registry has to be global
var registry = struct {
	sync.RWMutex
	byType map[ExtensionType]map[string]*Extension
}{byType: make(map[ExtensionType]map[string]*Extension)}

// Register adds an extension. It panics if one of this name and type exists: that is a fault of the build. Path
// and version are those of the Go module that mod's type (or function) belongs to.
func Register(name string, typ ExtensionType, mod any) {
	registry.Lock()
	defer registry.Unlock()

	named := registry.byType[typ]
	if named == nil {
		named = make(map[string]*Extension)
		registry.byType[typ] = named
	}
	if _, ok := named[name]; ok {
		panic(fmt.Sprintf("extension %q of type %s is registered twice", name, typ))
	}
	path, version := moduleOf(packageOf(mod), buildInfo())
	named[name] = &Extension{Name: name, Path: path, Version: version, Type: typ, Module: mod}
}

// Get returns the extensions of a type by name.
func Get(typ ExtensionType) map[string]*Extension {
	registry.RLock()
	defer registry.RUnlock()
	return maps.Clone(registry.byType[typ])
}

// GetAll returns the JS, output and subcommand extensions, sorted by path, then by name.
func GetAll() []*Extension {
	registry.RLock()
	defer registry.RUnlock()

	var all []*Extension
	for _, typ := range []ExtensionType{JSExtension, OutputExtension, SubcommandExtension} {
		for _, e := range registry.byType[typ] {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *Extension) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return all
}

// packageOf returns the import path of a pointer's element type or of a function; "" for anything else.
func packageOf(mod any) string {
	t := reflect.TypeOf(mod)
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return t.Elem().PkgPath()
	case reflect.Func:
		name := runtime.FuncForPC(reflect.ValueOf(mod).Pointer()).Name()
		// "example.org/mod/pkg.New" or "example.org/mod/pkg.init.func1": the package ends at the first dot after
		// the last slash.
		slash := strings.LastIndexByte(name, '/') + 1
		if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
			return name[:slash+dot]
		}
		return name
	default:
		return ""
	}
}

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

// moduleOf finds the module with the longest path that contains the package.
func moduleOf(pkg string, info *debug.BuildInfo) (path, version string) {
	if pkg == "" {
		return "", ""
	}
	path = pkg
	best := 0
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == "" || len(m.Path) < best || (pkg != m.Path && !strings.HasPrefix(pkg, m.Path+"/")) {
			continue
		}
		best = len(m.Path)
		path, version = m.Path, m.Version
		if m.Replace != nil {
			version = m.Replace.Version
			if version == "" {
				version = "(devel)"
			}
		}
	}
	return path, version
}
