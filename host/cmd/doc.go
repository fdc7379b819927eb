// Package cmd is the command line of the embedded host.
package cmd
