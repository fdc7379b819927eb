//go:build !race

package httpext_test

// raceEnabled says that the race detector runs: it makes pools forget.
const raceEnabled = false
