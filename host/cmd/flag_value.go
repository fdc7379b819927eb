package cmd

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"go.k6.io/k6/v2/lib/types"
)

// settingFlag is a flag that hands its text to a function at once, so that only what was given on the command
// line is ever set. It implements pflag.Value.
type settingFlag struct {
	kind string // as help names the value's type
	text string // the default, as help shows it, until the flag is set
	set  func(string) error
}

func (f *settingFlag) String() string { return f.text }
func (f *settingFlag) Type() string   { return f.kind }

func (f *settingFlag) Set(text string) error {
	if err := f.set(text); err != nil {
		return err
	}
	f.text = text
	return nil
}

// flagTable adds setting flags to a flag set.
type flagTable struct {
	*pflag.FlagSet
}

func (t flagTable) add(name, short, kind, fallback, help string, set func(string) error) *pflag.Flag {
	return t.VarPF(&settingFlag{kind: kind, text: fallback, set: set}, name, short, help)
}

func (t flagTable) integer(name, short, fallback, help string, set func(int64)) {
	t.add(name, short, "int", fallback, help, func(text string) error {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number: %w", text, errors.Unwrap(err))
		}
		set(n)
		return nil
	})
}

func (t flagTable) duration(name, short, help string, set func(types.NullDuration)) {
	t.add(name, short, "duration", "", help, func(text string) error {
		d, err := types.ParseExtendedDuration(text)
		if err != nil {
			return err
		}
		set(types.NullDurationFrom(d))
		return nil
	})
}

func (t flagTable) boolean(name, short, fallback, help string, set func(bool)) {
	flag := t.add(name, short, "bool", fallback, help, func(text string) error {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false: %w", text, errors.Unwrap(err))
		}
		set(b)
		return nil
	})
	flag.NoOptDefVal = "true"
}

func (t flagTable) text(name, short, help string, set func(string) error) *pflag.Flag {
	return t.add(name, short, "string", "", help, set)
}

// list is a flag whose value is separated by commas, and which may be repeated: values add up.
func (t flagTable) list(name, short, help string, set func([]string) error) {
	var all []string
	t.add(name, short, "strings", "", help, func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
		return set(all)
	})
}

// identifier is what the names of environment variables for scripts look like.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// parseKeyValue splits NAME=VALUE; without an equals sign the value is empty.
func parseKeyValue(text string) (name, value string, err error) {
	name, value, _ = strings.Cut(text, "=")
	if name == "" {
		return "", "", fmt.Errorf("%q has no name before the equals sign", text)
	}
	return name, value, nil
}

// parseStage reads a stage in its text form: DURATION:TARGET.
func parseStage(text string) (time.Duration, int64, error) {
	durationText, targetText, ok := strings.Cut(text, ":")
	if !ok {
		return 0, 0, fmt.Errorf("stage %q has to look like 10s:5, a duration and a number of VUs", text)
	}
	d, err := types.ParseExtendedDuration(durationText)
	if err != nil {
		return 0, 0, fmt.Errorf("stage %q: %w", text, err)
	}
	target, err := strconv.ParseInt(targetText, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("stage %q: the number of VUs %q: %w", text, targetText, errors.Unwrap(err))
	}
	return d, target, nil
}
