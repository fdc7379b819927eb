// Package k6 is the root of the embedded host, which supplies the module path of k6 inside this repository.
package k6
