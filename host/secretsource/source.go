// Package secretsource gives scripts secrets by name and keeps them out of the logs.
package secretsource

import (
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/lib/fsext"
)

// DefaultSourceName is the source asked when the script names none.
const DefaultSourceName = "default"

// Source is a place that secrets come from. Get is called from many goroutines.
type Source interface {
	// Description is shown to the user at start.
	Description() string
	// Get returns the secret of this name.
	Get(key string) (value string, err error)
}

// Params is what a source's constructor gets.
type Params struct {
	ConfigArgument string // what follows "type=" on the command line
	Logger         logrus.FieldLogger
	Environment    map[string]string
	FS             fsext.Fs
	Usage          *usage.Usage
}

// Constructor makes a source.
type Constructor func(Params) (Source, error)

// RegisterExtension makes a source available as `--secret-source name=…`. It panics if the name is taken.
func RegisterExtension(name string, c Constructor) {
	ext.Register(name, ext.SecretSourceExtension, c)
}
