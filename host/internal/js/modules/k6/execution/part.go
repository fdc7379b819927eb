package execution

import (
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
)

// part is an object of the module, such as vu: a sobek.DynamicObject whose properties are computed when they are
// read. What is an object or a function is made once.
type part struct {
	*instance

	getters map[string]getter
	made    map[string]sobek.Value
}

func (p *part) getter(key string) getter {
	if get, ok := p.getters[key]; ok && !strings.HasPrefix(key, hidden) {
		return get
	}
	return p.getters[hidden+key]
}

// Get implements sobek.DynamicObject.
func (p *part) Get(key string) sobek.Value {
	if v, ok := p.made[key]; ok {
		return v
	}
	get := p.getter(key)
	if get == nil {
		return nil
	}
	value, err := get(p.instance)
	if err != nil {
		common.Throw(p.rt, err)
	}
	v := p.rt.ToValue(value)
	if _, isObject := v.(*sobek.Object); isObject {
		if p.made == nil {
			p.made = make(map[string]sobek.Value)
		}
		p.made[key] = v
	}
	return v
}

// Set implements sobek.DynamicObject: nothing can be set.
func (*part) Set(string, sobek.Value) bool { return false }

// Has implements sobek.DynamicObject.
func (p *part) Has(key string) bool { return p.getter(key) != nil }

// Delete implements sobek.DynamicObject: nothing can be deleted.
func (*part) Delete(string) bool { return false }

// Keys implements sobek.DynamicObject.
func (p *part) Keys() []string {
	keys := make([]string, 0, len(p.getters))
	for key := range p.getters {
		if !strings.HasPrefix(key, hidden) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
