// Package conformance holds one table of requests and CLI calls that is run against the emulator and against the
// real omnigraph, so that what the emulator does stays what omnigraph does.
//
// The table is in the package's tests. Where the two are meant to differ, testdata/differences.json names the field and
// the reason; a difference that no longer occurs fails the test.
package conformance
