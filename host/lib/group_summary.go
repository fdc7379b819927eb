package lib

import (
	"fmt"
	"strings"
	"sync"

	"go.k6.io/k6/v2/metrics"
)

// GroupSummary builds the tree of groups and checks from the samples of a run: a check sample counts in its group,
// a group_duration sample makes its group known. It is safe for concurrent use.
type GroupSummary struct {
	mu     sync.Mutex
	root   *Group
	groups map[string]*Group            // by path
	order  []*Check                     // of all groups, in the order of their appearance
	checks map[*metrics.TagSet]*Check   // what a tag set led to the last time
	known  map[*metrics.TagSet]struct{} // tag sets of group_duration that were seen
}

// maxKnownTagSets bounds the memory for tag sets whose check or group is known: a script may tag each check with a
// value of its own.
const maxKnownTagSets = 10_000

// NewGroupSummary returns a tree that is only a root.
func NewGroupSummary() (*GroupSummary, error) {
	root, err := NewGroup("", nil)
	if err != nil {
		return nil, fmt.Errorf("making the root group: %w", err)
	}
	return &GroupSummary{
		root:   root,
		groups: map[string]*Group{RootGroupPath: root},
		checks: make(map[*metrics.TagSet]*Check),
		known:  make(map[*metrics.TagSet]struct{}),
	}, nil
}

// Checks returns the checks of all groups in the order of their first sample. Read them only after the last sample
// was added.
func (gs *GroupSummary) Checks() []*Check { return gs.order }

// Root returns the tree. Read it only after the last sample was added.
func (gs *GroupSummary) Root() *Group { return gs.root }

// AddSample takes a sample in; all but those of checks and group_duration are ignored.
func (gs *GroupSummary) AddSample(s *metrics.Sample) error {
	switch s.Metric.Name {
	case metrics.ChecksName:
		return gs.addCheck(s)
	case metrics.GroupDurationName:
		return gs.addGroup(s)
	default:
		return nil
	}
}

func (gs *GroupSummary) addCheck(s *metrics.Sample) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	check, ok := gs.checks[s.Tags]
	if !ok {
		name, hasName := s.Tags.Get(metrics.TagCheck.String())
		if !hasName {
			return nil // the system tag is off: there is no telling which check it was
		}
		path, _ := s.Tags.Get(metrics.TagGroup.String())
		group, err := gs.group(path)
		if err != nil {
			return err
		}
		_, known := group.Checks[name]
		if check, err = group.Check(name); err != nil {
			return fmt.Errorf("check %q: %w", name, err)
		}
		if !known {
			gs.order = append(gs.order, check)
		}
		if len(gs.checks) >= maxKnownTagSets {
			clear(gs.checks)
		}
		gs.checks[s.Tags] = check
	}
	if s.Value != 0 {
		check.Passes++
	} else {
		check.Fails++
	}
	return nil
}

func (gs *GroupSummary) addGroup(s *metrics.Sample) error {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if _, ok := gs.known[s.Tags]; ok {
		return nil
	}
	if len(gs.known) >= maxKnownTagSets {
		clear(gs.known)
	}
	gs.known[s.Tags] = struct{}{}
	path, _ := s.Tags.Get(metrics.TagGroup.String())
	_, err := gs.group(path)
	return err
}

// group returns the group of the path, making those on the way.
func (gs *GroupSummary) group(path string) (*Group, error) {
	if group, ok := gs.groups[path]; ok {
		return group, nil
	}
	group := gs.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, GroupSeparator), GroupSeparator) {
		next, err := group.Group(name)
		if err != nil {
			return nil, fmt.Errorf("group %q: %w", path, err)
		}
		group = next
	}
	gs.groups[path] = group
	return group, nil
}
