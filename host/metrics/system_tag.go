package metrics

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
)

// SystemTag is a tag that the test run itself sets. Each is one bit.
type SystemTag uint32

// The system tags. The last four are off unless asked for.
const (
	TagProto SystemTag = 1 << iota
	TagSubproto
	TagStatus
	TagMethod
	TagURL
	TagName
	TagGroup
	TagCheck
	TagError
	TagErrorCode
	TagTLSVersion
	TagScenario
	TagService
	TagExpectedResponse

	TagIter
	TagVU
	TagOCSPStatus
	TagIP
)

//nolint:gochecknoglobals // a table by bit number; returning it from a function would cost the hot path an allocation
var systemTagNames = [...]string{
	"proto", "subproto", "status", "method", "url", "name", "group", "check", "error", "error_code",
	"tls_version", "scenario", "service", "expected_response", "iter", "vu", "ocsp_status", "ip",
}

// String returns the tag's name.
func (t SystemTag) String() string {
	i := bits.TrailingZeros32(uint32(t))
	if bits.OnesCount32(uint32(t)) != 1 || i >= len(systemTagNames) {
		return "invalid"
	}
	return systemTagNames[i]
}

// SystemTagSet is a set of system tags.
type SystemTagSet SystemTag

// DefaultSystemTagSet is the set in force when the options say nothing.
//
//nolint:gochecknoglobals // part of the public interface
var DefaultSystemTagSet = SystemTagSet(TagIter - 1)

// NonIndexableSystemTags are the ones that become metadata, since every value would be a series of its own.
//
//nolint:gochecknoglobals // part of the public interface
var NonIndexableSystemTags = SystemTagSet(TagIter | TagVU)

// NewSystemTagSet returns a set of the tags.
func NewSystemTagSet(tags ...SystemTag) *SystemTagSet {
	set := new(SystemTagSet)
	for _, tag := range tags {
		set.Add(tag)
	}
	return set
}

// ToSystemTagSet returns the set of the named tags; unknown names are ignored.
func ToSystemTagSet(tags []string) *SystemTagSet {
	set := new(SystemTagSet)
	for _, name := range tags {
		if i := slices.Index(systemTagNames[:], strings.TrimSpace(name)); i >= 0 {
			set.Add(1 << i)
		}
	}
	return set
}

// Has says whether the tag is in the set; a nil set is empty.
func (s *SystemTagSet) Has(tag SystemTag) bool {
	return s != nil && SystemTag(*s)&tag != 0
}

// Add puts the tag into the set.
func (s *SystemTagSet) Add(tag SystemTag) { *s |= SystemTagSet(tag) }

// names returns the names of the set's tags, in the order of the constants.
func (s *SystemTagSet) names() []string {
	names := []string{}
	for i, name := range systemTagNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// Map returns the set as names.
func (s *SystemTagSet) Map() EnabledTags {
	enabled := make(EnabledTags)
	for _, name := range s.names() {
		enabled[name] = true
	}
	return enabled
}

// MarshalJSON writes a list of names.
func (s *SystemTagSet) MarshalJSON() ([]byte, error) {
	names := s.names()
	slices.Sort(names)
	return json.Marshal(names)
}

// UnmarshalJSON reads a list of names.
func (s *SystemTagSet) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	*s = *ToSystemTagSet(names)
	return nil
}

// UnmarshalText reads a comma-separated list of names.
func (s *SystemTagSet) UnmarshalText(data []byte) error {
	*s = *ToSystemTagSet(splitList(string(data)))
	return nil
}

// MarshalText writes a comma-separated list of names.
func (s *SystemTagSet) MarshalText() ([]byte, error) {
	return []byte(strings.Join(s.names(), ",")), nil
}

func splitList(s string) []string {
	var list []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
