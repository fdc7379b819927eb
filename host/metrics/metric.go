package metrics

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/guregu/null.v3"
)

// Metric is a named series of samples. Registry makes them.
//
// Name, Type and Contains never change. The other fields belong to the goroutine that aggregates the samples.
type Metric struct {
	Name       string       `json:"name"`
	Type       MetricType   `json:"type"`
	Contains   ValueType    `json:"contains"`
	Tainted    null.Bool    `json:"tainted"` // whether a threshold on it was crossed
	Thresholds Thresholds   `json:"thresholds"`
	Submetrics []*Submetric `json:"submetrics"`
	Sub        *Submetric   `json:"-"` // set on the metric of a submetric
	Sink       Sink         `json:"-"`
	Observed   bool         `json:"-"` // whether it got a sample or has a threshold

	registry *Registry
}

// Submetric is the part of a metric's samples whose tags include Tags.
type Submetric struct {
	Name   string  `json:"name"`   // "metric{suffix}"
	Suffix string  `json:"suffix"` // what is between the braces
	Tags   *TagSet `json:"tags"`

	Metric *Metric `json:"-"` // holds the submetric's own sink and thresholds
	Parent *Metric `json:"-"`
}

var (
	errMetricNameParsing = errors.New("parsing metric name failed")
	errNoSubmetricTags   = errors.New("submetric criteria for a metric can't be empty")
)

// AddSubmetric returns the submetric for a selector such as "status:200,method:GET", making it if it's new.
func (m *Metric) AddSubmetric(keyValues string) (*Submetric, error) {
	keyValues = strings.TrimSpace(keyValues)
	if keyValues == "" {
		return nil, fmt.Errorf("%w: metric '%s'", errNoSubmetricTags, m.Name)
	}
	pairs, err := splitSelector(keyValues)
	if err != nil {
		return nil, fmt.Errorf("%w: metric '%s': %w", errMetricNameParsing, m.Name, err)
	}
	tags := m.registry.RootTagSet()
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, ":")
		tags = tags.With(unquote(key), unquote(value))
	}
	for _, sub := range m.Submetrics {
		if sub.Tags == tags {
			return sub, nil
		}
	}
	sub := &Submetric{Name: m.Name + "{" + keyValues + "}", Suffix: keyValues, Tags: tags, Parent: m}
	sub.Metric = &Metric{
		Name: sub.Name, Type: m.Type, Contains: m.Contains, Sink: NewSink(m.Type), Sub: sub, registry: m.registry,
	}
	m.Submetrics = append(m.Submetrics, sub)
	return sub, nil
}

// ParseMetricName splits "metric{key:value,key2:value2}" into the metric's name and its "key:value" pairs.
func ParseMetricName(name string) (string, []string, error) {
	open := strings.IndexByte(name, '{')
	closing := strings.LastIndexByte(name, '}')
	switch {
	case open < 0 && closing < 0:
		return name, nil, nil
	case open < 0:
		return "", nil, fmt.Errorf("%w: %q has no opening curly brace", errMetricNameParsing, name)
	case closing < open:
		return "", nil, fmt.Errorf("%w: %q has no closing curly brace", errMetricNameParsing, name)
	case closing != len(name)-1:
		return "", nil, fmt.Errorf("%w: %q goes on after the closing curly brace", errMetricNameParsing, name)
	}
	selector := name[open+1 : closing]
	if strings.TrimSpace(selector) == "" {
		return name[:open], nil, nil
	}
	pairs, err := splitSelector(selector)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %q: %w", errMetricNameParsing, name, err)
	}
	return name[:open], pairs, nil
}

// splitSelector splits at the commas outside quotes and checks each "key:value". Spaces around keys and values are
// dropped.
func splitSelector(s string) ([]string, error) {
	var (
		pairs []string
		quote byte
		start int
	)
	add := func(pair string) error {
		key, value, ok := strings.Cut(pair, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || value == "" {
			return fmt.Errorf("malformed tag selector %q, it has to be tag:value", strings.TrimSpace(pair))
		}
		pairs = append(pairs, key+":"+value)
		return nil
	}
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && opensValue(s[start:i]):
			quote = c
		case c == ',':
			if err := add(s[start:i]); err != nil {
				return nil, err
			}
			start = i + 1
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has an unclosed quote", s)
	}
	if err := add(s[start:]); err != nil {
		return nil, err
	}
	return pairs, nil
}

// opensValue says whether a quote after this text would be the first character of a key or a value.
func opensValue(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasSuffix(before, ":")
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
