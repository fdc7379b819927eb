// Package secrets has the sources of secrets that the host brings along: a file, and values from the command line.
package secrets

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/secretsource"
)

// source keeps its secrets in memory.
type source struct {
	description string
	values      map[string]string
}

func (s *source) Description() string { return s.description }

func (s *source) Get(key string) (string, error) {
	value, ok := s.values[key]
	if !ok {
		return "", fmt.Errorf("no value for the secret %q", key)
	}
	return value, nil
}

// NewMock makes a source from its argument: k=v,k2=v2.
func NewMock(params secretsource.Params) (secretsource.Source, error) {
	values := make(map[string]string)
	for part := range strings.SplitSeq(params.ConfigArgument, ",") {
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("parsing %q, expected key=value", part)
		}
		values[key] = value
	}
	return &source{description: "mock, for testing", values: values}, nil
}

// NewFile makes a source from a file with lines key=value. Its argument is the path, or filename=PATH. Empty
// lines and those that begin with # say nothing.
func NewFile(params secretsource.Params) (secretsource.Source, error) {
	path := strings.TrimPrefix(params.ConfigArgument, "filename=")
	if path == "" {
		return nil, fmt.Errorf("a file of secrets needs a path: file=PATH")
	}
	data, err := fsext.ReadFile(params.FS, path)
	if err != nil {
		return nil, fmt.Errorf("could not read the file of secrets: %w", err)
	}
	values := make(map[string]string)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" {
			// The text itself is left out, it may be a secret.
			return nil, fmt.Errorf("line %d of the file of secrets %s is not of the form key=value", number, path)
		}
		values[key] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("could not read the file of secrets %s: %w", path, err)
	}
	return &source{description: "file source from " + path, values: values}, nil
}
