// Package trace supplies the tracer provider that a test's state carries. The embedded host exports no traces, so
// the provider makes spans that record nothing.
package trace

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// TracerProvider hands out tracers and is shut down at the end of the test.
type TracerProvider struct {
	trace.TracerProvider
}

// NewNoopTracerProvider returns a provider whose spans record nothing.
func NewNoopTracerProvider() *TracerProvider {
	return &TracerProvider{TracerProvider: noop.NewTracerProvider()}
}

// Shutdown releases the provider; there is nothing to flush.
func (*TracerProvider) Shutdown(context.Context) error { return nil }
