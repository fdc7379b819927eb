// Package xk6omnigraph registers the extension with k6: the JS module k6/x/omnigraph and the subcommand
// `k6 x omnigraph`.
package xk6omnigraph

import (
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/subcommand"

	"github.com/mitodl/xk6-omnigraph/omnigraph"
)

func init() {
	modules.Register(omnigraph.ImportPath, omnigraph.New())
	subcommand.RegisterExtension(commandName, newCommand)
}
