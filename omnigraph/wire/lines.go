package wire

import (
	"bytes"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

// maxLineBytes bounds one row of an export, so that an answer without line ends can't fill the memory.
const maxLineBytes = 32 << 20

// Lines takes an export apart while it arrives: it checks that each line is a JSON object, counts it and hands it on.
// It holds no more than one line. It is used by one goroutine.
type Lines struct {
	// Each gets every row's JSON in turn, in memory that is its own. Nil only counts. An error ends the export.
	Each func(row string) error

	n       int
	rest    []byte
	problem error
}

// Write implements io.Writer. After a line that is no row, or an error of Each, it fails.
func (l *Lines) Write(p []byte) (int, error) {
	if l.problem != nil {
		return 0, l.problem
	}
	taken := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		line := p[:i]
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = l.rest[:0]
		}
		p = p[i+1:]
		if l.line(line); l.problem != nil {
			return 0, l.problem
		}
	}
	if len(l.rest)+len(p) > maxLineBytes {
		l.problem = fmt.Errorf("line %d is longer than %d bytes", l.n+1, maxLineBytes)
		return 0, l.problem
	}
	l.rest = append(l.rest, p...)
	return taken, nil
}

func (l *Lines) line(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] != '{' || !gjson.ValidBytes(line) {
		l.problem = &notARow{number: l.n + 1, text: excerpt(string(line[:min(len(line), 200)]))}
		return
	}
	if message, ok := errorLine(line); ok {
		l.problem = fmt.Errorf("says success and carries an error: %s", CleanMessage(message))
		return
	}
	l.n++
	if l.Each != nil {
		l.problem = l.Each(string(line))
	}
}

// errorLine tells an error document from a row, which names its type or its edge.
func errorLine(line []byte) (message string, ok bool) {
	// A row begins with what it is: where it names that, the rest need not be looked at.
	if gjson.GetBytes(line, "type").Exists() || gjson.GetBytes(line, "edge").Exists() {
		return "", false
	}
	e := gjson.GetBytes(line, "error")
	return e.String(), e.Type == gjson.String
}

// notARow is a line of an export that is no JSON object.
type notARow struct {
	number int
	text   string
}

// Error implements error.
func (e *notARow) Error() string {
	return fmt.Sprintf("has a line %d that is not a JSON object: %s", e.number, e.text)
}

// Finish ends the export with the line that has no end, and gives what it came to.
func (l *Lines) Finish(o *Operation) (Success, *Error) {
	if l.problem == nil && len(bytes.TrimSpace(l.rest)) > 0 {
		l.line(l.rest)
	}
	l.rest = nil
	if l.problem != nil {
		e := &Error{Kind: KindProtocol, Message: fmt.Sprintf("the answer to %s %s", o.Op, l.problem)}
		return Success{}, e.settle(o.MayWrite())
	}
	return Success{RowCount: l.n}, nil
}

// Failed gives what ended the export early, or nil.
func (l *Lines) Failed() error { return l.problem }

var _ io.Writer = (*Lines)(nil)
