//go:build !linux

package cliclient

// homeParent is where the empty configuration folders are made: the system's folder for temporary files.
const homeParent = ""
