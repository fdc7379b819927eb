package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// observed is what one side answered, flattened to one value per field.
type observed map[string]string

var (
	ulid      = regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`)
	sha256Hex = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	buildPath = regexp.MustCompile(`(, /[^",]*\.rs:\d+:\d+)+`)
	ansi      = regexp.MustCompile("\x1b\\[[0-9;]*m")
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z`)
	whichProp = regexp.MustCompile("(non-nullable property `)[a-z_]+`")
)

// scrub replaces what differs between any two runs: ids, folders, addresses and the time now.
func (s *side) scrub(text string) string {
	text = ansi.ReplaceAllString(text, "")
	text = buildPath.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, s.url, "URL")
	text = strings.ReplaceAll(text, s.dir, "DIR")
	text = strings.ReplaceAll(text, filepath.Dir(s.dir), "ROOT")
	// Storage errors name the folder without its leading slash, in the server's eyes or in the CLI's.
	text = strings.ReplaceAll(text, strings.TrimPrefix(s.dir, "/"), "DIR")
	text = strings.ReplaceAll(text, strings.TrimPrefix(filepath.Dir(s.dir), "/"), "ROOT")
	text = ulid.ReplaceAllString(text, "ULID")
	// How a digest is made is the business of who made it.
	text = sha256Hex.ReplaceAllString(text, "DIGEST")
	// The server names one of several missing properties, another one each time.
	return whichProp.ReplaceAllString(text, "${1}…`")
}

// flatten turns a JSON document into one entry per leaf. Arrays of rows come sorted where order means nothing.
func flatten(out observed, path string, v any, sorted bool) {
	switch v := v.(type) {
	case map[string]any:
		out[path+".{}"] = fmt.Sprint(len(v))
		for k, x := range v {
			if k == "observed_at" {
				x = "NOW"
			}
			if k == "created_at" {
				if n, ok := x.(json.Number); ok && len(n) == 16 {
					x = json.Number("1")
				}
			}
			flatten(out, path+"."+k, x, sorted)
		}
	case []any:
		out[path+"[]"] = fmt.Sprint(len(v))
		if sorted {
			v = slices.Clone(v)
			slices.SortFunc(v, func(a, b any) int { return bytes.Compare(sortKey(a), sortKey(b)) })
		}
		for i, x := range v {
			flatten(out, fmt.Sprintf("%s[%d]", path, i), x, sorted)
		}
	default:
		out[path] = string(encoded(v))
	}
}

// sortKey puts tables in the order of their names, everything else in that of its content.
func sortKey(v any) []byte {
	if m, ok := v.(map[string]any); ok && m["table_key"] != nil {
		return encoded(m["table_key"])
	}
	return encoded(v)
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// document reads a JSON document or, failing that, lines of them.
func document(text string) (any, bool) {
	decode := func(text string) (any, bool) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil || dec.More() {
			return nil, false
		}
		return v, true
	}
	if v, ok := decode(text); ok {
		return v, true
	}
	var lines []any
	for line := range strings.Lines(text) {
		v, ok := decode(line)
		if !ok {
			return nil, false
		}
		lines = append(lines, v)
	}
	return lines, len(lines) > 0
}

// body adds an answer's body to what was observed.
func (s *side) body(out observed, name, text string, sorted bool) {
	if v, ok := document(s.scrub(text)); ok {
		flatten(out, name, v, sorted)
		return
	}
	out[name] = timestamp.ReplaceAllString(s.scrub(text), "NOW")
}

var cause = regexp.MustCompile(`^ {3}\d+: `)

// stderr keeps of a CLI's error output what clients read: the line about the target, usage errors' first line and
// the numbered causes of a report, not its backtrace.
func (s *side) stderr(out observed, text string) {
	text = s.scrub(text)
	report := false
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		switch {
		case strings.HasPrefix(line, "Location:"), strings.Contains(line, "BACKTRACE"):
			return
		case strings.HasPrefix(line, "Error:"):
			report = true
		case cause.MatchString(line):
			out[fmt.Sprintf("stderr.cause[%d]", n)] = line[6:]
			n++
		case report && line != "":
			out[fmt.Sprintf("stderr.cause[%d]", n-1)] += "\n" + strings.TrimSpace(line)
		case !report && strings.HasPrefix(line, "error:"):
			out["stderr.usage"] = line
			return
		case !report && line != "":
			out["stderr.line"] += line + "\n"
		}
	}
}
