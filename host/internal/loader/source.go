package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib/fsext"
)

// Source is a script that was read.
type Source struct {
	URL  *url.URL
	PWD  *url.URL // the folder that its relative specifiers start from, with a slash at its end
	Data []byte
}

// fetchTimeout bounds how long a module may take to come from the network, and maxModule how large it may be.
const (
	fetchTimeout = 60 * time.Second
	maxModule    = 64 << 20
)

// Load reads the file or https:// module at u, which the script calls name. What comes from the network is kept in
// the file system for https.
func Load(ctx context.Context, files map[string]fsext.Fs, u *url.URL, name string) ([]byte, error) {
	system := files[u.Scheme]
	if system == nil {
		return nil, fmt.Errorf("module specifier %q: there are no files for the scheme %q", name, u.Scheme)
	}
	path := FilePath(u)
	data, err := fsext.ReadFile(system, path)
	if err == nil {
		return data, nil
	}
	if u.Scheme == "https" {
		return fetch(ctx, system, u, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{Specifier: name}
	}
	return nil, fmt.Errorf("module specifier %q: %w", name, err)
}

// FilePath returns where the file of a URL lies in the file system for the URL's scheme.
func FilePath(u *url.URL) string {
	p := u.Path
	if u.Host != "" {
		p = "/" + u.Host + p
	}
	if u.Scheme == "https" && u.RawQuery != "" {
		p += "?" + u.RawQuery // servers that bundle on demand tell their modules apart by it
	}
	if runtime.GOOS == "windows" && u.Scheme == "file" {
		p = strings.TrimPrefix(p, "/")
	}
	return filepath.Clean(filepath.FromSlash(p))
}

func fetch(ctx context.Context, keep fsext.Fs, u *url.URL, path string) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("loading the module %s: %w", u, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("loading the module %s: %w", u, err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("loading the module %s: the server answered %s", u, res.Status)
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, maxModule+1))
	if err != nil {
		return nil, fmt.Errorf("loading the module %s: %w", u, err)
	}
	if len(data) > maxModule {
		return nil, fmt.Errorf("loading the module %s: it is larger than %d bytes", u, maxModule)
	}
	if err := fsext.WriteFile(keep, path, data, 0o600); err != nil {
		return nil, fmt.Errorf("keeping the module %s: %w", u, err)
	}
	return data, nil
}
