// Package contract holds tests alone: they fail to compile if the public Go API loses a name or changes a signature
// that extensions rely on.
package contract
