// Package lib is what the parts of a test run share: the options, the state of a VU and of the run, groups and
// checks, and how a test is split over several processes.
package lib
