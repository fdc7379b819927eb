// Command omnigraph-emulator is omnigraph without omnigraph.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mitodl/xk6-omnigraph/emulator/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Args)
	stop()
	os.Exit(code)
}
