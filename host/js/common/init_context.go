package common

import (
	"net/url"
	"path/filepath"

	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
)

// InitEnvironment is what a module may use while a script's init code runs.
type InitEnvironment struct {
	*lib.TestPreInitState
	// FileSystems are keyed by the scheme of the URLs they serve, "file" and "https".
	FileSystems map[string]fsext.Fs
	// CWD is the folder of the main script, with a slash at its end.
	CWD *url.URL
}

// GetAbsFilePath returns the path of a file that is named relative to the main script's folder.
func (ie *InitEnvironment) GetAbsFilePath(filename string) string {
	if filepath.IsAbs(filename) || ie.CWD == nil {
		return filepath.Clean(filename)
	}
	return fsext.Abs(ie.CWD.Path, filename)
}

// InitContextError says that something may only be done, or must not be done, in the init context.
type InitContextError string

// NewInitContextError makes the error.
func NewInitContextError(msg string) InitContextError { return InitContextError(msg) }

func (e InitContextError) Error() string { return string(e) }

// String returns the same text as Error.
func (e InitContextError) String() string { return string(e) }

// Events are where a module learns about the life-cycle: of the test, and of its VU. Either may be nil.
type Events struct {
	Global, Local event.Subscriber
}
