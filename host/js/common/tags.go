package common

import (
	"fmt"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/metrics"
)

// ApplyCustomUserTags sets every property of keyValues as a tag. Null and undefined stand for no tags.
func ApplyCustomUserTags(rt *sobek.Runtime, tagsAndMeta *metrics.TagsAndMeta, keyValues sobek.Value) error {
	if IsNullish(keyValues) {
		return nil
	}
	obj := keyValues.ToObject(rt)
	for _, key := range obj.Keys() {
		if err := ApplyCustomUserTag(tagsAndMeta, key, obj.Get(key)); err != nil {
			return err
		}
	}
	return nil
}

// ApplyCustomUserTag sets one tag to a string, boolean or number. It may replace a system tag.
func ApplyCustomUserTag(tagsAndMeta *metrics.TagsAndMeta, key string, val sobek.Value) error {
	text, ok := tagText(val)
	if !ok {
		return fmt.Errorf("invalid value for metric tag '%s': "+
			"only String, Boolean and Number types are accepted as a metric tag value", key)
	}
	tagsAndMeta.SetTag(key, text)
	return nil
}

// ApplyCustomUserMetadata sets one entry of the metadata to a string, boolean or number.
func ApplyCustomUserMetadata(tagsAndMeta *metrics.TagsAndMeta, key string, val sobek.Value) error {
	text, ok := tagText(val)
	if !ok {
		return fmt.Errorf("invalid value for metric metadata '%s': "+
			"only String, Boolean and Number types are accepted as a metric metadata value", key)
	}
	tagsAndMeta.SetMetadata(key, text)
	return nil
}

func tagText(val sobek.Value) (string, bool) {
	if IsNullish(val) {
		return "", false
	}
	if sobek.IsString(val) || sobek.IsNumber(val) {
		return val.String(), true
	}
	if _, isObject := val.(*sobek.Object); isObject {
		return "", false
	}
	if _, isBool := val.Export().(bool); isBool {
		return val.String(), true
	}
	return "", false
}
