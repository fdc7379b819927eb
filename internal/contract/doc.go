// Package contract holds the guards that keep the extension compiling against the real k6, and k6 out of this
// repository: which identifiers of k6 may be used, which versions of shared dependencies, and no trace of a download.
package contract
