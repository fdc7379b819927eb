// Package rigcmd is the command line of a rig, as `k6 x omnigraph rig`. It takes its streams, environment and
// signals from outside, so that it knows nothing of k6 and can be tested without a process.
package rigcmd
