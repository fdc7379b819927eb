package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// field is one field of a request body.
type field struct {
	name  string
	alias string
	kind  fieldKind
}

type fieldKind uint8

const (
	requiredText fieldKind = iota
	optionalText
	anything
	optionalBool
	loadMode
	textList
)

// form is the type into which a body is read, named as messages name it.
type form struct {
	name   string
	fields []field
}

var (
	queryForm  = form{"QueryRequest", []field{{name: "query"}, {name: "name", kind: optionalText}, {name: "params", kind: anything}, {name: "branch", kind: optionalText}, {name: "snapshot", kind: optionalText}}}
	changeForm = form{"ChangeRequest", []field{{name: "query", alias: "query_source"}, {name: "name", alias: "query_name", kind: optionalText}, {name: "params", kind: anything}, {name: "branch", kind: optionalText}}}
	readForm   = form{"ReadRequest", []field{{name: "query_source"}, {name: "query_name", kind: optionalText}, {name: "params", kind: anything}, {name: "branch", kind: optionalText}, {name: "snapshot", kind: optionalText}}}
	invokeForm = form{"InvokeStoredQueryRequest", []field{{name: "params", kind: anything}, {name: "branch", kind: optionalText}, {name: "snapshot", kind: optionalText}, {name: "expect_mutation", kind: optionalBool}}}
	ingestForm = form{"IngestRequest", []field{{name: "data"}, {name: "mode", kind: loadMode}, {name: "branch", kind: optionalText}, {name: "from", kind: optionalText}}}
	branchForm = form{"BranchCreateRequest", []field{{name: "name"}, {name: "from", kind: optionalText}}}
	mergeForm  = form{"BranchMergeRequest", []field{{name: "source"}, {name: "target", kind: optionalText}}}
	exportForm = form{"ExportRequest", []field{{name: "branch", kind: optionalText}, {name: "type_names", kind: textList}, {name: "table_keys", kind: textList}}}
	applyForm  = form{"SchemaApplyRequest", []field{{name: "schema_source"}, {name: "allow_data_loss", kind: optionalBool}}}
)

// values are the fields that a body set, null ones left out.
type values map[string]*jsondoc.Value

func (v values) text(name string) string {
	if x := v[name]; x != nil {
		return x.Text
	}
	return ""
}

func (v values) texts(name string) []string {
	x := v[name]
	if x == nil {
		return nil
	}
	list := make([]string, len(x.Items))
	for i := range x.Items {
		list[i] = x.Items[i].Text
	}
	return list
}

// plainText answers in text/plain, as the server's HTTP layer does for bodies that it cannot read.
func plainText(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message) // the client may be gone
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	sub, ok := strings.CutPrefix(media, "application/")
	return ok && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// rawBody reads the body up to a limit and answers 413 beyond it.
func (r *request) rawBody(limit int64) (string, bool) {
	var text []byte
	var err error
	switch n := r.ContentLength; {
	case n > limit:
		err = errTooLarge
	case n >= 0:
		// The length is known: one buffer of just that size.
		text = make([]byte, n)
		_, err = io.ReadFull(r.Body, text)
	default:
		if text, err = io.ReadAll(io.LimitReader(r.Body, limit+1)); err == nil && int64(len(text)) > limit {
			err = errTooLarge
		}
	}
	switch {
	case errors.Is(err, errTooLarge):
		r.w.Header().Set("Connection", "close")
		plainText(r.w, http.StatusRequestEntityTooLarge, "Failed to buffer the request body: "+err.Error())
		return "", false
	case err != nil:
		plainText(r.w, http.StatusBadRequest, "Failed to buffer the request body: "+err.Error())
		return "", false
	}
	return string(text), true
}

var errTooLarge = errors.New("length limit exceeded")

// body reads a JSON body into a form and answers what is wrong with it.
func (r *request) body(f form, limit int64) (values, int64, bool) {
	if !isJSON(r.Header.Get("Content-Type")) {
		plainText(r.w, http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
		return nil, 0, false
	}
	text, ok := r.rawBody(limit)
	if !ok {
		return nil, 0, false
	}
	v, err := decode(text, f)
	var syntax *jsondoc.SyntaxError
	switch {
	case errors.As(err, &syntax):
		message := syntax.Error()
		if syntax.Path != "" {
			message = syntax.Path + ": " + message
		}
		plainText(r.w, http.StatusBadRequest, "Failed to parse the request body as JSON: "+message)
		return nil, 0, false
	case err != nil:
		plainText(r.w, http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: "+err.Error())
		return nil, 0, false
	}
	return v, int64(len(text)), true
}

// shapeError is a well-formed document of the wrong shape.
type shapeError struct{ message string }

func (e *shapeError) Error() string { return e.message }

func wrongShape(text string, offset int, format string, args ...any) error {
	line, column := jsondoc.Position(text, offset)
	return &shapeError{fmt.Sprintf(format, args...) + fmt.Sprintf(" at line %d column %d", line, column)}
}

// decode reads a document into a form. Unknown fields are ignored; a known one may occur once.
func decode(text string, f form) (values, error) {
	doc, err := jsondoc.Parse(text)
	if err != nil {
		return nil, err
	}
	vals := values{}
	if doc.Kind != jsondoc.Object {
		if doc.Kind == jsondoc.Array && len(doc.Items) == 0 {
			if f.optional() {
				return vals, nil
			}
			return nil, wrongShape(text, doc.End, "invalid length 0, expected struct %s with %d elements", f.name, len(f.fields))
		}
		return nil, wrongShape(text, doc.End, "invalid type: %s, expected struct %s", describe(&doc), f.name)
	}
	for i := range doc.Members {
		m := &doc.Members[i]
		fd := f.field(m.Name)
		if fd == nil {
			continue
		}
		if _, twice := vals[fd.name]; twice {
			return nil, wrongShape(text, m.NameEnd, "duplicate field `%s`", fd.name)
		}
		if err := fd.check(text, &m.Value); err != nil {
			return nil, err
		}
		vals[fd.name] = &m.Value
	}
	for _, fd := range f.fields {
		if v, ok := vals[fd.name]; !ok && fd.kind == requiredText {
			return nil, wrongShape(text, doc.End, "missing field `%s`", fd.name)
		} else if ok && v.Kind == jsondoc.Null {
			delete(vals, fd.name)
		}
	}
	return vals, nil
}

// optional reports whether a form has no required field, so that an empty sequence stands for it.
func (f form) optional() bool {
	return f.name == invokeForm.name
}

func (f form) field(name string) *field {
	for i := range f.fields {
		if fd := &f.fields[i]; fd.name == name || (fd.alias != "" && fd.alias == name) {
			return fd
		}
	}
	return nil
}

func (fd *field) check(text string, v *jsondoc.Value) error {
	wrong := func(expected string) error {
		return wrongShape(text, v.End, "%s: invalid type: %s, expected %s", fd.name, describe(v), expected)
	}
	if v.Kind == jsondoc.Null && fd.kind != requiredText && fd.kind != textList {
		return nil
	}
	switch fd.kind {
	case requiredText, optionalText:
		if v.Kind != jsondoc.String {
			return wrong("a string")
		}
	case optionalBool:
		if v.Kind != jsondoc.Bool {
			return wrong("a boolean")
		}
	case textList:
		if v.Kind != jsondoc.Array {
			return wrong("a sequence")
		}
		for i := range v.Items {
			if v.Items[i].Kind != jsondoc.String {
				return wrongShape(text, v.Items[i].End, "%s[%d]: invalid type: %s, expected a string", fd.name, i, describe(&v.Items[i]))
			}
		}
	case loadMode:
		if v.Kind != jsondoc.String {
			return wrong("string or map")
		}
		if v.Text != "overwrite" && v.Text != "append" && v.Text != "merge" {
			return wrongShape(text, v.End, "%s: unknown variant `%s`, expected one of `overwrite`, `append`, `merge`", fd.name, v.Text)
		}
	case anything:
	}
	return nil
}

func describe(v *jsondoc.Value) string {
	switch v.Kind {
	case jsondoc.Null:
		return "null"
	case jsondoc.Bool:
		return fmt.Sprintf("boolean `%t`", v.Bool)
	case jsondoc.Number:
		if v.IsInteger() {
			return fmt.Sprintf("integer `%s`", v.Text)
		}
		return fmt.Sprintf("floating point `%s`", v.Text)
	case jsondoc.String:
		return fmt.Sprintf("string %q", v.Text)
	case jsondoc.Array:
		return "sequence"
	}
	return "map"
}
