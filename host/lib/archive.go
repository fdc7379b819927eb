package lib

import (
	"net/url"

	"go.k6.io/k6/v2/lib/fsext"
)

// Archive is a test with everything it loads: the script, the files that its init code opened, and its options.
type Archive struct {
	Type         string              `json:"type"`
	Options      Options             `json:"options"`
	FilenameURL  *url.URL            `json:"-"`
	Data         []byte              `json:"-"` // the main script
	PwdURL       *url.URL            `json:"-"`
	Filesystems  map[string]fsext.Fs `json:"-"` // by URL scheme
	Env          map[string]string   `json:"env"`
	K6Version    string              `json:"k6version"`
	Goos         string              `json:"goos"`
	Dependencies map[string]string   `json:"dependencies,omitempty"`
}
