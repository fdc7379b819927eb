// Package loader finds and reads scripts, modules and data files by what a script names them.
package loader

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// StdinURL is the address given to a script that came from standard input. It lies in no folder of the user's, so
// what it imports is looked for at the root.
func StdinURL() *url.URL { return &url.URL{Scheme: "file", Path: "/-"} }

// FileURL returns the file:// URL of an absolute path of this system.
func FileURL(absolute string) *url.URL {
	p := filepath.ToSlash(absolute)
	if runtime.GOOS == "windows" && !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return &url.URL{Scheme: "file", Path: p}
}

// DirURL returns the file:// URL of a directory, with a slash at its end.
func DirURL(absolute string) *url.URL {
	u := FileURL(absolute)
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u
}

// Dir returns the folder that a URL lies in, with a slash at its end.
func Dir(u *url.URL) *url.URL {
	dir := *u
	dir.RawQuery, dir.Fragment = "", ""
	dir.Path = path.Dir(u.Path)
	if !strings.HasSuffix(dir.Path, "/") {
		dir.Path += "/"
	}
	return &dir
}

// Resolve turns a specifier, as it stands in an import, into the URL of what it means for a module in the folder
// pwd. Relative and absolute paths and file:// and https:// URLs are understood.
func Resolve(pwd *url.URL, specifier string) (*url.URL, error) {
	if specifier == "" {
		return nil, fmt.Errorf("the module specifier is empty: name a file, an https:// URL or a k6 module")
	}
	switch specifier[0] {
	case '.', '/', '\\':
		return resolvePath(pwd, specifier), nil
	}
	if filepath.IsAbs(specifier) && runtime.GOOS == "windows" {
		return FileURL(specifier), nil
	}
	if !strings.Contains(specifier, "://") {
		return nil, &UnrecognisedError{Specifier: specifier}
	}
	u, err := url.Parse(specifier)
	if err != nil {
		return nil, fmt.Errorf("module specifier %q: %w", specifier, err)
	}
	switch u.Scheme {
	case "file", "https":
		return u, nil
	default:
		return nil, fmt.Errorf("module specifier %q: scheme %q is not supported, only file and https are", specifier, u.Scheme)
	}
}

func resolvePath(pwd *url.URL, specifier string) *url.URL {
	p := filepath.ToSlash(specifier)
	if !path.IsAbs(p) {
		p = path.Join(pwd.Path, p)
	}
	u := *pwd
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path.Clean(p), "", "", ""
	return &u
}

// UnrecognisedError says that a specifier is neither a path nor a URL nor a known module.
type UnrecognisedError struct{ Specifier string }

func (e *UnrecognisedError) Error() string {
	return fmt.Sprintf("The moduleSpecifier %q couldn't be recognised as something k6 supports. "+
		"Write \"./\" before the path of a local file; packages of npm have to be bundled into the script.", e.Specifier)
}

// NotFoundError says that there is no file where a specifier points to.
type NotFoundError struct{ Specifier string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("The moduleSpecifier %q couldn't be found on local disk. "+
		"Make sure that the path is right, with its extension and relative to the file that names it.", e.Specifier)
}
