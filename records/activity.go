package records

import (
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// activate finds out which groups of clusters are active in each zone of s, and marks the hosts that this changes (rule 9.5). s is made from
// base, or from nothing if that is nil, and comes after last.
func activate(base, last, s *Snapshot, r *resolver) {
	var before map[string]status.Activity
	if base != nil {
		before = base.Activity
	}
	if slices.ContainsFunc(s.In.Clusters, func(c *api.Cluster) bool { return c.Group != "" }) {
		r.resolveFirst(func(key string) bool { return strings.HasPrefix(key, api.ActiveGroupsLabel+".") })
		if last != nil {
			s.In.ActiveGroups = last.In.ActiveGroups
		}
		s.Activity = activities(r.zones, &s.In, before)
		s.In.ActiveGroups = make(map[string]*api.ActiveGroups)
		for origin, is := range s.Activity {
			if is.Active != nil {
				s.In.ActiveGroups[origin] = is.Active
			}
		}
	}
	if base != nil {
		markSwitched(base, s, r.dirty)
	}
}

// markSwitched marks the hosts of clusters whose group is active now where it was not, or the other way round. s is made from base.
func markSwitched(base, s *Snapshot, dirty *dirty) {
	for i, c := range base.Clusters {
		was, is := base.In.Clusters[i].Group, s.In.Clusters[i].Group
		if was == is && was == "" {
			continue
		}
		switched := make(map[int]bool)
		for _, named := range [...]map[string]status.Activity{base.Activity, s.Activity} {
			for origin := range named {
				if active := s.Activity[origin].Active.Has(is); base.Activity[origin].Active.Has(was) != active || was != is && !active { // which one is told
					switched[s.Table.Index[origin]] = true
				}
			}
		}
		if len(switched) == 0 {
			continue
		}
		for who := range c.Contenders("") {
			if switched[endpoint.ClosestOrigin(s.Table.Index, rdata.Base(who.Host))] {
				dirty.contender(who)
			}
		}
	}
}

// activities returns which groups are active, by origin: found anew for zones that change since before, or for all if before is nil.
func activities(zones *zoneSet, in *api.Objects, before map[string]status.Activity) map[string]status.Activity {
	all := make(map[string]status.Activity)
	maps.Copy(all, before)
	for i, z := range zones.served {
		if before == nil || zones.edits[i] != nil || before[z.Origin()].Alias != "" {
			texts, alias := zones.groupTexts(i)
			if is := activityOf(texts, alias, in.ActiveGroups[z.Origin()], in); is != (status.Activity{}) {
				all[z.Origin()] = is
			} else {
				delete(all, z.Origin())
			}
		}
	}
	return all
}

// activityOf returns the activity in a zone with those TXT records that name groups, or with a CNAME to alias in their place; last are the
// last groups that could be read there.
func activityOf(texts []string, alias string, last *api.ActiveGroups, in *api.Objects) (is status.Activity) {
	is.Active, is.Alias = last, alias
	if alias != "" {
		found, known := in.GroupTexts[alias]
		if texts = found.Texts; !known || found.Err != "" {
			is.Problem = found.Err
			return is
		}
	}
	if texts == nil {
		if mayName(in) {
			return is
		}
		return status.Activity{}
	}
	now, err := api.ParseActiveGroups(texts...)
	if err != nil {
		is.Problem = err.Error()
	} else if is.Active == nil || !slices.Equal(is.Active.Names, now.Names) {
		is.Active = now
	}
	return is
}

// mayName reports whether a cluster that is not listed may hold the record that names active groups.
func mayName(in *api.Objects) bool {
	return slices.ContainsFunc(in.Clusters, func(cluster *api.Cluster) bool {
		for k, l := range cluster.Listings {
			if api.Kind(k).HoldsNames() && !l.Certain() && l != api.NotCounted {
				return true
			}
		}
		return false
	})
}

// groupTexts returns the TXT records that name a zone's active groups, or the target of the CNAME there.
func (z *zoneSet) groupTexts(i int) (texts []string, alias string) {
	name := z.served[i].GroupsName()
	if name == "" { // it would be too long
		return nil, ""
	}
	n := z.node(name)
	if n == nil {
		return nil, ""
	}
	if set, simple := n.Steered.Data.(*pool.Set); simple && len(set.RRs) > 0 {
		if cname, is := set.RRs[0].(*dns.CNAME); is {
			return nil, cname.Target
		}
	}
	sets := n.Static
	if e := z.edits[i]; e != nil {
		sets = e.SetsNow(n)
	}
	for _, set := range sets {
		for _, rr := range set.RRs {
			switch rr := rr.(type) {
			case *dns.CNAME:
				return nil, rr.Target
			case *dns.TXT:
				texts = append(texts, strings.Join(rr.Txt, ""))
			}
		}
	}
	return texts, ""
}

// GroupAliases returns the targets of CNAMEs whose ends name active groups, sorted, each once.
func (s *Snapshot) GroupAliases() (targets []string) {
	for _, a := range s.Activity {
		if a.Alias != "" {
			targets = append(targets, a.Alias)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// GroupsOwners returns the objects that name the active groups of a zone.
func (s *Snapshot) GroupsOwners(z *zone.Zone) (all []status.Object) {
	n := z.Node(z.GroupsName())
	if n == nil {
		return nil
	}
	if by := n.Steered.Owner; by != nil {
		all = append(all, status.ObjectOf(by.Kind, by.By))
	}
	for _, r := range n.Records {
		if t := r.RR.Header().Rrtype; t == dns.TypeTXT || t == dns.TypeCNAME {
			all = append(all, status.ObjectOf(r.ObjectKind(), &r.Record.Meta))
		}
	}
	return all
}
