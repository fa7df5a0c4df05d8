package records

import (
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// activate finds out which groups of clusters are active in each zone, and marks the hosts that this changes (rule 9.5).
func (c *compiler) activate() {
	var before map[string]status.Activity
	if c.prev != nil {
		before = c.prev.Activity
	}
	if slices.ContainsFunc(c.next.In.Clusters, func(cluster *api.Cluster) bool { return cluster.Group != "" }) {
		c.findActive(before)
	}
	if c.prev == nil {
		return
	}
	for i, s := range c.prev.Clusters {
		was, is := c.prev.In.Clusters[i].Group, c.next.In.Clusters[i].Group
		if was == is && was == "" {
			continue
		}
		switched := make(map[int]bool)
		for _, named := range [...]map[string]status.Activity{before, c.next.Activity} {
			for origin := range named {
				if active := c.next.Activity[origin].Active.Has(is); before[origin].Active.Has(was) != active || was != is && !active { // which one is told
					switched[c.next.Table.Index[origin]] = true
				}
			}
		}
		if len(switched) == 0 {
			continue
		}
		for _, t := range s.Targets.All() {
			for _, who := range t.Contenders {
				if switched[c.zoneOf(rdata.Base(who.Host))] {
					c.change(who)
				}
			}
		}
	}
}

// findActive finds the active groups of zones: of those that change since before, or of all if before is nil.
func (c *compiler) findActive(before map[string]status.Activity) {
	for _, change := range c.order {
		if strings.HasPrefix(change.key, api.ActiveGroupsLabel+".") {
			c.renewGroup(change)
		}
	}
	if c.old != nil {
		c.next.In.ActiveGroups = c.old.In.ActiveGroups
	}
	known := make(map[string]*api.ActiveGroups)
	c.next.Activity = make(map[string]status.Activity)
	maps.Copy(c.next.Activity, before)
	for i, z := range c.zones {
		if before == nil || c.edits[i] != nil || before[z.Origin()].Alias != "" {
			if is := c.activityAt(i); is != (status.Activity{}) {
				c.next.Activity[z.Origin()] = is
			} else {
				delete(c.next.Activity, z.Origin())
			}
		}
	}
	for origin, is := range c.next.Activity {
		if is.Active != nil {
			known[origin] = is.Active
		}
	}
	c.next.In.ActiveGroups = known
}

// activityAt returns the activity in a zone.
func (c *compiler) activityAt(zone int) (is status.Activity) {
	texts, alias := c.groupTexts(zone)
	is.Active = c.next.In.ActiveGroups[c.zones[zone].Origin()]
	if is.Alias = alias; alias != "" {
		found, known := c.next.In.GroupTexts[alias]
		if texts = found.Texts; !known || found.Err != "" {
			is.Problem = found.Err
			return is
		}
	}
	if texts == nil {
		if c.mayName() {
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
func (c *compiler) mayName() bool {
	return slices.ContainsFunc(c.next.In.Clusters, func(cluster *api.Cluster) bool {
		for k, l := range cluster.Listings {
			if api.Kind(k).HoldsNames() && !l.Certain() && l != api.NotCounted {
				return true
			}
		}
		return false
	})
}

// groupTexts returns the TXT records that name a zone's active groups, or the target of the CNAME there.
func (c *compiler) groupTexts(zone int) (texts []string, alias string) {
	name := c.zones[zone].GroupsName()
	if name == "" { // it would be too long
		return nil, ""
	}
	n := c.nodeAt(name)
	if n == nil {
		return nil, ""
	}
	if set, simple := n.Steered.Data.(*pool.Set); simple && len(set.RRs) > 0 {
		if cname, is := set.RRs[0].(*dns.CNAME); is {
			return nil, cname.Target
		}
	}
	sets := n.Static
	if e := c.edits[zone]; e != nil {
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
