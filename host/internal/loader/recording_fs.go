package loader

import (
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/spf13/afero"

	"go.k6.io/k6/v2/lib/fsext"
)

// RecordingFs keeps every file that is read from the file system below it, so that all VUs see the same content and
// an archive can be made of it. Once locked it serves only what it has kept. It is safe for concurrent use.
type RecordingFs struct {
	fsext.Fs

	kept fsext.Fs

	mu     sync.RWMutex
	locked bool
}

// NewRecordingFs makes a recording file system over base.
func NewRecordingFs(base fsext.Fs) *RecordingFs {
	return &RecordingFs{Fs: fsext.NewReadOnlyFs(base), kept: fsext.NewMemMapFs()}
}

// Lock ends the recording.
func (r *RecordingFs) Lock() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.locked = true
}

// Kept returns the file system of the files read so far.
func (r *RecordingFs) Kept() fsext.Fs { return r.kept }

func (r *RecordingFs) isLocked() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.locked
}

// Open opens a file for reading.
func (r *RecordingFs) Open(name string) (afero.File, error) {
	if file, err := r.kept.Open(name); err == nil {
		if info, err := file.Stat(); err == nil && !info.IsDir() {
			return file, nil
		}
		_ = file.Close() // a folder in memory
	}
	if r.isLocked() {
		return nil, fmt.Errorf("%w: open %s: the file was not opened when the script was initialised for the first "+
			"time (__VU 0); a VU can only open files that were opened then", fs.ErrNotExist, name)
	}
	info, err := r.Fs.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return r.Fs.Open(name)
	}
	data, err := fsext.ReadFile(r.Fs, name)
	if err != nil {
		return nil, err
	}
	if err := fsext.WriteFile(r.kept, name, data, 0o600); err != nil {
		return nil, fmt.Errorf("keeping the file %s: %w", name, err)
	}
	return r.kept.Open(name)
}

// OpenFile opens a file for reading; any other use is refused.
func (r *RecordingFs) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0 {
		return r.Fs.OpenFile(name, flag, perm)
	}
	return r.Open(name)
}

// Stat describes a file.
func (r *RecordingFs) Stat(name string) (os.FileInfo, error) {
	if info, err := r.kept.Stat(name); err == nil && !info.IsDir() {
		return info, nil
	}
	if r.isLocked() {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return r.Fs.Stat(name)
}
