package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ActiveGroupsLabel is the label, below a zone's origin, of the TXT record with its active groups (rule 9.5).
const ActiveGroupsLabel = "kuadrant-active-groups"

// Such a record holds groupsVersion, and groupsKey with the groups between groupsBetween, as Kuadrant writes it.
const (
	groupsVersion = "version=1"
	groupsKey     = ";groups="
	groupsBetween = "&&"
	groupsForm    = groupsVersion + groupsKey + "GROUP" + groupsBetween + "GROUP"
)

// maxGroup bounds the name of a group, in octets: that of a label's value in Kubernetes.
const maxGroup = 63

// CheckGroup fails if a cluster's group cannot have a name.
func CheckGroup(name string) error {
	if name == "" || len(name) > maxGroup || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) {
		return fmt.Errorf("%.70q is not the name of a group: up to %d of a-z, A-Z, 0-9, ., _ and -", name, maxGroup)
	}
	return nil
}

// ActiveGroups are the active groups of a zone.
type ActiveGroups struct{ Names []string } // sorted, each once

// Has reports whether clusters of a group are active. A nil ActiveGroups is of a zone that names none: all are active. Clusters without a
// group always are.
func (a *ActiveGroups) Has(group string) bool {
	return a == nil || group == "" || slices.Contains(a.Names, group)
}

// String returns the content of the TXT record.
func (a *ActiveGroups) String() string {
	if len(a.Names) == 0 {
		return groupsVersion
	}
	return groupsVersion + groupsKey + strings.Join(a.Names, groupsBetween)
}

// NewActiveGroups returns the groups, each once.
func NewActiveGroups(names ...string) *ActiveGroups {
	return &ActiveGroups{slices.Compact(slices.Sorted(slices.Values(names)))}
}

// GroupText is what a resolver knows of a name with active groups.
type GroupText struct {
	Texts []string // the strings of each TXT record, joined
	Err   string   // why there are none
}

// ParseActiveGroups reads the content of the TXT record: the joined strings of each record at the name (RFC 7208 §3.3).
func ParseActiveGroups(texts ...string) (*ActiveGroups, error) {
	if len(texts) != 1 {
		return nil, fmt.Errorf("there are %d TXT records; leave one", len(texts))
	}
	list, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(texts[0]), `"`), groupsVersion)
	if !ok {
		return nil, fmt.Errorf("%.70q does not begin with %s: write %s", texts[0], groupsVersion, groupsForm)
	}
	if list == "" {
		return &ActiveGroups{}, nil
	}
	if list, ok = strings.CutPrefix(list, groupsKey); !ok {
		return nil, fmt.Errorf("%.70q lacks %s behind %s: write %s", texts[0], groupsKey, groupsVersion, groupsForm)
	}
	if list == "" {
		return &ActiveGroups{}, nil
	}
	names := strings.Split(list, groupsBetween)
	for _, name := range names {
		if err := CheckGroup(name); err != nil {
			return nil, errors.New(err.Error() + "; write " + groupsForm)
		}
	}
	return NewActiveGroups(names...), nil
}
