// Package command puts reports on a command line: report, compare, plan and record as cobra commands that any program
// can take in.
//
// The commands write to the writers that they are given, read and write files only where the user names them, and end
// with an error instead of the process. They know nothing of k6.
package command
