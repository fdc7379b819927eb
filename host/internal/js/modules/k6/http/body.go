package http

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	neturl "net/url"
	"strings"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// body turns a script's body into bytes. contentType is what the body's form asks for; mustHave says that no other
// one would do. A nil buffer stands for no body.
func (m *module) body(v sobek.Value) (body *bytes.Buffer, contentType string, mustHave bool, err error) {
	if v == nil || common.IsNullish(v) {
		return nil, "", false, nil
	}
	data, ok, err := m.bytes(v)
	if err != nil {
		return nil, "", false, err
	}
	if ok {
		return bytes.NewBuffer(data), "", false, nil
	}
	object, ok := v.(*sobek.Object)
	if !ok {
		return nil, "", false, fmt.Errorf("a request body has to be a string, an ArrayBuffer or an object, not %s (%T)", v, v.Export())
	}
	fields := m.fields(object)
	for _, field := range fields {
		if field.file != nil {
			body, contentType, err = multipartBody(fields)
			return body, contentType, true, err
		}
	}
	form := make(neturl.Values, len(fields))
	for _, field := range fields {
		form.Add(field.name, field.text)
	}
	return bytes.NewBufferString(form.Encode()), "application/x-www-form-urlencoded", false, nil
}

// bytes returns the bytes of a string, an ArrayBuffer or a view of one; ok is false for anything else.
func (m *module) bytes(v sobek.Value) (data []byte, ok bool, err error) {
	object, isObject := v.(*sobek.Object)
	if !isObject {
		if text, isText := v.Export().(string); isText {
			return []byte(text), true, nil
		}
		return nil, false, nil
	}
	switch exported := object.Export().(type) {
	case sobek.ArrayBuffer:
		return bytes.Clone(exported.Bytes()), true, nil
	case string: // a String object
		return []byte(exported), true, nil
	case []byte:
		return bytes.Clone(exported), true, nil
	}
	buffer, isView := object.Get("buffer"), object.Get("byteLength") != nil
	if buffer == nil || !isView {
		return nil, false, nil
	}
	whole, isBuffer := buffer.Export().(sobek.ArrayBuffer)
	if !isBuffer {
		return nil, false, nil
	}
	from, length := object.Get("byteOffset").ToInteger(), object.Get("byteLength").ToInteger()
	all := whole.Bytes()
	if from < 0 || length < 0 || from+length > int64(len(all)) {
		return nil, false, fmt.Errorf("the view of the ArrayBuffer goes beyond its end")
	}
	return bytes.Clone(all[from : from+length]), true, nil
}

// formField is one field of a form; a key with a list of values makes several.
type formField struct {
	name string
	text string
	file *FileData
}

func (m *module) fields(object *sobek.Object) []formField {
	var fields []formField
	for _, name := range object.Keys() {
		value := object.Get(name)
		list, isObject := value.(*sobek.Object)
		if isObject && list.ClassName() == "Array" {
			length := int(list.Get("length").ToInteger())
			for i := range length {
				fields = append(fields, formFieldOf(name, list.Get(fmt.Sprint(i))))
			}
			continue
		}
		fields = append(fields, formFieldOf(name, value))
	}
	return fields
}

func formFieldOf(name string, value sobek.Value) formField {
	if common.IsNullish(value) {
		return formField{name: name}
	}
	switch file := value.Export().(type) {
	case FileData:
		return formField{name: name, file: &file}
	case *FileData:
		return formField{name: name, file: file}
	}
	return formField{name: name, text: value.String()}
}

// multipartBody writes the fields in their order.
func multipartBody(fields []formField) (*bytes.Buffer, string, error) {
	body := new(bytes.Buffer)
	w := multipart.NewWriter(body)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")
	for _, field := range fields {
		if field.file == nil {
			if err := w.WriteField(field.name, field.text); err != nil {
				return nil, "", fmt.Errorf("writing the field %q of a form: %w", field.name, err)
			}
			continue
		}
		header := make(textproto.MIMEHeader)
		header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="%s"`,
			escape.Replace(field.name), escape.Replace(field.file.Filename)))
		header.Set("Content-Type", field.file.ContentType)
		part, err := w.CreatePart(header)
		if err == nil {
			_, err = part.Write(field.file.Data)
		}
		if err != nil {
			return nil, "", fmt.Errorf("writing the file %q of a form: %w", field.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("writing the end of a form: %w", err)
	}
	return body, w.FormDataContentType(), nil
}
