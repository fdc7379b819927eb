//go:build !unix

package cliclient

func isTextBusy(error) bool { return false }

func isFolder(error) bool { return false }

func isNotProgram(error) bool { return false }

func isTooLong(error) bool { return false }

func explainLimit(error) string { return "" }
