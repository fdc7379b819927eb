// Package json compares JSON decoders on answers that a real server gave, as the benchmarks of its tests. It is a module
// of its own, so that the libraries it compares end up in nobody's k6.
package json
