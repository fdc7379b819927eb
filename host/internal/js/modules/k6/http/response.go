package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"github.com/tidwall/gjson"

	"go.k6.io/k6/v2/internal/js/fastjson"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/netext/httpext"
)

// Response is a response as scripts have it.
type Response struct {
	*httpext.Response `js:"-"`

	module *module
}

// response makes the object for a script. A body of bytes becomes an ArrayBuffer.
func (m *module) response(r *httpext.Response) sobek.Value {
	if body, ok := r.Body.([]byte); ok {
		r.Body = m.rt.NewArrayBuffer(body)
	}
	return m.rt.ToValue(&Response{Response: r, module: m})
}

var errNullBody = errors.New("the body is null, so there is no JSON in it: " +
	"either the request failed or its response type is none")

// JSON parses the body, or what a selector in the syntax of gjson picks from it. A selector that finds nothing gives
// undefined; a whole body that is no JSON throws.
func (r *Response) JSON(call sobek.FunctionCall) sobek.Value {
	m := r.module
	var text string
	switch body := r.Body.(type) {
	case nil:
		common.Throw(m.rt, errNullBody)
	case string:
		text = body
	case sobek.ArrayBuffer:
		text = string(body.Bytes())
	}
	if selector := call.Argument(0); !common.IsNullish(selector) {
		if !gjson.Valid(text) {
			return sobek.Undefined()
		}
		result := gjson.Get(text, selector.String())
		if !result.Exists() {
			return sobek.Undefined()
		}
		return m.jsonValue(result)
	}
	value, err := m.parseJSON(text)
	if err != nil {
		common.Throw(m.rt, describeJSONError(text, err))
	}
	return value
}

func (m *module) jsonValue(result gjson.Result) sobek.Value {
	switch result.Type {
	case gjson.Null:
		return sobek.Null()
	case gjson.False:
		return m.rt.ToValue(false)
	case gjson.True:
		return m.rt.ToValue(true)
	case gjson.Number:
		return m.rt.ToValue(result.Num)
	case gjson.String:
		return m.rt.ToValue(result.Str)
	default:
		value, err := m.parseJSON(result.Raw)
		if err != nil {
			common.Throw(m.rt, describeJSONError(result.Raw, err))
		}
		return value
	}
}

// parseJSON makes the values that JSON.parse would, in its order of keys.
func (m *module) parseJSON(text string) (sobek.Value, error) {
	if m.json == nil {
		m.json = fastjson.New(m.rt)
	}
	if value, ok := m.json.Parse(text); ok {
		return value, nil
	}
	if m.jsonParse == nil {
		parse, ok := sobek.AssertFunction(m.rt.GlobalObject().Get("JSON").ToObject(m.rt).Get("parse"))
		if !ok {
			return nil, errors.New("the script has replaced JSON.parse by something that is no function")
		}
		m.jsonParse = parse
	}
	return m.jsonParse(sobek.Undefined(), m.rt.ToValue(text))
}

// describeJSONError says where in a text the JSON goes wrong.
func describeJSONError(text string, err error) error {
	var syntax *json.SyntaxError
	var ignored json.RawMessage
	if !errors.As(json.Unmarshal([]byte(text), &ignored), &syntax) {
		return fmt.Errorf("cannot parse json: %w", err)
	}
	before := text[:min(max(int(syntax.Offset), 0), len(text))]
	line := strings.Count(before, "\n") + 1
	column := len(before) - (strings.LastIndexByte(before, '\n') + 1)
	return fmt.Errorf("cannot parse json: line %d, character %d: %w", line, column, syntax)
}

func refuseHTML(function string) error {
	return fmt.Errorf("%s needs the HTML helpers, which this embedded host does not have; the real k6 has them", function)
}

// HTML is refused: it belongs to the HTML helpers.
func (*Response) HTML(sobek.FunctionCall) (sobek.Value, error) {
	return nil, refuseHTML("Response.html()")
}

// SubmitForm is refused: it belongs to the HTML helpers.
func (*Response) SubmitForm(sobek.FunctionCall) (sobek.Value, error) {
	return nil, refuseHTML("Response.submitForm()")
}

// ClickLink is refused: it belongs to the HTML helpers.
func (*Response) ClickLink(sobek.FunctionCall) (sobek.Value, error) {
	return nil, refuseHTML("Response.clickLink()")
}
