package wire

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Exit is how a CLI process ended and what it printed.
type Exit struct {
	// Code is the exit code; -1 if a signal ended the process.
	Code int
	// Signal names the signal that ended the process, or is empty.
	Signal string
	Stdout string
	Stderr string
}

// The exit codes with a meaning of their own; newer CLIs use the last two, every CLI the first.
const (
	exitUsage              = 2
	exitPreconditionFailed = 4
	exitAdmissionCapped    = 75
)

var serverReturned = regexp.MustCompile(`(?s)^server returned (\d{3})(?: (?:[A-Za-z' -]*|<unknown status code>))?: ?(.*)$`)

// ClassifyExit makes the error for a CLI process that ended by itself without success: exit code not 0, or a signal.
//
// The exit code decides first, then a JSON error document on either stream, then how the report's first message begins.
func ClassifyExit(x Exit, write bool, secrets ...string) *Error {
	report := ParseReport(x.Stderr)
	if x.Signal != "" {
		e := &Error{Kind: KindCLISignal, ExitCode: -1, Message: "the CLI was ended by signal " + x.Signal}
		if report.Message != "" {
			e.Message += ": " + CleanMessage(report.Message, secrets...)
		}
		return e.settle(write)
	}
	doc, found := errorDocument(x.Stdout)
	if !found {
		doc, found = errorDocument(x.Stderr)
	}
	e := &Error{ExitCode: x.Code}
	if found {
		e.Code = CleanMessage(doc.Get("code").String(), secrets...)
		e.Message = CleanMessage(doc.Get("error").String(), secrets...)
	} else {
		e.Message = CleanMessage(report.text(), secrets...)
	}
	e.Kind = exitKind(x.Code, e, report, found, doc)
	if e.Message == "" {
		e.Message = "the CLI ended with exit code " + strconv.Itoa(x.Code) + " and said nothing"
	}
	_ = e.settle(write)
	if report.neverSent() || report.sentInPart() || e.Kind == KindCLIExit && x.Code == exitUsage {
		// No connection was made, or it broke before all was sent, or the arguments were refused: nothing that the server
		// could carry out has reached it.
		e.Indeterminate = false
	}
	return e
}

func exitKind(code int, e *Error, report Report, found bool, doc gjson.Result) ErrorKind {
	switch code {
	case exitPreconditionFailed:
		return KindPreconditionFailed
	case exitAdmissionCapped:
		return KindAdmissionCapped
	case exitUsage:
		if kind, ok := byWords(report.Raw, usageWords); ok && !found {
			return kind
		}
	}
	if found {
		if kind, ok := documentKind(e.Code, e.Message, doc); ok {
			return kind
		}
	}
	message := report.Message
	if found {
		message = e.Message
	}
	if m := serverReturned.FindStringSubmatch(message); m != nil {
		status, err := strconv.Atoi(m[1])
		if err == nil {
			inner := ClassifyStatus(Answer{Status: status, Body: strings.TrimSpace(m[2])}, false)
			e.Status, e.Code = status, inner.Code
			return inner.Kind
		}
	}
	if kind, ok := report.transportKind(); ok && !found {
		return kind
	}
	if kind, ok := byWords(message, conflictWords, storeWords, reportWords); ok {
		return kind
	}
	return KindCLIExit
}

// documentFields are fields of an error document that tell its kind by being there.
var documentFields = []struct {
	name string
	kind ErrorKind
}{
	{"manifest_conflict", KindConflictStale},
	{"read_set_conflict", KindConflictStale},
	{"published_dataset_version_conflict", KindConflictStale},
	{"key_conflict", KindConflictKey},
	{"merge_conflicts", KindMergeConflict},
	{"precondition_failure", KindPreconditionFailed},
	{"resource_limit", KindResourceLimit},
	{"recovery_required", KindRecoveryRequired},
}

// documentKind classifies a JSON error document that came without a status.
func documentKind(code, message string, doc gjson.Result) (ErrorKind, bool) {
	for _, f := range documentFields {
		if doc.Get(f.name).Exists() {
			return f.kind, true
		}
	}
	switch code {
	case "":
		return "", false
	case "conflict":
		return conflictKind(code, message, doc), true
	case "internal":
		if kind, ok := byWords(message, storeWords); ok {
			return kind, true
		}
		return KindInternal, true
	}
	kind, ok := codeKinds[code]
	return kind, ok
}

// errorDocument finds one JSON object with an `error` string that makes up the whole stream, apart from a leading
// line that names the target.
func errorDocument(stream string) (gjson.Result, bool) {
	text := strings.TrimSpace(stream)
	if i := strings.Index(text, "\n{"); i >= 0 && !strings.HasPrefix(text, "{") && strings.Count(text[:i], "\n") == 0 {
		text = text[i+1:]
	}
	if !strings.HasPrefix(text, "{") || !gjson.Valid(text) {
		return gjson.Result{}, false
	}
	doc := gjson.Parse(text)
	if doc.Get("error").Type != gjson.String {
		return gjson.Result{}, false
	}
	return doc, true
}

// Report is the CLI's error report: the message, and the causes below it.
type Report struct {
	Message string
	Causes  []string
	// Raw is the stream without ANSI sequences, for output that is no report.
	Raw string
}

var (
	reportCause = regexp.MustCompile(`^ {1,3}(\d{1,2}): ?(.*)$`)
	targetLine  = regexp.MustCompile(`^omnigraph [a-z ]+ → .*$`)
)

// ParseReport reads an error report as the CLI prints it: `Error:`, numbered messages, then `Location:` and a
// backtrace, which are dropped. A message may run over several lines.
func ParseReport(stderr string) Report {
	text := ansiSequence.ReplaceAllString(strings.ToValidUTF8(stderr, "�"), "")
	r := Report{Raw: strings.TrimSpace(text)}
	lines := strings.Split(text, "\n")
	start := -1
	for i, line := range lines {
		line = strings.TrimRight(line, " \r")
		if line == "Error:" {
			start = i + 1
			break
		}
		if strings.TrimSpace(line) != "" && !targetLine.MatchString(line) {
			break
		}
	}
	if start < 0 {
		return r
	}
	var items []string
	for _, line := range lines[start:] {
		line = strings.TrimRight(line, "\r")
		if line == "Location:" || strings.HasPrefix(strings.TrimSpace(line), "━━━") {
			break
		}
		if m := reportCause.FindStringSubmatch(line); m != nil && m[1] == strconv.Itoa(len(items)) {
			items = append(items, m[2])
			continue
		}
		if len(items) > 0 {
			items[len(items)-1] += "\n" + line
		}
	}
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	if len(items) > 0 {
		r.Message, r.Causes = items[0], items[1:]
	}
	return r
}

func (r Report) text() string {
	if r.Message == "" {
		return r.Raw
	}
	if len(r.Causes) == 0 {
		return r.Message
	}
	return r.Message + ": " + strings.Join(r.Causes, ": ")
}

const sendFailed = "error sending request for url ("

func (r Report) isTransport() bool { return strings.HasPrefix(r.Message, sendFailed) }

func (r Report) hasCause(prefix string) bool {
	for _, c := range r.Causes {
		if strings.HasPrefix(c, prefix) {
			return true
		}
	}
	return false
}

// transportKind tells how a request of the CLI failed on its way.
func (r Report) transportKind() (ErrorKind, bool) {
	if !r.isTransport() {
		return "", false
	}
	if r.hasCause("operation timed out") {
		return KindTimeout, true
	}
	for _, cause := range unreadableHead {
		if r.hasCause(cause) {
			return KindProtocol, true
		}
	}
	return KindConnect, true
}

// unreadableHead are the causes that an answer has whose head is not HTTP, or is more than the CLI takes.
var unreadableHead = []string{"invalid HTTP ", "invalid content-length parsed", "unexpected transfer-encoding parsed", "message head is too large"}

// neverSent reports that the CLI could not even connect.
func (r Report) neverSent() bool {
	return r.isTransport() && (r.hasCause("client error (Connect)") || r.hasCause("tcp connect error") || r.hasCause("dns error"))
}

// sentInPart reports that the connection broke while the CLI was still sending, as under a server that answers a request
// which is too large without reading it to its end.
func (r Report) sentInPart() bool {
	return r.isTransport() && r.hasCause("error writing a body to connection")
}
