//go:build race

package analysis

// With the race detector a simulation takes ten times as long: it then looks for races with few runs, and the coverage
// is checked by the build without it.
const raceDetector = true
