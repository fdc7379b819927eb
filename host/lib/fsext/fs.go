// Package fsext is the file system that scripts and modules see.
package fsext

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"
)

// Fs is the interface of all file systems here.
type Fs = afero.Fs

// NewMemMapFs returns an empty file system in memory.
func NewMemMapFs() Fs { return afero.NewMemMapFs() }

// NewOsFs returns the operating system's file system.
func NewOsFs() Fs { return afero.NewOsFs() }

// NewReadOnlyFs returns a view of fs that refuses changes.
func NewReadOnlyFs(fs Fs) Fs { return afero.NewReadOnlyFs(fs) }

// ReadFile returns the content of a file.
func ReadFile(fs Fs, filename string) ([]byte, error) { return afero.ReadFile(fs, filename) }

// WriteFile writes a file, truncating one that exists.
func WriteFile(fs Fs, filename string, data []byte, perm fs.FileMode) error {
	return afero.WriteFile(fs, filename, data, perm)
}

// ReadDir lists a folder, sorted by name.
func ReadDir(fs Fs, dirname string) ([]fs.FileInfo, error) { return afero.ReadDir(fs, dirname) }

// Exists says whether a file or folder of this path exists.
func Exists(fs Fs, path string) (bool, error) { return afero.Exists(fs, path) }

// IsDir says whether the path is a folder.
func IsDir(fs Fs, path string) (bool, error) { return afero.IsDir(fs, path) }

// Abs returns path if it is absolute, else path below root.
func Abs(root, path string) string {
	if path == "" {
		return root
	}
	if isAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(root, path)
}

// JoinFilePath puts p below b, even when p is absolute.
func JoinFilePath(b, p string) string {
	return filepath.Join(b, filepath.Clean("/"+filepath.ToSlash(p)))
}

func isAbs(path string) bool {
	return filepath.IsAbs(path) || strings.HasPrefix(path, "/")
}
