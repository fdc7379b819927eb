package costmodel

import (
	"bytes"
	_ "embed" // for the spike profile
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

//go:embed spike.json
var spikeProfile []byte

// None is the name of the profile that costs nothing.
const None = "none"

// Load returns the profile called none (nil), spike, or the one in a file. A profile that can't be meant is refused
// by the name of the field and its value.
func Load(name string) (*Model, error) {
	var text []byte
	switch name {
	case "", None:
		return nil, nil
	case "spike":
		text = spikeProfile
	default:
		var err error
		if text, err = os.ReadFile(name); err != nil { // #nosec G304 -- the user names the file
			return nil, fmt.Errorf("cost model: want none, spike or a file: %w", err)
		}
	}
	return parse(name, text)
}

func parse(name string, text []byte) (*Model, error) {
	m := &Model{}
	if err := m.read(text); err != nil {
		return nil, fmt.Errorf("cost model %s: %w", name, err)
	}
	return m, nil
}

// number is one numeric field of a profile.
type number struct {
	name  string
	value *float64
	// most is the largest value that makes sense; 0 is no bound.
	most float64
}

func (m *Model) numbers() []number {
	return []number{
		{name: "read_ms", value: &m.ReadMS},
		{name: "read_per_fragment_ms", value: &m.ReadPerFragmentMS},
		{name: "read_per_row_ms", value: &m.ReadPerRowMS},
		{name: "read_per_commit_ms", value: &m.ReadPerCommitMS},
		{name: "read_contention", value: &m.ReadContention},
		{name: "commit_ms", value: &m.CommitMS},
		{name: "commit_per_commit_ms", value: &m.CommitPerCommitMS},
		{name: "commit_spread", value: &m.CommitSpread, most: 1},
		{name: "cli_start_ms", value: &m.CLIStartMS},
		{name: "cli_per_commit_ms", value: &m.CLIPerCommitMS},
		{name: "cli_slowdown", value: &m.CLISlowdown},
		{name: "optimize_ms", value: &m.OptimizeMS},
		{name: "optimize_per_fragment_ms", value: &m.OptimizePerFragmentMS},
	}
}

const (
	nameField   = "name"
	pointsField = "commit_contention_ms"
)

// read fills a model from a profile's text.
func (m *Model) read(text []byte) error {
	numbers := m.numbers()
	known := []string{nameField}
	for _, n := range numbers {
		known = append(known, n.name)
	}
	known = append(known, pointsField)
	err := fields(text, "", known, func(name string, value json.RawMessage) error {
		switch name {
		case nameField:
			return readName(&m.Name, value)
		case pointsField:
			return m.readPoints(value)
		}
		n := numbers[slices.IndexFunc(numbers, func(n number) bool { return n.name == name })]
		return readCost(n.name, n.value, n.most, value)
	})
	if err == nil && m.Name == "" {
		return errors.New("name is missing: reports and the answers' header name the model by it")
	}
	return err
}

// fields reads an object of known fields, each at most once, and names the one that is wrong.
func fields(text []byte, path string, known []string, set func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("%sis %s, want a JSON object", subject(path), excerpt(text))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return syntax(path, text, dec, err)
		}
		name, _ := t.(string) // an object's keys are strings, or the token above is an error
		at := strings.TrimPrefix(path+"."+name, ".")
		start := dec.InputOffset()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%s is %s: %w", at, excerpt(bytes.TrimLeft(text[start:], ": \t\r\n")), err)
		}
		switch {
		case !slices.Contains(known, name):
			return fmt.Errorf("%s (%s) is no field of a profile; there are %s", at, excerpt(value), strings.Join(known, ", "))
		case seen[name]:
			return fmt.Errorf("%s stands twice, the second time as %s", at, excerpt(value))
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return syntax(path, text, dec, err)
	}
	if rest := text[dec.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return fmt.Errorf("%s follows the profile's end", excerpt(rest))
	}
	return nil
}

func subject(path string) string {
	if path == "" {
		return "the profile "
	}
	return path + " "
}

func syntax(path string, text []byte, dec *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%sis no JSON from %s on: %w", subject(path), excerpt(text[dec.InputOffset():]), err)
}

// excerpt is the start of a text up to what could end a value, short enough for a message.
func excerpt(text []byte) string {
	s := strings.TrimSpace(string(text))
	if s == "" {
		return "nothing"
	}
	if strings.IndexByte(`"[{`, s[0]) < 0 {
		if i := strings.IndexAny(s[1:], ",]} \t\r\n"); i >= 0 {
			s = s[:i+1]
		}
	}
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func readName(dst *string, value json.RawMessage) error {
	const wanted = "want letters, digits, '.', '-' and '_': it stands in a header and in the version"
	if err := json.Unmarshal(value, dst); err != nil || *dst == "" {
		return fmt.Errorf("name is %s, %s", excerpt(value), wanted)
	}
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
	}
	if strings.ContainsFunc(*dst, bad) {
		return fmt.Errorf("name is %s, %s", excerpt(value), wanted)
	}
	return nil
}

func readCost(name string, dst *float64, most float64, value json.RawMessage) error {
	wanted := "want a number of at least 0"
	if most > 0 {
		wanted = fmt.Sprintf("want a number from 0 to %g", most)
	}
	// A null would leave the field as it is.
	if err := json.Unmarshal(value, dst); err != nil || string(value) == "null" || *dst < 0 || (most > 0 && *dst > most) {
		return fmt.Errorf("%s is %s, %s", name, excerpt(value), wanted)
	}
	return nil
}

func (m *Model) readPoints(value json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return fmt.Errorf("%s is %s, want a list of points {\"n\": writers, \"ms\": cost}", pointsField, excerpt(value))
	}
	for i, text := range list {
		p := Point{}
		path := fmt.Sprintf("%s[%d]", pointsField, i)
		err := fields(text, path, []string{"n", "ms"}, func(name string, value json.RawMessage) error {
			if name == "ms" {
				return readCost(path+".ms", &p.MS, 0, value)
			}
			if err := json.Unmarshal(value, &p.N); err != nil || string(value) == "null" || p.N < 1 {
				return fmt.Errorf("%s.n is %s, want a whole number of at least 1", path, excerpt(value))
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case p.N == 0:
			return fmt.Errorf("%s has no n, want a whole number of at least 1", path)
		case i > 0 && p.N <= m.CommitContentionMS[i-1].N:
			return fmt.Errorf("%s.n is %d, want more than the %d of the point before: the points must ascend", path, p.N, m.CommitContentionMS[i-1].N)
		}
		m.CommitContentionMS = append(m.CommitContentionMS, p)
	}
	return nil
}
