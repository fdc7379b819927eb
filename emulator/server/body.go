package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// field is one field of a request body.
type field struct {
	name  string
	alias string
	kind  fieldKind
	// defaults is set where an array may end before this field.
	defaults bool
}

type fieldKind uint8

const (
	requiredText fieldKind = iota
	optionalText
	anything
	optionalBool
	plainBool
	loadMode
	textList
)

// form is the type into which a body is read, named as messages name it; its fields stand in the order in which an
// array gives them.
type form struct {
	name   string
	fields []field
}

var (
	queryForm  = form{"QueryRequest", []field{{name: "query"}, {name: "name", kind: optionalText}, {name: "params", kind: anything}, {name: "branch", kind: optionalText}, {name: "snapshot", kind: optionalText}}}
	changeForm = form{"ChangeRequest", []field{{name: "query", alias: "query_source"}, {name: "name", alias: "query_name", kind: optionalText, defaults: true}, {name: "params", kind: anything, defaults: true}, {name: "branch", kind: optionalText, defaults: true}}}
	readForm   = form{"ReadRequest", []field{{name: "query_source"}, {name: "query_name", kind: optionalText}, {name: "params", kind: anything}, {name: "branch", kind: optionalText}, {name: "snapshot", kind: optionalText}}}
	invokeForm = form{"InvokeStoredQueryRequest", []field{{name: "params", kind: anything, defaults: true}, {name: "branch", kind: optionalText, defaults: true}, {name: "snapshot", kind: optionalText, defaults: true}, {name: "expect_mutation", kind: optionalBool, defaults: true}}}
	ingestForm = form{"IngestRequest", []field{{name: "branch", kind: optionalText}, {name: "from", kind: optionalText}, {name: "mode", kind: loadMode}, {name: "data"}}}
	branchForm = form{"BranchCreateRequest", []field{{name: "from", kind: optionalText}, {name: "name"}}}
	mergeForm  = form{"BranchMergeRequest", []field{{name: "source"}, {name: "target", kind: optionalText}}}
	exportForm = form{"ExportRequest", []field{{name: "branch", kind: optionalText}, {name: "type_names", kind: textList}, {name: "table_keys", kind: textList}}}
	applyForm  = form{"SchemaApplyRequest", []field{{name: "schema_source"}, {name: "allow_data_loss", kind: plainBool, defaults: true}}}
)

// values are the fields that a body set, null ones left out.
type values map[string]*jsondoc.Value

func (v values) text(name string) string {
	if x := v[name]; x != nil {
		return x.Text
	}
	return ""
}

// optional is a text that may be absent.
func (v values) optional(name string) *string {
	if x := v[name]; x != nil {
		return &x.Text
	}
	return nil
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
type shapeError struct {
	// path names the field that is wrong, empty at the top.
	path    string
	message string
}

func (e *shapeError) Error() string {
	if e.path == "" {
		return e.message
	}
	return e.path + ": " + e.message
}

func wrongShape(text string, offset int, format string, args ...any) *shapeError {
	line, column := jsondoc.Position(text, offset)
	return &shapeError{message: fmt.Sprintf(format, args...) + fmt.Sprintf(" at line %d column %d", line, column)}
}

// decode reads a document into a form. Unknown fields are ignored; a known one may occur once. Like the server, it
// also takes the fields' values in their order, in an array.
func decode(text string, f form) (values, error) {
	r := jsondoc.NewReader(text)
	var vals values
	var err error
	switch r.Enter() {
	case jsondoc.Object:
		vals, err = decodeObject(text, f, r)
	case jsondoc.Array:
		vals, err = decodeArray(text, f, r)
	default:
		var v jsondoc.Value
		if v, err = r.Value(); err == nil {
			err = wrongShape(text, v.End, "invalid type: %s, expected struct %s", describe(&v), f.name)
		}
	}
	if err != nil {
		return nil, err
	}
	for name, v := range vals {
		if v.Kind == jsondoc.Null {
			delete(vals, name)
		}
	}
	return vals, r.End()
}

func decodeObject(text string, f form, r *jsondoc.Reader) (values, error) {
	vals := values{}
	for {
		name, end, more, err := r.Field()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		fd := f.field(name)
		if fd == nil {
			if err := r.Skip(); err != nil {
				return nil, err
			}
			continue
		}
		if _, twice := vals[fd.name]; twice {
			return nil, wrongShape(text, end, "duplicate field `%s`", fd.name)
		}
		v, err := fd.read(text, fd.name, r)
		if err != nil {
			return nil, err
		}
		vals[fd.name] = &v
	}
	for _, fd := range f.fields {
		if _, ok := vals[fd.name]; !ok && fd.kind == requiredText {
			return nil, wrongShape(text, r.Offset(), "missing field `%s`", fd.name)
		}
	}
	return vals, nil
}

func decodeArray(text string, f form, r *jsondoc.Reader) (values, error) {
	vals := values{}
	for i := range f.fields {
		more, err := r.Element()
		if err != nil {
			return nil, err
		}
		fd := &f.fields[i]
		if !more {
			if fd.defaults {
				return vals, nil
			}
			return nil, wrongShape(text, r.Offset(), "invalid length %d, expected struct %s with %d elements", i, f.name, len(f.fields))
		}
		v, err := fd.read(text, "["+strconv.Itoa(i)+"]", r)
		if err != nil {
			return nil, err
		}
		vals[fd.name] = &v
	}
	return vals, r.CloseArray()
}

func (f form) field(name string) *field {
	for i := range f.fields {
		if fd := &f.fields[i]; fd.name == name || (fd.alias != "" && fd.alias == name) {
			return fd
		}
	}
	return nil
}

// read reads a field's value and checks its type; path is how a message names the field.
func (fd *field) read(text, path string, r *jsondoc.Reader) (jsondoc.Value, error) {
	opens, start, err := r.Opens()
	if err != nil {
		return jsondoc.Value{}, err
	}
	if fd.kind == loadMode {
		return readMode(text, path, start, r)
	}
	// A bracket where none can be is found out before it is read.
	if (opens == jsondoc.Array && fd.kind != anything && fd.kind != textList) || (opens == jsondoc.Object && fd.kind != anything) {
		return jsondoc.Value{}, wrongType(text, path, start, &jsondoc.Value{Kind: opens}, fd.kind.expected())
	}
	v, err := r.Value()
	if err == nil {
		err = fd.check(text, path, &v)
	}
	return v, err
}

// readMode reads a load's mode: its name, or an object whose only member has that name and nothing for a value.
func readMode(text, path string, start int, r *jsondoc.Reader) (jsondoc.Value, error) {
	v, err := r.Value()
	if err != nil || v.Kind == jsondoc.Null {
		return v, err
	}
	unwanted := func(offset int) error {
		line, column := jsondoc.Position(text, offset)
		return &jsondoc.SyntaxError{Message: "expected value", Path: path, Line: line, Column: column}
	}
	name, end := v.Text, v.End
	switch {
	case v.Kind == jsondoc.Object && len(v.Members) == 0:
		return v, unwanted(v.End)
	case v.Kind == jsondoc.Object:
		name, end = v.Members[0].Name, v.Members[0].NameEnd
	case v.Kind != jsondoc.String:
		return v, unwanted(start + 1)
	}
	if !slices.Contains(graph.LoadModes, graph.LoadMode(name)) {
		err := wrongShape(text, end, "unknown variant `%s`, expected one of `overwrite`, `append`, `merge`", name)
		err.path = path
		return v, err
	}
	if v.Kind == jsondoc.Object && v.Members[0].Value.Kind != jsondoc.Null {
		inner := &v.Members[0].Value
		return v, wrongType(text, path+"."+name, inner.End, inner, "unit")
	}
	return jsondoc.Value{Kind: jsondoc.String, Text: name, Start: v.Start, End: v.End}, nil
}

func wrongType(text, path string, offset int, v *jsondoc.Value, expected string) error {
	err := wrongShape(text, offset, "invalid type: %s, expected %s", describe(v), expected)
	err.path = path
	return err
}

// expected is what a message wants of a field.
func (k fieldKind) expected() string {
	switch k {
	case optionalBool, plainBool:
		return "a boolean"
	case textList:
		return "a sequence"
	case requiredText, optionalText, anything, loadMode:
	}
	return "a string"
}

// nullable reports whether null stands for an absent field.
func (k fieldKind) nullable() bool {
	return k != requiredText && k != plainBool && k != textList
}

func (fd *field) check(text, path string, v *jsondoc.Value) error {
	if fd.kind == anything || (v.Kind == jsondoc.Null && fd.kind.nullable()) {
		return nil
	}
	want := jsondoc.String
	switch fd.kind {
	case optionalBool, plainBool:
		want = jsondoc.Bool
	case textList:
		want = jsondoc.Array
	case requiredText, optionalText, anything, loadMode:
	}
	if v.Kind != want {
		return wrongType(text, path, v.End, v, fd.kind.expected())
	}
	for i := range v.Items {
		item := &v.Items[i]
		path := path + "[" + strconv.Itoa(i) + "]"
		switch item.Kind {
		case jsondoc.String:
		case jsondoc.Array, jsondoc.Object:
			return wrongType(text, path, item.Start, item, "a string")
		default:
			return wrongType(text, path, item.End, item, "a string")
		}
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
		return fmt.Sprintf("floating point `%s`", describeFloat(v.Text))
	case jsondoc.String:
		return fmt.Sprintf("string %q", v.Text)
	case jsondoc.Array:
		return "sequence"
	}
	return "map"
}

// describeFloat writes a number as the server reads it.
func describeFloat(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return string(jsondoc.AppendFloat(nil, f, 64))
}
