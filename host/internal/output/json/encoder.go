package json

import (
	"bytes"
	stdjson "encoding/json"
	"math"
	"strconv"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// maxCachedTagSets bounds the memory for encoded tag sets; a test with more series than this encodes some again.
const maxCachedTagSets = 10_000

// encoder writes points. Metric names and tag sets are few and come again and again, so their JSON is kept. It is
// not safe for concurrent use.
type encoder struct {
	buf     []byte
	metrics map[*metrics.Metric][]byte // the start of the metric's points
	tags    map[*metrics.TagSet][]byte
}

func newEncoder() *encoder {
	return &encoder{metrics: make(map[*metrics.Metric][]byte), tags: make(map[*metrics.TagSet][]byte)}
}

// isNew says whether this is the first time the metric is seen.
func (e *encoder) isNew(m *metrics.Metric) bool {
	if _, ok := e.metrics[m]; ok {
		return false
	}
	e.metrics[m] = append(quote([]byte(`{"metric":`), m.Name), `,"type":"Point","data":{"time":"`...)
	return true
}

// point returns the sample's line, valid until the next call. JSON has no way to write infinity and NaN: then ok is
// false.
func (e *encoder) point(s *metrics.Sample) (line []byte, ok bool) {
	if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		return nil, false
	}
	b := append(e.buf[:0], e.metrics[s.Metric]...)
	b = s.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","value":`...)
	b = appendFloat(b, s.Value)
	b = append(b, `,"tags":`...)
	b = append(b, e.tagSet(s.Tags)...)
	if len(s.Metadata) > 0 {
		metadata, err := marshal(s.Metadata)
		if err != nil {
			return nil, false
		}
		b = append(b, `,"metadata":`...)
		b = append(b, metadata...)
	}
	b = append(b, "}}\n"...)
	e.buf = b
	return b, true
}

func (e *encoder) tagSet(ts *metrics.TagSet) []byte {
	if encoded, ok := e.tags[ts]; ok {
		return encoded
	}
	encoded, err := marshal(ts.Map())
	if err != nil { // strings can always be encoded
		return []byte("{}")
	}
	if len(e.tags) >= maxCachedTagSets {
		clear(e.tags)
	}
	e.tags[ts] = encoded
	return encoded
}

// appendFloat writes numbers as encoding/json does.
func appendFloat(b []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

func quote(b []byte, s string) []byte {
	encoded, err := marshal(s)
	if err != nil { // strings can always be encoded
		return append(b, `""`...)
	}
	return append(b, encoded...)
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := stdjson.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
