package rig

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
)

// tailBytes is how much of a log's end is looked at, tailLines how much of that is shown.
const (
	tailBytes = 32 << 10
	tailLines = 15
)

var (
	// ansi matches CSI sequences (colours, cursor movements) and OSC sequences (titles, links).
	ansi = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)
	// sourcePath matches the folder of the sources that omnigraph was built from, which its reports quote.
	sourcePath = regexp.MustCompile(`/\S*?/\.cargo/registry/src/[^/\s]+/`)
	// report matches the first cause of an error report: "   0: message".
	report = regexp.MustCompile(`^\s*0:\s+(.*)$`)
)

// clean makes a program's output fit to be shown: without ANSI codes, other control characters and the paths
// of the machine it was built on.
func clean(s string) string {
	s = sourcePath.ReplaceAllString(ansi.ReplaceAllString(s, ""), "/src/")

	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}

		return r
	}, s)
}

// tail gives the last telling lines of an output: no blank ones, nothing of an error report from its backtrace on.
func tail(out []byte) []string {
	if len(out) > tailBytes {
		out = out[len(out)-tailBytes:]
		if i := bytes.IndexByte(out, '\n'); i >= 0 {
			out = out[i+1:]
		}
	}

	var lines []string

	for line := range strings.SplitSeq(clean(string(out)), "\n") {
		if strings.Contains(line, "━ BACKTRACE ━") {
			break
		}

		if line = strings.TrimRight(line, " \t"); line != "" {
			lines = append(lines, line)
		}
	}

	return lines[max(0, len(lines)-tailLines):]
}

// fileTail is tail of a file's end. A file that can't be read has no lines.
func fileTail(path string) []string {
	f, err := os.Open(path) // #nosec G304 -- a file of the rig
	if err != nil {
		return nil
	}
	defer f.Close()

	if _, err := f.Seek(-2*tailBytes, io.SeekEnd); err != nil {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil
		}
	}

	out, err := io.ReadAll(io.LimitReader(f, 2*tailBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}

	return tail(out)
}

// lastMessage picks the one line that says most: the first cause of an error report, else the last line.
func lastMessage(lines []string) string {
	for i, line := range lines {
		m := report.FindStringSubmatch(line)
		if m == nil {
			continue
		}

		// A message of several lines is indented further than its number.
		msg := m[1]

		for _, more := range lines[i+1:] {
			if !strings.HasPrefix(more, "     ") {
				break
			}

			msg += " " + strings.TrimSpace(more)
		}

		return msg
	}

	if len(lines) == 0 {
		return ""
	}

	return strings.TrimSpace(lines[len(lines)-1])
}
