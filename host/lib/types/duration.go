// Package types holds the option types that are more than a number or a string: durations, DNS settings, host maps,
// host-name patterns and IP pools, each with its JSON and text form.
package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that reads the extended syntax of ParseExtendedDuration and writes Go's.
type Duration time.Duration

// String returns Go's form, such as "1m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// TimeDuration returns the standard library's type.
func (d Duration) TimeDuration() time.Duration { return time.Duration(d) }

// UnmarshalText reads the extended syntax.
func (d *Duration) UnmarshalText(data []byte) error {
	v, err := ParseExtendedDuration(string(data))
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}

// UnmarshalJSON reads a string in the extended syntax or a number of milliseconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		return d.UnmarshalText([]byte(s))
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("'%s' is not a valid duration value", data)
	}
	return d.UnmarshalText([]byte(number))
}

// MarshalJSON writes Go's form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// MarshalText writes Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// NullDuration is a Duration that may be unset.
type NullDuration struct {
	Duration
	Valid bool
}

// NewNullDuration returns a NullDuration.
func NewNullDuration(d time.Duration, valid bool) NullDuration {
	return NullDuration{Duration: Duration(d), Valid: valid}
}

// NullDurationFrom returns a set NullDuration.
func NullDurationFrom(d time.Duration) NullDuration { return NewNullDuration(d, true) }

// TimeDuration returns the standard library's type, whether set or not.
func (d NullDuration) TimeDuration() time.Duration { return time.Duration(d.Duration) }

// ValueOrZero returns the duration, or 0 when unset.
func (d NullDuration) ValueOrZero() Duration {
	if !d.Valid {
		return 0
	}
	return d.Duration
}

// UnmarshalText reads the extended syntax; an empty text unsets.
func (d *NullDuration) UnmarshalText(data []byte) error {
	if len(data) == 0 {
		*d = NullDuration{}
		return nil
	}
	if err := d.Duration.UnmarshalText(data); err != nil {
		return err
	}
	d.Valid = true
	return nil
}

// UnmarshalJSON reads a Duration; null unsets.
func (d *NullDuration) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		// The value stays: it is the default of whoever decodes, which an archive's nulls must not wipe out.
		d.Valid = false
		return nil
	}
	if err := d.Duration.UnmarshalJSON(data); err != nil {
		return err
	}
	d.Valid = true
	return nil
}

// MarshalJSON writes Go's form, or null when unset.
func (d NullDuration) MarshalJSON() ([]byte, error) {
	if !d.Valid {
		return []byte("null"), nil
	}
	return d.Duration.MarshalJSON()
}

// MarshalText writes Go's form, or nothing when unset.
func (d NullDuration) MarshalText() ([]byte, error) {
	if !d.Valid {
		return []byte{}, nil
	}
	return d.Duration.MarshalText()
}

var errDurationRange = errors.New("the duration is out of range")

// ParseExtendedDuration reads Go's duration syntax, optionally after a whole number of days ("1d12h"), or a bare
// number, which is milliseconds and may have a fraction.
func ParseExtendedDuration(data string) (time.Duration, error) {
	if ms, err := strconv.ParseFloat(data, 64); err == nil {
		return fromMilliseconds(ms, data)
	}
	days, rest, hasDays := strings.Cut(data, "d")
	if !hasDays {
		return time.ParseDuration(data)
	}
	n, err := strconv.ParseInt(days, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid number of days '%s' in duration '%s': %w", days, data, err)
	}
	const day = 24 * time.Hour
	if n > math.MaxInt64/int64(day) || n < math.MinInt64/int64(day) {
		return 0, fmt.Errorf("invalid duration '%s': %w", data, errDurationRange)
	}
	result := time.Duration(n) * day
	if rest == "" {
		return result, nil
	}
	if rest[0] == '-' || rest[0] == '+' {
		return 0, fmt.Errorf("invalid duration '%s': a sign may only stand at the start", data)
	}
	hours, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("invalid duration '%s': %w", data, err)
	}
	if strings.HasPrefix(days, "-") {
		hours = -hours
	}
	sum := result + hours
	if (hours > 0 && sum < result) || (hours < 0 && sum > result) {
		return 0, fmt.Errorf("invalid duration '%s': %w", data, errDurationRange)
	}
	return sum, nil
}

func fromMilliseconds(ms float64, source string) (time.Duration, error) {
	ns := ms * float64(time.Millisecond)
	if math.IsNaN(ns) || ns >= math.MaxInt64 || ns <= math.MinInt64 {
		return 0, fmt.Errorf("invalid duration '%s': %w", source, errDurationRange)
	}
	return time.Duration(ns), nil
}

// GetDurationValue converts a value that came from a script: a duration, a string in the extended syntax, or a
// number of milliseconds.
func GetDurationValue(v any) (time.Duration, error) {
	switch d := v.(type) {
	case time.Duration:
		return d, nil
	case Duration:
		return time.Duration(d), nil
	case NullDuration:
		return d.TimeDuration(), nil
	case string:
		return ParseExtendedDuration(d)
	case int:
		return wholeMilliseconds(int64(d))
	case int8:
		return wholeMilliseconds(int64(d))
	case int16:
		return wholeMilliseconds(int64(d))
	case int32:
		return wholeMilliseconds(int64(d))
	case int64:
		return wholeMilliseconds(d)
	case uint:
		return fromMilliseconds(float64(d), strconv.FormatUint(uint64(d), 10))
	case uint8:
		return wholeMilliseconds(int64(d))
	case uint16:
		return wholeMilliseconds(int64(d))
	case uint32:
		return wholeMilliseconds(int64(d))
	case uint64:
		return fromMilliseconds(float64(d), strconv.FormatUint(d, 10))
	case float32:
		return fromMilliseconds(float64(d), fmt.Sprint(d))
	case float64:
		return fromMilliseconds(d, fmt.Sprint(d))
	default:
		return 0, fmt.Errorf("unable to use type %T as a duration value", v)
	}
}

func wholeMilliseconds(ms int64) (time.Duration, error) {
	const limit = math.MaxInt64 / int64(time.Millisecond)
	if ms > limit || ms < -limit {
		return 0, fmt.Errorf("invalid duration '%d': %w", ms, errDurationRange)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
