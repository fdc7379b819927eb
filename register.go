// Package xk6omnigraph registers the extension with k6: the JS module k6/x/omnigraph and the subcommand
// `k6 x omnigraph`.
package xk6omnigraph
