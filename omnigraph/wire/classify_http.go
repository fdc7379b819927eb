package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Answer is what came back for one attempt over HTTP, or the part of a CLI's report that says the same.
type Answer struct {
	Status int
	Body   string
	// RetryAfter is the header's value as sent, or empty. It may be a number of seconds or an HTTP date.
	RetryAfter string
	// Date is the answer's Date header, against which a Retry-After date is read.
	Date string
}

// maxRetryAfter bounds what a header may ask for, so that a broken one can't overflow a duration.
const maxRetryAfter = 365 * 24 * time.Hour

// ClassifyStatus makes the error for an HTTP answer whose status is not 2xx.
//
// Status and the server's code decide first, then the fields of its JSON document, then how its message begins. write
// says that the operation may have changed the store; secrets are masked in the message.
func ClassifyStatus(a Answer, write bool, secrets ...string) *Error {
	doc := document(a.Body)
	e := &Error{Status: a.Status, Code: CleanMessage(doc.Get("code").String(), secrets...)}
	message := doc.Get("error")
	switch {
	case message.Type == gjson.String:
		e.Message = message.String()
	case message.IsObject() && message.Get("message").Exists():
		e.Message = message.Get("message").String()
	default:
		e.Message = a.Body
	}
	e.Message = CleanMessage(e.Message, secrets...)
	e.Kind = statusKind(a.Status, e.Code, e.Message, len(a.Body) == 0, doc)
	if e.Message == "" {
		e.Message = emptyAnswer(a.Status, e.Kind)
	}
	e.RetryAfter = ParseRetryAfter(a.RetryAfter, a.Date)
	return e.settle(write)
}

func emptyAnswer(status int, kind ErrorKind) string {
	text := http.StatusText(status)
	if text == "" {
		text = "unknown status"
	}
	if kind == KindUnsupported {
		return fmt.Sprintf("the server answered %d %s without a body: it does not have this route; check the address and the server's version", status, text)
	}
	return fmt.Sprintf("the server answered %d %s without a message", status, text)
}

func statusKind(status int, code, message string, empty bool, doc gjson.Result) ErrorKind {
	specific, hasSpecific := codeKinds[code]
	switch status {
	case http.StatusUnauthorized:
		return KindUnauthorized
	case http.StatusForbidden:
		return KindForbidden
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		if empty || status == http.StatusMethodNotAllowed {
			return KindUnsupported
		}
		if code == "graph_unavailable" {
			return KindGraphUnavailable
		}
		return KindNotFound
	case http.StatusRequestTimeout:
		return KindTimeout
	case http.StatusPreconditionFailed:
		return KindPreconditionFailed
	case http.StatusRequestEntityTooLarge, http.StatusInsufficientStorage:
		return KindResourceLimit
	case http.StatusTooManyRequests:
		return KindAdmissionCapped
	case http.StatusConflict:
		return conflictKind(code, message, doc)
	case http.StatusNotImplemented:
		return KindUnsupported
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return KindUnavailable
	}
	switch {
	case status == http.StatusServiceUnavailable:
		if hasSpecific {
			return specific
		}
		if doc.Get("recovery_required").Exists() {
			return KindRecoveryRequired
		}
		if kind, ok := byWords(message, storeWords); ok {
			return kind
		}
		return KindUnavailable
	case status >= 500:
		if hasSpecific {
			return specific
		}
		if kind, ok := byWords(message, storeWords); ok {
			return kind
		}
		return KindInternal
	case status >= 400:
		if code == "api_contract_mismatch" {
			return KindVersionMismatch
		}
		return KindBadRequest
	}
	return KindProtocol
}

func conflictKind(code, message string, doc gjson.Result) ErrorKind {
	if kind, ok := codeKinds[code]; ok {
		return kind
	}
	for _, f := range documentFields {
		if doc.Get(f.name).Exists() {
			return f.kind
		}
	}
	if kind, ok := byWords(message, conflictWords, storeWords); ok {
		return kind
	}
	return KindConflict
}

// document parses a body as a JSON object; anything else gives a result without fields.
func document(body string) gjson.Result {
	if !gjson.Valid(body) {
		return gjson.Result{}
	}
	doc := gjson.Parse(body)
	if !doc.IsObject() {
		return gjson.Result{}
	}
	return doc
}

// ParseRetryAfter reads a Retry-After header (RFC 9110, section 10.2.3): seconds or a date, the latter relative to the
// answer's own Date where that is given. What is missing, malformed or past is 0.
func ParseRetryAfter(value, date string) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		if seconds > maxRetryAfter.Seconds() {
			return maxRetryAfter
		}
		return time.Duration(seconds * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(date)
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// Failure is how an attempt ended without an answer.
type Failure struct {
	Kind    ErrorKind
	Message string
	// Sent says that the request may have reached the server, and as a whole: of a part it can do nothing.
	Sent bool
}

// ClassifyFailure makes the error for an attempt that got no answer. A write that was never sent has a known outcome.
func ClassifyFailure(f Failure, write bool, secrets ...string) *Error {
	e := (&Error{Kind: f.Kind, Message: CleanMessage(f.Message, secrets...)}).settle(write)
	if !f.Sent {
		e.Indeterminate = false
	}
	return e
}
