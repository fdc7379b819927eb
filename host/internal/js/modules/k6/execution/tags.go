package execution

import (
	"maps"
	"slices"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

func (i *instance) state() *lib.State {
	state := i.vu.State()
	if state == nil {
		common.Throw(i.rt, errVUInInit)
	}
	return state
}

// tagsObject is vu.metrics.tags: the tags that the VU's samples get from now on.
type tagsObject struct{ *instance }

func (o *tagsObject) tags() *metrics.TagSet { return o.state().Tags.GetCurrentValues().Tags }

// Get implements sobek.DynamicObject.
func (o *tagsObject) Get(key string) sobek.Value {
	if value, ok := o.tags().Get(key); ok {
		return o.rt.ToValue(value)
	}
	return nil
}

// Set implements sobek.DynamicObject; it throws for a value that can't be a tag.
func (o *tagsObject) Set(key string, val sobek.Value) bool {
	var err error
	o.state().Tags.Modify(func(tm *metrics.TagsAndMeta) { err = common.ApplyCustomUserTag(tm, key, val) })
	if err != nil {
		common.Throw(o.rt, err)
	}
	return true
}

// Has implements sobek.DynamicObject.
func (o *tagsObject) Has(key string) bool {
	_, ok := o.tags().Get(key)
	return ok
}

// Delete implements sobek.DynamicObject.
func (o *tagsObject) Delete(key string) bool {
	o.state().Tags.Modify(func(tm *metrics.TagsAndMeta) { tm.DeleteTag(key) })
	return true
}

// Keys implements sobek.DynamicObject.
func (o *tagsObject) Keys() []string { return slices.Sorted(maps.Keys(o.tags().Map())) }

// metadataObject is vu.metrics.metadata.
type metadataObject struct{ *instance }

func (o *metadataObject) metadata() map[string]string {
	return o.state().Tags.GetCurrentValues().Metadata
}

// Get implements sobek.DynamicObject.
func (o *metadataObject) Get(key string) sobek.Value {
	if value, ok := o.metadata()[key]; ok {
		return o.rt.ToValue(value)
	}
	return nil
}

// Set implements sobek.DynamicObject; it throws for a value that can't be metadata.
func (o *metadataObject) Set(key string, val sobek.Value) bool {
	var err error
	o.state().Tags.Modify(func(tm *metrics.TagsAndMeta) { err = common.ApplyCustomUserMetadata(tm, key, val) })
	if err != nil {
		common.Throw(o.rt, err)
	}
	return true
}

// Has implements sobek.DynamicObject.
func (o *metadataObject) Has(key string) bool {
	_, ok := o.metadata()[key]
	return ok
}

// Delete implements sobek.DynamicObject.
func (o *metadataObject) Delete(key string) bool {
	o.state().Tags.Modify(func(tm *metrics.TagsAndMeta) { tm.DeleteMetadata(key) })
	return true
}

// Keys implements sobek.DynamicObject.
func (o *metadataObject) Keys() []string { return slices.Sorted(maps.Keys(o.metadata())) }
