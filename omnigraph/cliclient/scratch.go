package cliclient

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mitodl/xk6-omnigraph/internal/scratch"
)

// The names of what is made.
var (
	homePattern  = scratch.Pattern(homeKind)
	filesPattern = scratch.Pattern(filesKind)
)

// callScratch is what one call keeps on disk: an empty configuration folder and the values too long for an argument, all
// readable by this user alone.
type callScratch struct{ home, files string }

// makeScratch writes the files of a call and puts their paths into its arguments. On an error nothing is left behind.
func makeScratch(a *arguments, withHome bool) (*callScratch, error) {
	s := &callScratch{}
	if err := s.fill(a, withHome); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *callScratch) fill(a *arguments, withHome bool) (err error) {
	if withHome {
		if s.home, err = os.MkdirTemp(homeParent, homePattern); err != nil {
			if s.home, err = os.MkdirTemp("", homePattern); err != nil {
				return fmt.Errorf("making an empty configuration folder: %w", err)
			}
		}
	}
	if len(a.files) == 0 {
		return nil
	}
	if s.files, err = os.MkdirTemp("", filesPattern); err != nil {
		return fmt.Errorf("making a folder for long arguments: %w", err)
	}
	for _, f := range a.files {
		path := filepath.Join(s.files, f.name)
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return fmt.Errorf("writing a long argument to a file: %w", err)
		}
		a.list[f.index] = path
	}
	return nil
}

// remove deletes everything; the CLI may have put files of its own into its configuration folder.
func (s *callScratch) remove() error {
	var errs []error
	if s.home != "" {
		// Nearly always the folder is still empty, and one system call is enough.
		if err := os.Remove(s.home); err != nil {
			errs = append(errs, os.RemoveAll(s.home))
		}
	}
	if s.files != "" {
		errs = append(errs, os.RemoveAll(s.files))
	}
	return errors.Join(errs...)
}
