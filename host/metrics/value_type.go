package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ValueType is what the values of a metric are, for display and for outputs that convert units.
type ValueType int

// The value types.
const (
	Default ValueType = iota // plain numbers
	Time                     // milliseconds
	Data                     // bytes
)

// ErrInvalidValueType is the error for a name or number that is no ValueType.
var ErrInvalidValueType = errors.New("invalid value type")

// String returns the name that outputs use, or "[INVALID]".
func (t ValueType) String() string {
	switch t {
	case Default:
		return "default"
	case Time:
		return "time"
	case Data:
		return "data"
	default:
		return "[INVALID]"
	}
}

// MarshalText writes the name.
func (t ValueType) MarshalText() ([]byte, error) {
	if t < Default || t > Data {
		return nil, fmt.Errorf("%w: %d", ErrInvalidValueType, int(t))
	}
	return []byte(t.String()), nil
}

// MarshalJSON writes the name.
func (t ValueType) MarshalJSON() ([]byte, error) {
	text, err := t.MarshalText()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

// UnmarshalText reads the name.
func (t *ValueType) UnmarshalText(data []byte) error {
	for candidate := Default; candidate <= Data; candidate++ {
		if candidate.String() == string(data) {
			*t = candidate
			return nil
		}
	}
	return fmt.Errorf("%w: %q", ErrInvalidValueType, data)
}
