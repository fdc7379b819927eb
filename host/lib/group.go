package lib

import (
	"crypto/md5" // #nosec -- an identifier, not a protection
	"encoding/hex"
	"errors"
	"strings"
)

const (
	// GroupSeparator stands between the names in a group's path.
	GroupSeparator = "::"
	// RootGroupPath is the path of the group that everything is in.
	RootGroupPath = ""
	// DefaultScenarioName is the name of the scenario that the option shortcuts make.
	DefaultScenarioName = "default"
)

// DefaultSummaryTrendStats are the columns of trends in the summary.
//
//nolint:gochecknoglobals // part of the public interface
var DefaultSummaryTrendStats = []string{"avg", "min", "med", "max", "p(90)", "p(95)"}

// ErrNameContainsGroupSeparator is the error for a group or check whose name would break its path.
var ErrNameContainsGroupSeparator = errors.New("group and check names may not contain '" + GroupSeparator + "'")

// Group is a named part of a script. It is not safe for concurrent use.
type Group struct {
	Name          string            `json:"name"`
	Parent        *Group            `json:"-"`
	Path          string            `json:"path"`
	ID            string            `json:"id"` // hex MD5 of Path
	Groups        map[string]*Group `json:"groups"`
	OrderedGroups []*Group          `json:"-"`
	Checks        map[string]*Check `json:"checks"`
	OrderedChecks []*Check          `json:"-"`
}

// Check counts how often a condition held.
type Check struct {
	Name   string `json:"name"`
	Group  *Group `json:"-"`
	Path   string `json:"path"`
	ID     string `json:"id"` // hex MD5 of Path
	Passes int64  `json:"passes"`
	Fails  int64  `json:"fails"`
}

// NewGroup returns an empty group below parent; a nil parent makes it the root.
func NewGroup(name string, parent *Group) (*Group, error) {
	path := name
	if parent != nil {
		var err error
		if path, err = NewGroupPath(parent.Path, name); err != nil {
			return nil, err
		}
	}
	return &Group{
		Name: name, Parent: parent, Path: path, ID: pathID(path),
		Groups: make(map[string]*Group), Checks: make(map[string]*Check),
	}, nil
}

// Group returns the group of this name below g, making it if it's new.
func (g *Group) Group(name string) (*Group, error) {
	if group, ok := g.Groups[name]; ok {
		return group, nil
	}
	group, err := NewGroup(name, g)
	if err != nil {
		return nil, err
	}
	g.Groups[name] = group
	g.OrderedGroups = append(g.OrderedGroups, group)
	return group, nil
}

// NewCheck returns a check of the group that counted nothing yet.
func NewCheck(name string, group *Group) (*Check, error) {
	path, err := NewGroupPath(group.Path, name)
	if err != nil {
		return nil, err
	}
	return &Check{Name: name, Group: group, Path: path, ID: pathID(path)}, nil
}

// Check returns the check of this name in g, making it if it's new.
func (g *Group) Check(name string) (*Check, error) {
	if check, ok := g.Checks[name]; ok {
		return check, nil
	}
	check, err := NewCheck(name, g)
	if err != nil {
		return nil, err
	}
	g.Checks[name] = check
	g.OrderedChecks = append(g.OrderedChecks, check)
	return check, nil
}

// NewGroupPath returns the path of a group below old.
func NewGroupPath(old, path string) (string, error) {
	if strings.Contains(path, GroupSeparator) {
		return "", ErrNameContainsGroupSeparator
	}
	return old + GroupSeparator + path, nil
}

func pathID(path string) string {
	sum := md5.Sum([]byte(path)) // #nosec -- an identifier, not a protection
	return hex.EncodeToString(sum[:])
}
