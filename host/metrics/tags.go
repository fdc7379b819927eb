package metrics

import (
	"encoding/json"
	"maps"

	"github.com/mstoykov/atlas"
)

// TagSet is an immutable set of tags. Two equal sets made from one root are the same pointer.
type TagSet atlas.Node

func (ts *TagSet) node() *atlas.Node { return (*atlas.Node)(ts) }

// With returns the set with the tag added or replaced. A lookup of a set that was made before allocates nothing.
func (ts *TagSet) With(name, value string) *TagSet {
	return (*TagSet)(ts.node().AddLink(name, value))
}

// Without returns the set without the tag.
func (ts *TagSet) Without(name string) *TagSet {
	return (*TagSet)(ts.node().DeleteKey(name))
}

// Get returns the value of a tag.
func (ts *TagSet) Get(name string) (string, bool) {
	return ts.node().ValueByKey(name)
}

// Contains says whether every tag of other is in the set with the same value.
func (ts *TagSet) Contains(other *TagSet) bool {
	return ts.node().Contains(other.node())
}

// IsEmpty says whether there is no tag.
func (ts *TagSet) IsEmpty() bool { return ts.node().IsRoot() }

// Map returns a copy of the tags.
func (ts *TagSet) Map() map[string]string {
	if ts == nil {
		return nil
	}
	return ts.node().Path()
}

// WithTagsFromMap returns the set with all tags of the map added or replaced.
func (ts *TagSet) WithTagsFromMap(m map[string]string) *TagSet {
	for name, value := range m {
		ts = ts.With(name, value)
	}
	return ts
}

// MarshalJSON writes an object sorted by name.
func (ts *TagSet) MarshalJSON() ([]byte, error) {
	if ts == nil {
		return []byte("null"), nil
	}
	return json.Marshal(ts.Map())
}

// TagsAndMeta is what a sample is labelled with: tags, which outputs and thresholds index, and metadata, which they
// only pass on. It is not safe for concurrent use.
type TagsAndMeta struct {
	Tags     *TagSet
	Metadata map[string]string
}

// SetTag adds or replaces a tag.
func (tm *TagsAndMeta) SetTag(key, value string) { tm.Tags = tm.Tags.With(key, value) }

// SetMetadata adds or replaces a metadata entry.
func (tm *TagsAndMeta) SetMetadata(key, value string) {
	if tm.Metadata == nil {
		tm.Metadata = make(map[string]string)
	}
	tm.Metadata[key] = value
}

// SetSystemTagOrMetaIfEnabled is SetSystemTagOrMeta if the set has the tag, else nothing.
func (tm *TagsAndMeta) SetSystemTagOrMetaIfEnabled(enabledSystemTags *SystemTagSet, tag SystemTag, value string) {
	if enabledSystemTags.Has(tag) {
		tm.SetSystemTagOrMeta(tag, value)
	}
}

// SetSystemTagOrMeta sets a system tag; those that would make a series of their own per value become metadata.
func (tm *TagsAndMeta) SetSystemTagOrMeta(tag SystemTag, value string) {
	if NonIndexableSystemTags.Has(tag) {
		tm.SetMetadata(tag.String(), value)
		return
	}
	tm.SetTag(tag.String(), value)
}

// DeleteTag removes a tag.
func (tm *TagsAndMeta) DeleteTag(key string) { tm.Tags = tm.Tags.Without(key) }

// DeleteMetadata removes a metadata entry.
func (tm *TagsAndMeta) DeleteMetadata(key string) { delete(tm.Metadata, key) }

// Clone returns a copy whose metadata can be changed independently.
func (tm TagsAndMeta) Clone() TagsAndMeta {
	return TagsAndMeta{Tags: tm.Tags, Metadata: maps.Clone(tm.Metadata)}
}

// EnabledTags is a set of tag names; its JSON form is a list.
type EnabledTags map[string]bool

// MarshalJSON writes a sorted list.
func (t EnabledTags) MarshalJSON() ([]byte, error) {
	names := make([]string, 0, len(t))
	for _, name := range sortedKeys(t) {
		if t[name] {
			names = append(names, name)
		}
	}
	return json.Marshal(names)
}

// UnmarshalJSON reads a list.
func (t *EnabledTags) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	*t = make(EnabledTags, len(names))
	for _, name := range names {
		(*t)[name] = true
	}
	return nil
}

// UnmarshalText reads a comma-separated list.
func (t *EnabledTags) UnmarshalText(data []byte) error {
	*t = make(EnabledTags)
	for _, name := range splitList(string(data)) {
		(*t)[name] = true
	}
	return nil
}
