package summary

import "strings"

// paint wraps text in ANSI colour codes, unless it's off.
type paint struct {
	off bool
}

func (p paint) wrap(code, text string) string {
	if p.off || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string  { return p.wrap("1", text) }
func (p paint) faint(text string) string { return p.wrap("2", text) }
func (p paint) red(text string) string   { return p.wrap("31", text) }
func (p paint) green(text string) string { return p.wrap("32", text) }
func (p paint) cyan(text string) string  { return p.wrap("36", text) }

// cell paints the value of "name=value", or the whole cell, in cyan where it's the main one, else faintly.
func (p paint) cell(cell string, main bool) string {
	name, value, ok := strings.Cut(cell, "=")
	if !ok {
		name, value = "", cell
	} else {
		name += "="
	}
	if main {
		return name + p.cyan(value)
	}
	return p.faint(name + value)
}
