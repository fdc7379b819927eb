//go:build !unix

package graph

import "os"

// Without advisory locks one process at a time may write a store.

func lockFile(*os.File) error { return nil }

func unlockFile(*os.File) {}
