package lib

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib/types"
)

// Stage is a stretch of time over which the number of VUs moves to a target.
type Stage struct {
	Duration types.NullDuration `json:"duration"`
	Target   null.Int           `json:"target"`
}

// UnmarshalText reads "10s:5", "10s" or ":5".
func (s *Stage) UnmarshalText(b []byte) error {
	duration, target, hasTarget := strings.Cut(string(b), ":")
	var stage Stage
	if duration != "" {
		d, err := types.ParseExtendedDuration(duration)
		if err != nil {
			return fmt.Errorf("invalid stage '%s': %w", b, err)
		}
		stage.Duration = types.NullDurationFrom(d)
	}
	if hasTarget && target != "" {
		n, err := strconv.ParseInt(target, 10, 64)
		if err != nil {
			return fmt.Errorf("invalid stage '%s': %w", b, err)
		}
		stage.Target = null.IntFrom(n)
	}
	*s = stage
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (s Stage) MarshalText() ([]byte, error) {
	text := ""
	if s.Duration.Valid {
		text = s.Duration.String()
	}
	if s.Target.Valid {
		text += ":" + strconv.FormatInt(s.Target.Int64, 10)
	}
	return []byte(text), nil
}

// MarshalJSON writes the object form, which MarshalText would otherwise replace.
func (s Stage) MarshalJSON() ([]byte, error) {
	type object Stage
	return marshalJSON(object(s))
}

// UnmarshalJSON reads the object form.
func (s *Stage) UnmarshalJSON(data []byte) error {
	type object Stage
	return json.Unmarshal(data, (*object)(s))
}
