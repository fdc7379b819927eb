package csv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/output"
)

// config is what the user can choose.
type config struct {
	FileName     null.String        `json:"fileName"`
	SaveInterval types.NullDuration `json:"saveInterval"`
	TimeFormat   null.String        `json:"timeFormat"`
}

func defaultConfig() config {
	return config{
		FileName:     null.NewString("file.csv", false),
		SaveInterval: types.NewNullDuration(time.Second, false),
		TimeFormat:   null.NewString("unix", false),
	}
}

func (c config) apply(other config) config {
	if other.FileName.Valid {
		c.FileName = other.FileName
	}
	if other.SaveInterval.Valid {
		c.SaveInterval = other.SaveInterval
	}
	if other.TimeFormat.Valid {
		c.TimeFormat = other.TimeFormat
	}
	return c
}

// consolidate merges, later ones winning: defaults, config file, K6_CSV_* variables, the argument.
func consolidate(params output.Params) (config, error) {
	c := defaultConfig()
	if len(params.JSONConfig) > 0 {
		var fromFile config
		if err := json.Unmarshal(params.JSONConfig, &fromFile); err != nil {
			return c, fmt.Errorf("csv: reading the config file's part: %w", err)
		}
		c = c.apply(fromFile)
	}
	fromEnv := make(map[string]string)
	for variable, key := range map[string]string{
		"K6_CSV_FILENAME": keyFileName, "K6_CSV_SAVE_INTERVAL": keySaveInterval, "K6_CSV_TIME_FORMAT": keyTimeFormat,
	} {
		if value := params.Environment[variable]; value != "" {
			fromEnv[key] = value
		}
	}
	layer, err := fromKeys(fromEnv)
	if err != nil {
		return c, err
	}
	c = c.apply(layer)

	layer, err = parseArgument(params.ConfigArgument)
	if err != nil {
		return c, err
	}
	return c.apply(layer), nil
}

const (
	keyFileName     = "fileName"
	keySaveInterval = "saveInterval"
	keyTimeFormat   = "timeFormat"
)

// parseArgument reads "out.csv" or "fileName=out.csv,saveInterval=1s".
func parseArgument(arg string) (config, error) {
	if arg == "" {
		return config{}, nil
	}
	if !strings.Contains(arg, "=") {
		return config{FileName: null.StringFrom(arg)}, nil
	}
	keys := make(map[string]string)
	for pair := range strings.SplitSeq(arg, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return config{}, fmt.Errorf("csv: couldn't parse '%s' of argument '%s', it has to be key=value", pair, arg)
		}
		keys[key] = value
	}
	return fromKeys(keys)
}

func fromKeys(keys map[string]string) (config, error) {
	var c config
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := keys[key]
		switch key {
		case keyFileName:
			c.FileName = null.StringFrom(value)
		case keySaveInterval:
			if err := c.SaveInterval.UnmarshalText([]byte(value)); err != nil {
				return c, fmt.Errorf("csv: invalid %s: %w", key, err)
			}
		case keyTimeFormat:
			c.TimeFormat = null.StringFrom(value)
		default:
			return c, fmt.Errorf("csv: unknown key '%s', known are %s, %s and %s",
				key, keyFileName, keySaveInterval, keyTimeFormat)
		}
	}
	return c, nil
}

// timeFormatter returns the function that writes timestamps.
func timeFormatter(name string) (func(time.Time) string, error) {
	switch name {
	case "unix":
		return func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }, nil
	case "unix_milli":
		return func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }, nil
	case "unix_micro":
		return func(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }, nil
	case "unix_nano":
		return func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }, nil
	case "rfc3339":
		return func(t time.Time) string { return t.Format(time.RFC3339) }, nil
	case "rfc3339_nano":
		return func(t time.Time) string { return t.Format(time.RFC3339Nano) }, nil
	default:
		return nil, fmt.Errorf("csv: unknown time format '%s', known are "+
			"unix, unix_milli, unix_micro, unix_nano, rfc3339 and rfc3339_nano", name)
	}
}
