package errext

import (
	"errors"
	"maps"
)

type fieldsError struct {
	error
	fields map[string]any
}

func (e fieldsError) Unwrap() error { return e.error }

// WithFields attaches log fields to err. A nil error stays nil.
func WithFields(err error, fields map[string]any) error {
	if err == nil {
		return nil
	}
	return fieldsError{error: err, fields: fields}
}

// FieldsFromErr collects the log fields of the whole chain; of two with one name the outer wins. It returns nil
// when there are none.
func FieldsFromErr(err error) map[string]any {
	var all map[string]any
	for err != nil {
		var withFields fieldsError
		if !errors.As(err, &withFields) {
			break
		}
		merged := maps.Clone(withFields.fields)
		if merged == nil {
			merged = make(map[string]any)
		}
		maps.Copy(merged, all)
		all = merged
		err = withFields.error
	}
	return all
}
