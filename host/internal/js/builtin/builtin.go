// Package builtin lists the modules that scripts can import without any extension.
package builtin

import (
	"fmt"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/js/modules/k6"
	"go.k6.io/k6/v2/internal/js/modules/k6/crypto"
	"go.k6.io/k6/v2/internal/js/modules/k6/data"
	"go.k6.io/k6/v2/internal/js/modules/k6/encoding"
	"go.k6.io/k6/v2/internal/js/modules/k6/execution"
	"go.k6.io/k6/v2/internal/js/modules/k6/http"
	"go.k6.io/k6/v2/internal/js/modules/k6/metrics"
	"go.k6.io/k6/v2/internal/js/modules/k6/secrets"
	"go.k6.io/k6/v2/internal/js/modules/k6/timers"
)

// Modules returns all modules by name: the built-in ones, those that the host knows and refuses, and the extensions
// that are linked in. Each call makes new roots of the built-in ones: they belong to one test.
func Modules() map[string]any {
	all := map[string]any{
		"k6":           k6.New(),
		"k6/crypto":    crypto.New(),
		"k6/data":      data.New(),
		"k6/encoding":  encoding.New(),
		"k6/execution": execution.New(),
		"k6/http":      http.New(),
		"k6/metrics":   metrics.New(),
		"k6/secrets":   secrets.New(),
		"k6/timers":    timers.New(),
	}
	for name, reason := range refusals() {
		all[name] = refused{name: name, reason: reason}
	}
	for name, extension := range ext.Get(ext.JSExtension) {
		all[name] = extension.Module
	}
	return all
}

// refused is a module of k6 that can't be imported here.
type refused struct{ name, reason string }

// ImportError says why.
func (r refused) ImportError() error {
	return fmt.Errorf("the module %q %s", r.name, r.reason)
}

func refusals() map[string]string {
	const elsewhere = "is not part of the embedded host, the real k6 has it: build one with xk6 to run this script"
	const moved = "was removed from k6; import %q instead"
	all := make(map[string]string)
	for _, name := range []string{
		"k6/browser", "k6/crypto/x509", "k6/html", "k6/net/grpc", "k6/websockets", "k6/ws",
		"k6/experimental/csv", "k6/experimental/fs", "k6/experimental/streams",
	} {
		all[name] = elsewhere
	}
	for name, now := range map[string]string{
		"k6/experimental/browser":    "k6/browser",
		"k6/experimental/grpc":       "k6/net/grpc",
		"k6/experimental/timers":     "k6/timers",
		"k6/experimental/websockets": "k6/websockets",
	} {
		all[name] = fmt.Sprintf(moved, now)
	}
	all["k6/experimental/webcrypto"] = "was removed from k6; use the global object crypto instead"
	all["k6/experimental/tracing"] = "was removed from k6; a library on jslib.k6.io takes its place"
	all["k6/experimental/redis"] = "was removed from k6; the extension k6/x/redis takes its place"
	return all
}
