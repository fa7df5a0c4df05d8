package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// Groups says which groups of clusters are active in a zone (rule 9.5).
type Groups struct {
	// Record is the name of the TXT record that names the active ones. Alias is the target of a CNAME there.
	Record string `json:"record"`
	Alias  string `json:"alias,omitempty"`
	// Owners are the objects with the record: one, or it cannot be read. Namespaces are those that may have one; "*" is all.
	Owners     []records.Object `json:"owners,omitempty"`
	Namespaces []string         `json:"namespaces,omitempty"`
	// All reports whether there is no such record: all are active.
	All bool `json:"all,omitempty"`
	// Problem says why the record cannot be read. The last groups count.
	Problem string `json:"problem,omitempty"`
	// Groups are those of clusters and of the record, by name.
	Groups []Group `json:"groups"`
}

// Group is a group of clusters.
type Group struct {
	// Name is its name. Active reports whether its clusters' targets are answered.
	Name   string `json:"name"`
	Active bool   `json:"active"`
	// Clusters are its clusters; none for a name in the record alone.
	Clusters []string `json:"clusters"`
}

// clustersOf returns the clusters of each group; nil if no cluster has one.
func clustersOf(s *records.Snapshot) (clusters map[string][]string) {
	for _, c := range s.Objects().Clusters {
		if c.Group == "" {
			continue
		}
		if clusters == nil {
			clusters = make(map[string][]string)
		}
		clusters[c.Group] = append(clusters[c.Group], c.Name)
	}
	return clusters
}

// GroupsOf returns the groups of a zone; nil if no cluster has a group.
func GroupsOf(s *records.Snapshot, z *records.Zone) *Groups { return groupsOf(s, z, clustersOf(s)) }

// groupsOf is GroupsOf with the clusters of each group.
func groupsOf(s *records.Snapshot, z *records.Zone, clusters map[string][]string) *Groups {
	if clusters == nil {
		return nil
	}
	is := s.Activity[z.Origin()]
	g := &Groups{Record: trim(z.GroupsName()), Alias: trim(is.Alias), All: is.Active == nil, Problem: is.Problem}
	g.Owners, g.Namespaces = s.GroupsOwners(z), s.Opt.ZoneNamespaces
	if z.Object != nil {
		g.Namespaces = []string{z.Object.Namespace()}
	}
	for name, of := range clusters {
		g.Groups = append(g.Groups, Group{Name: name, Active: is.Active.Has(name), Clusters: of})
	}
	if is.Active != nil {
		for _, name := range is.Active.Names {
			if clusters[name] == nil {
				g.Groups = append(g.Groups, Group{Name: name, Active: true, Clusters: []string{}})
			}
		}
	}
	slices.SortFunc(g.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return g
}

// NamedGroups returns the groups of the zones that name active ones, by origin with a final dot. s may be nil.
func NamedGroups(s *records.Snapshot) map[string]*Groups {
	if s == nil || s.Activity == nil {
		return nil
	}
	all, clusters := make(map[string]*Groups, len(s.Activity)), clustersOf(s)
	for origin := range s.Activity {
		all[origin] = groupsOf(s, s.Served[s.Table.Index[origin]], clusters)
	}
	return all
}

// Text says in words which groups are active.
func (g *Groups) Text() string {
	at := g.Record
	if g.Alias != "" {
		at = g.Alias
	}
	cannot := at + " cannot be read: " + g.Problem
	if len(g.Owners) > 0 && g.Alias == "" {
		cannot += " (" + ObjectsText(g.Owners) + ")"
	}
	switch {
	case g.All && g.Problem != "":
		return "all groups are active, as " + cannot
	case g.All && g.Alias != "":
		return "all groups are active until " + at + " is resolved"
	case g.All:
		return "all groups are active, as there is no TXT record " + at
	}
	var active, idle, unknown []string
	for _, group := range g.Groups {
		switch {
		case len(group.Clusters) == 0:
			unknown = append(unknown, group.Name)
		case group.Active:
			active = append(active, group.Name)
		default:
			idle = append(idle, group.Name+" ("+strings.Join(group.Clusters, ", ")+")")
		}
	}
	text := "active groups: " + strings.Join(active, ", ") + "; not active: " + cmp.Or(strings.Join(idle, ", "), "none")
	if len(active) == 0 {
		text = "no cluster is of an active group, so hosts keep all their targets, unless clusters without a group have some; not active: " +
			strings.Join(idle, ", ")
	}
	if len(unknown) > 0 {
		text += "; no cluster has the group " + strings.Join(unknown, ", ")
	}
	if g.Problem != "" {
		text += "; these are the last ones: " + cannot
	}
	return text
}

// Wrong reports whether the record needs attention: it cannot be read, names a group that no cluster has, or none that one has.
func (g *Groups) Wrong() bool {
	lacks := func(group Group) bool { return len(group.Clusters) == 0 }
	serves := func(group Group) bool { return group.Active && !lacks(group) }
	return g.Problem != "" || slices.ContainsFunc(g.Groups, lacks) || !slices.ContainsFunc(g.Groups, serves)
}
