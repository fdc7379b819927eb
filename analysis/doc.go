// Package analysis turns samples into statements with error bars: quantiles, paired comparisons, rank tests, scaling
// and fragmentation models.
//
// Everything in it is a pure function of its arguments: same input and seed, same output, on any machine. It reads no
// clock and does no I/O. Degenerate input has a defined answer, which is mostly a nil pointer ("not known") with a
// note that says why; nothing panics and nothing returns NaN.
package analysis
