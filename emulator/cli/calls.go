package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

// countCall notes a call beside the fault file and returns those before it: every call is a process of its own,
// and a rule that says "the third one" needs them counted.
func countCall(path, command string) (before []faults.Call, err error) {
	f, err := os.OpenFile(path+".calls", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) // #nosec G304 -- beside the user's file
	if err != nil {
		return nil, fmt.Errorf("count the calls of the fault file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	unlock, err := graph.Exclusive(f)
	if err != nil {
		return nil, fmt.Errorf("count the calls of the fault file: %w", err)
	}
	defer unlock()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("count the calls of the fault file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		before = append(before, faults.Call{Command: strings.TrimSuffix(line, "\n")})
	}
	_, err = f.WriteString(command + "\n")
	return before, err
}
