// Package features holds the switches that turn new behaviour on before it becomes the default.
package features

import (
	"fmt"
	"slices"
	"strings"
)

// Flags is the set of switches.
type Flags struct {
	NativeHistograms bool // trends as native histograms in remote write
	MergeRunTags     bool // run tags of several layers add up instead of replacing each other
	FreezeEnv        bool // __ENV is read-only
}

// Feature is a switch with the name that --features and K6_FEATURES know it by.
type Feature struct {
	Name        string
	Description string
	field       func(*Flags) *bool
}

// All returns the known features, sorted by name.
func All() []Feature {
	return []Feature{
		{"freeze-env", "makes __ENV read-only", func(f *Flags) *bool { return &f.FreezeEnv }},
		{"merge-run-tags", "merges the tags of all option layers", func(f *Flags) *bool { return &f.MergeRunTags }},
		{"native-histograms", "sends trends as native histograms", func(f *Flags) *bool { return &f.NativeHistograms }},
	}
}

// Enabled says whether the feature is on.
func (f Feature) Enabled(flags *Flags) bool { return flags != nil && *f.field(flags) }

// Parse turns the named features on. An unknown name is an error that lists the known ones.
func Parse(names []string) (*Flags, error) {
	flags := &Flags{}
	known := All()
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(known, func(f Feature) bool { return f.Name == name })
		if i < 0 {
			all := make([]string, 0, len(known))
			for _, f := range known {
				all = append(all, f.Name)
			}
			return nil, fmt.Errorf("unknown feature %q, the known ones are: %s", name, strings.Join(all, ", "))
		}
		*known[i].field(flags) = true
	}
	return flags, nil
}
