// Package archive writes and reads test archives: tar files that hold a script with everything its init code
// loads, and its options.
package archive

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
)

const (
	metadataName = "metadata.json"
	dataName     = "data"
)

// maxFile bounds the size of one file in an archive, so that a damaged one can't exhaust the memory.
const maxFile = 1 << 30

// metadata is the JSON part of an archive.
type metadata struct {
	lib.Archive

	Filename string `json:"filename"`
	Pwd      string `json:"pwd"`
}

// Looks says whether data begins as a tar file does.
func Looks(data []byte) bool {
	const magicAt, magic = 257, "ustar"
	return len(data) > magicAt+len(magic) && string(data[magicAt:magicAt+len(magic)]) == magic
}

// Write writes the archive as a tar file.
func Write(w io.Writer, a *lib.Archive) error {
	out := tar.NewWriter(w)
	meta := metadata{Archive: *a, Filename: a.FilenameURL.String(), Pwd: a.PwdURL.String()}
	header, err := json.MarshalIndent(meta, "", "  ") // #nosec G117 -- a path, not a password
	if err != nil {
		return fmt.Errorf("archive metadata: %w", err)
	}
	now := time.Now()
	add := func(name string, content []byte) error {
		err := out.WriteHeader(&tar.Header{
			Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: now, Typeflag: tar.TypeReg,
		})
		if err != nil {
			return fmt.Errorf("archive entry %s: %w", name, err)
		}
		if _, err := out.Write(content); err != nil {
			return fmt.Errorf("archive entry %s: %w", name, err)
		}
		return nil
	}
	if err := add(metadataName, header); err != nil {
		return err
	}
	if err := add(dataName, a.Data); err != nil {
		return err
	}
	main := entryName(a.FilenameURL.Scheme, a.FilenameURL.Host, a.FilenameURL.Path)
	for _, scheme := range []string{"file", "https"} {
		files, err := list(a.Filesystems[scheme])
		if err != nil {
			return err
		}
		if a.FilenameURL.Scheme == scheme && !slices.Contains(files, filepath.FromSlash(a.FilenameURL.Path)) {
			if err := link(out, main, now); err != nil {
				return err
			}
		}
		for _, file := range files {
			name := entryName(scheme, "", filepath.ToSlash(file))
			if name == main {
				err = link(out, name, now)
			} else {
				var content []byte
				if content, err = fsext.ReadFile(a.Filesystems[scheme], file); err == nil {
					err = add(name, content)
				}
			}
			if err != nil {
				return fmt.Errorf("archiving %s: %w", file, err)
			}
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("closing the archive: %w", err)
	}
	return nil
}

func link(out *tar.Writer, name string, now time.Time) error {
	return out.WriteHeader(&tar.Header{
		Name: name, Linkname: dataName, Mode: 0o644, ModTime: now, Typeflag: tar.TypeLink,
	})
}

// entryName is where a file lies in the archive.
func entryName(scheme, host, file string) string {
	return scheme + path.Join("/", host, file)
}

// list returns the regular files of a file system, sorted.
func list(files fsext.Fs) ([]string, error) {
	if files == nil {
		return nil, nil
	}
	var names []string
	err := afero.Walk(files, string(filepath.Separator), func(name string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		// Folders of a file system in memory don't have the mode of one.
		if !info.IsDir() && info.Mode().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the files to archive: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Read reads an archive. Its files are in memory.
func Read(r io.Reader) (*lib.Archive, error) {
	files := map[string]fsext.Fs{"file": fsext.NewMemMapFs(), "https": fsext.NewMemMapFs()}
	var (
		meta        metadata
		found       bool
		data        []byte
		hasData     bool
		links       []string
		in          = tar.NewReader(r)
		errTooLarge = fmt.Errorf("a file is larger than %d bytes", maxFile)
	)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the archive: %w", err)
		}
		name := path.Clean(header.Name)
		if header.Typeflag == tar.TypeLink && path.Clean(header.Linkname) == dataName {
			links = append(links, name)
			continue
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
		if err == nil && len(content) > maxFile {
			err = errTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s from the archive: %w", header.Name, err)
		}
		switch name {
		case metadataName:
			if err := json.Unmarshal(content, &meta); err != nil {
				return nil, fmt.Errorf("the archive's %s: %w", metadataName, err)
			}
			found = true
		case dataName:
			data, hasData = content, true
		default:
			if err := put(files, name, content); err != nil {
				return nil, err
			}
		}
	}
	if !found || !hasData {
		return nil, fmt.Errorf("the archive lacks %s or %s: it is no k6 archive", metadataName, dataName)
	}
	for _, name := range links {
		if err := put(files, name, data); err != nil {
			return nil, err
		}
	}
	return assemble(meta, data, files)
}

func put(files map[string]fsext.Fs, name string, content []byte) error {
	scheme, file, ok := strings.Cut(name, "/")
	target := files[scheme]
	if !ok || target == nil {
		return nil // entries of other kinds are no part of the test
	}
	if err := fsext.WriteFile(target, filepath.FromSlash("/"+file), content, 0o600); err != nil {
		return fmt.Errorf("unpacking %s from the archive: %w", name, err)
	}
	return nil
}

func assemble(meta metadata, data []byte, files map[string]fsext.Fs) (*lib.Archive, error) {
	a := meta.Archive
	var err error
	if a.FilenameURL, err = parseURL(meta.Filename); err != nil {
		return nil, fmt.Errorf("the archive's filename: %w", err)
	}
	if a.PwdURL, err = parseURL(meta.Pwd); err != nil {
		return nil, fmt.Errorf("the archive's pwd: %w", err)
	}
	a.Data, a.Filesystems = data, files
	// The script itself is there under its own name, whatever the archive's links say.
	if target := files[a.FilenameURL.Scheme]; target != nil {
		name := filepath.FromSlash(path.Join("/", a.FilenameURL.Host, a.FilenameURL.Path))
		if err := fsext.WriteFile(target, name, data, 0o600); err != nil {
			return nil, fmt.Errorf("unpacking the script: %w", err)
		}
	}
	return &a, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "file" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is neither a file:// nor an https:// URL", text)
	}
	return u, nil
}

// New returns an archive that says what every archive says about its maker.
func New(version string) *lib.Archive {
	return &lib.Archive{Type: "js", K6Version: version, Goos: runtime.GOOS}
}
