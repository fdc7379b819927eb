// Package metrics is what a test measures: metrics, the samples that scripts and modules emit for them, the tags
// that tell samples apart, the sinks that aggregate them, and the thresholds that judge the result.
package metrics
