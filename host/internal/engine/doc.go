// Package engine runs a test: it initialises the VUs, starts the iterations that the scenarios' schedules ask
// for, takes the samples to the metrics and outputs, and ends the test when it is over or aborted.
package engine
