package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
)

// serveAddress listens at the address of the REST API, if one is given. The host has no REST API: every request
// is answered with an error that says so. An address that can't be used is an error if it was given on the command
// line, else a warning. The returned function stops it.
func serveAddress(gs *state.GlobalState, given bool) (stop func(), err error) {
	if gs.Flags.ProfilingEnabled {
		return nil, refuse("profiling")
	}
	if gs.Flags.Address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(gs.Ctx, "tcp", gs.Flags.Address)
	if err != nil && !given {
		gs.Logger.WithError(err).Warn("the REST API's address can't be used")
		return func() {}, nil
	}
	if err != nil {
		return nil, errext.WithExitCodeIfNone(
			fmt.Errorf("could not listen at the address %q of the REST API: %w", gs.Flags.Address, err),
			exitcodes.CannotStartRESTAPI)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, refuse("the REST API").Error(), http.StatusNotImplemented)
		}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			gs.Logger.WithError(err).Error("the server of the REST API failed")
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			gs.Logger.WithError(err).Debug("closing the server of the REST API")
		}
		<-done
	}, nil
}
