package http

import (
	"fmt"
	"strconv"
	"time"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// FileData is a file for a multipart body, made by http.file().
type FileData struct {
	Data        []byte `js:"data"`
	Filename    string `js:"filename"`
	ContentType string `js:"content_type"`
}

const defaultFileType = "application/octet-stream"

// file is http.file(data, filename?, contentType?).
func (m *module) file(call sobek.FunctionCall) sobek.Value {
	data, ok, err := m.bytes(call.Argument(0))
	if err != nil || !ok {
		common.Throw(m.rt, fmt.Errorf("http.file: the data has to be a string or an ArrayBuffer, not %s", call.Argument(0)))
	}
	file := FileData{
		Data: data, Filename: strconv.FormatInt(time.Now().UnixNano(), 10), ContentType: defaultFileType,
	}
	if name := call.Argument(1); !common.IsNullish(name) && name.String() != "" {
		file.Filename = name.String()
	}
	if contentType := call.Argument(2); !common.IsNullish(contentType) && contentType.String() != "" {
		file.ContentType = contentType.String()
	}
	return m.rt.ToValue(file)
}
