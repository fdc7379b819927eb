package lib

import (
	"maps"
	"sync"

	"go.k6.io/k6/v2/metrics"
)

// VUStateTags are the tags and metadata that a VU's samples get at the moment. They are safe for concurrent use.
type VUStateTags struct {
	mu  sync.RWMutex
	now metrics.TagsAndMeta
}

// NewVUStateTags returns the tags without metadata; tags must not be nil.
func NewVUStateTags(tags *metrics.TagSet) *VUStateTags {
	if tags == nil {
		panic("the tags of a VU need a tag set, an empty one at least")
	}
	return &VUStateTags{now: metrics.TagsAndMeta{Tags: tags}}
}

// GetCurrentValues returns the tag set and a copy of the metadata.
func (t *VUStateTags) GetCurrentValues() metrics.TagsAndMeta {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.now.Metadata == nil {
		return t.now
	}
	return metrics.TagsAndMeta{Tags: t.now.Tags, Metadata: maps.Clone(t.now.Metadata)}
}

// Modify lets the callback change tags and metadata; nobody else sees them meanwhile.
func (t *VUStateTags) Modify(callback func(tagsAndMeta *metrics.TagsAndMeta)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	callback(&t.now)
}
