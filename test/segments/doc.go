// Package segments tests that several k6 processes, each with its execution segment, do the work of one: no iteration
// twice, no key twice, and records that merge into the record of the whole.
package segments
