// Package errext attaches to an error what the process needs to report it: an exit code, a hint, log fields, and
// the reason why a test was aborted.
//
// An annotation wraps the error, so errors.Is and errors.As see through it. "IfNone" means that an annotation
// already present in the chain wins: the code closest to the cause knows best.
package errext
