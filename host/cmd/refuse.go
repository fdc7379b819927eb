package cmd

import "fmt"

// refuse is the error for something that k6 has and the embedded host does not.
func refuse(what string) error {
	return fmt.Errorf("%s is not available in this embedded host; the real k6 has it", what)
}
