package recorder

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// IdentityField is one part of what a number's identity consists of.
type IdentityField struct{ Name, Value string }

// identityMachine is the identity field that generators of one test may differ in.
const identityMachine = "machine"

// Identity lists what has to be equal before two records' numbers are comparable, in a fixed order. Values that are
// not known are empty.
func (rec *Record) Identity() []IdentityField {
	m := rec.Machine
	emulated := ""
	if rec.Emulator != nil {
		emulated = rec.Emulator.CostModel
	}
	return []IdentityField{
		{"server", rec.System.Server},
		{"cli", rec.System.CLI},
		{"api", rec.System.APIVersion},
		{"build", rec.System.Build},
		{"backend", rec.System.Backend},
		{"config", flatten(rec.System.Config)},
		{"emulator", emulated},
		{identityMachine, fmt.Sprintf("%s x%d, %d MB, %s/%s", m.CPUModel, m.CPUs, m.MemoryBytes>>20, m.OS, m.Arch)},
		{"k6", rec.Generator.K6},
		{"extension", rec.Generator.Extension},
		{"dataset", rec.Dataset.identity()},
		{"script", rec.Script.SHA256},
		{"point", rec.Run.Point},
	}
}

func (d Dataset) identity() string {
	var words []string
	for _, w := range []struct{ name, value string }{{"", d.Builder}, {"seed=", d.Seed}, {"", flatten(d.Parameters)}, {"sha256=", d.SHA256}} {
		if w.value != "" {
			words = append(words, w.name+w.value)
		}
	}
	return strings.Join(words, " ")
}

func flatten(m map[string]string) string {
	words := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, k+"="+m[k])
	}
	return strings.Join(words, " ")
}

// IdentityFields names the parts of an identity.
func IdentityFields() []string {
	var names []string
	for _, f := range (&Record{}).Identity() {
		names = append(names, f.Name)
	}
	return names
}

// IdentityDiff names the fields in which two records differ, apart from those allowed to vary, each with both values.
func IdentityDiff(a, b *Record, varies ...string) []string {
	var diff []string
	other := b.Identity()
	for i, f := range a.Identity() {
		if f.Value != other[i].Value && !slices.Contains(varies, f.Name) {
			diff = append(diff, fmt.Sprintf("%s (%s against %s)", f.Name, orNone(f.Value), orNone(other[i].Value)))
		}
	}
	return diff
}

func orNone(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}
