// Package subcommand lets extensions add commands below `k6 x`.
package subcommand

import (
	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"
)

// Constructor makes the command. It is called on every start of the binary, before the command line is read,
// so it has to be cheap and free of side effects.
type Constructor func(*state.GlobalState) *cobra.Command

// RegisterExtension makes the command available as `k6 x name`; the command's own name has to be the same. It
// panics if the name is taken.
func RegisterExtension(name string, c Constructor) {
	ext.Register(name, ext.SubcommandExtension, c)
}
