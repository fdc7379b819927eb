package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON renders the document as indented JSON. Programs that want figures read the record instead: these are texts.
func (d *Document) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	return nil
}
