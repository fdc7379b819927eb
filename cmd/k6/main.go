// Command k6 is a k6 with this extension linked in: the same main package that xk6 generates.
package main

import (
	"go.k6.io/k6/v2/cmd"

	_ "github.com/mitodl/xk6-omnigraph"
)

func main() {
	cmd.Execute()
}
