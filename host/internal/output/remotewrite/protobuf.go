package remotewrite

import (
	"encoding/binary"
	"math"
)

// The field numbers are those of prometheus.WriteRequest in the remote-write 1.0 specification
// (prometheus/prompb: remote.proto and types.proto).
const (
	fieldTimeseries = 1 // WriteRequest

	fieldLabels     = 1 // TimeSeries
	fieldSamples    = 2
	fieldHistograms = 4

	fieldLabelName  = 1 // Label
	fieldLabelValue = 2

	fieldSampleValue     = 1 // Sample
	fieldSampleTimestamp = 2

	fieldCountInt       = 1 // Histogram
	fieldSum            = 3
	fieldSchema         = 4
	fieldZeroThreshold  = 5
	fieldZeroCountInt   = 6
	fieldNegativeSpans  = 8
	fieldNegativeDeltas = 9
	fieldPositiveSpans  = 11
	fieldPositiveDeltas = 12
	fieldHistogramTime  = 15

	fieldSpanOffset = 1 // BucketSpan
	fieldSpanLength = 2
)

// The wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func appendTag(b []byte, field, wireType uint64) []byte {
	return binary.AppendUvarint(b, field<<3|wireType)
}

func appendVarint(b []byte, field, value uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), value)
}

// appendSint writes a zig-zag number.
func appendSint(b []byte, field uint64, value int64) []byte {
	return binary.AppendVarint(appendTag(b, field, wireVarint), value)
}

func appendDouble(b []byte, field uint64, value float64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, field, wireFixed64), math.Float64bits(value))
}

func appendBytes[T []byte | string](b []byte, field uint64, value T) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(value)))
	return append(b, value...)
}

// appendPackedSints writes a packed list of zig-zag numbers.
func appendPackedSints(b []byte, field uint64, values []int64) []byte {
	if len(values) == 0 {
		return b
	}
	var packed []byte
	for _, value := range values {
		packed = binary.AppendVarint(packed, value)
	}
	return appendBytes(b, field, packed)
}

// appendLabel writes a label of a time series.
func appendLabel(b []byte, name, value string) []byte {
	label := appendBytes(nil, fieldLabelName, name)
	label = appendBytes(label, fieldLabelValue, value)
	return appendBytes(b, fieldLabels, label)
}

// appendSample writes a sample of a time series; the time is in milliseconds since the epoch.
func appendSample(b []byte, value float64, timestamp int64) []byte {
	var sample [24]byte
	message := appendDouble(sample[:0], fieldSampleValue, value)
	message = appendVarint(message, fieldSampleTimestamp, uint64(timestamp)) // #nosec G115 -- times after 1970
	return appendBytes(b, fieldSamples, message)
}
