package recorder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// lockFile is held by the run that writes into a folder, and removed by it.
const lockFile = "record.lock"

// ErrClaimed is the error of [ClaimFolder] while another run holds the folder.
var ErrClaimed = errors.New("another run writes its record there")

// errLocked is what lock gives for a file that is locked through another descriptor.
var errLocked = errors.New("locked")

// Claim is a folder's promise that no other run writes its record there. The operating system ends it with the process,
// however that ends.
type Claim struct {
	file *os.File
	path string
	once sync.Once
	err  error
}

// ClaimFolder takes a folder for one run's record, so that of two runs at once the later does not replace the earlier's
// results. It is [ErrClaimed] while another run, of this process or another, has it. The folder has to be there. Where
// the operating system or the file system has no locks the claim is always given.
func ClaimFolder(dir string) (*Claim, error) {
	path := filepath.Join(dir, lockFile)
	const attempts = 10 // each loses against a run that ends just then
	for range attempts {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- below the folder that the user named
		if err != nil {
			return nil, fmt.Errorf("claim folder %s: %w", dir, err)
		}
		if err := lock(file); err != nil {
			holder := holderOf(file)
			err = errors.Join(err, file.Close())
			if errors.Is(err, errLocked) {
				return nil, fmt.Errorf("%s%s: %w", dir, holder, ErrClaimed)
			}
			return nil, fmt.Errorf("claim folder %s: %w", dir, err)
		}
		// A run that just ended may have removed this very file: then the lock is on nothing.
		if same, err := isAt(file, path); err != nil || !same {
			if err = errors.Join(err, file.Close()); err != nil {
				return nil, fmt.Errorf("claim folder %s: %w", dir, err)
			}
			continue
		}
		c := &Claim{file: file, path: path}
		if err := c.sign(); err != nil {
			return nil, errors.Join(fmt.Errorf("claim folder %s: %w", dir, err), c.Release())
		}
		return c, nil
	}
	return nil, fmt.Errorf("%s: %w", dir, ErrClaimed)
}

func isAt(file *os.File, path string) (bool, error) {
	have, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(have, now), nil
}

// sign writes down who holds the folder, for the message that another run gets.
func (c *Claim) sign() error {
	if err := c.file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.file, "process %d since %s\n", os.Getpid(), time.Now().Format("2006-01-02 15:04:05"))
	return err
}

// holderOf reads what the holder wrote down; empty if that can't be read.
func holderOf(file *os.File) string {
	const most = 200
	data, err := io.ReadAll(io.LimitReader(file, most))
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "")), " ")
	if err != nil || words == "" {
		return ""
	}
	return " (" + words + ")"
}

// Release gives the folder back. Calls after the first do nothing more.
func (c *Claim) Release() error {
	c.once.Do(func() {
		// Removed while it is still locked: nobody can have claimed the folder by this file yet. Not every system can
		// remove a file that is open.
		removed := os.Remove(c.path)
		c.err = c.file.Close()
		if removed != nil {
			c.err = errors.Join(c.err, os.Remove(c.path))
		}
	})
	return c.err
}
