package records

import (
	"math"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// zoneSet has the zones of a compile: those of the snapshot before, or new ones, and the next versions of the changed ones.
type zoneSet struct {
	table      *endpoint.Zones
	in         *api.Objects
	opt        *endpoint.Options
	generation uint32
	served     []*zone.Zone
	edits      []*zone.Edit // nil for a zone that has not changed
}

// openZones begins the next versions of the zones of base; nil makes the zones of the table from nothing. It opens all if the snapshot may
// differ anywhere, else those whose serial, or its storage, may change.
func openZones(base *Snapshot, table *endpoint.Zones, in *api.Objects, opt *endpoint.Options, generation uint32, anywhere bool) *zoneSet {
	z := &zoneSet{table: table, in: in, opt: opt, generation: generation}
	if base == nil {
		z.served = newZones(table)
	} else {
		z.served = slices.Clone(base.Served)
	}
	z.edits = make([]*zone.Edit, len(z.served))
	if anywhere {
		for i := range z.served {
			z.edit(i)
		}
		return z
	}
	for _, c := range in.Clusters {
		for _, ref := range c.Changed {
			if a := table.Admission(c.Name, ref.Name); ref.Kind == api.KindZone && a != nil && a.Problem == nil {
				z.edit(table.Index[a.FQDN]) // its status has changed
			}
		}
	}
	for _, origin := range in.SerialsChanged {
		if i, ok := table.Index[origin]; ok {
			z.edit(i)
		}
	}
	return z
}

// newZones returns the zones of a table, with only the Corefile's data.
func newZones(table *endpoint.Zones) (all []*zone.Zone) {
	cuts := table.Cuts()
	for i, at := range table.Served {
		all = append(all, zone.NewZone(at, cuts[i]))
	}
	for _, at := range table.Served {
		if up := table.Above(at.Origin); up != nil && at.Unread != nil {
			all[table.Index[up.Origin]].UnreadNames++ // its delegation is unknown (rule 6.6)
		}
	}
	return all
}

// edit returns the next version of a zone.
func (z *zoneSet) edit(i int) *zone.Edit {
	if z.edits[i] == nil {
		z.edits[i] = z.served[i].Edit(z.generation)
		z.edits[i].Since, z.edits[i].Options = z.since, z.opt
	}
	return z.edits[i]
}

// sweep takes dropped Records away.
func (z *zoneSet) sweep() {
	for _, e := range z.edits {
		if e != nil {
			e.Sweep()
		}
	}
}

// since returns since when the namespace of an object has a name, in seconds since 1970: as the registry has it, which is later than all if
// the name has no line yet; as long as the object is there where no line is kept. host is true for a host, false for Records.
func (z *zoneSet) since(name string, m *api.Meta, host bool) int64 {
	in := z.in
	if in.Acquired.Len() == 0 {
		return m.Created
	}
	line, ok := in.Line(name)
	switch i := z.indexOf(rdata.Base(name)); {
	case !ok && i >= 0 && !z.opt.Sharing(&z.served[i].Zone)(name) && !host: // no line is kept
		return m.Created
	case !ok || !in.MetaOf(line).SameNamespace(m):
		return math.MaxInt64
	case line.Since == 0: // of a former release, or from before there was a registry
		return m.Created
	}
	return line.Since
}

// indexOf returns the index of the zone that name lies in, -1 for none.
func (z *zoneSet) indexOf(name string) int { return endpoint.ClosestOrigin(z.table.Index, name) }

// ofRecord returns the index of the zone that a Record lies in.
func (z *zoneSet) ofRecord(r *endpoint.Record) int { return z.table.Index[r.Zone()] }

// node returns the node at name as edited so far; nil for none. name lies in a zone served here.
func (z *zoneSet) node(name string) *zone.Node {
	i := z.indexOf(name)
	if e := z.edits[i]; e != nil {
		return e.Node(name)
	}
	return z.served[i].Node(name)
}

// optionsAt returns the options of the zone that a name lies in; nil for none.
func (z *zoneSet) optionsAt(name string) *endpoint.ZoneOptions {
	if i := z.indexOf(rdata.Base(name)); i >= 0 {
		return z.served[i].Corefile
	}
	return nil
}

// taken returns a zone or name server of the Corefile at or below a name; "" for none.
func (z *zoneSet) taken(name string) string {
	under := func(taken string) bool { return rdata.IsSubdomain(name, taken) }
	if i := slices.IndexFunc(z.table.Reserved, under); i >= 0 {
		return z.table.Reserved[i]
	}
	for _, ns := range z.served[z.indexOf(name)].Corefile.Nameservers {
		if under(ns.Name) {
			return ns.Name
		}
	}
	return ""
}

// placeOf returns where a host lies (rule 1.6).
func (z *zoneSet) placeOf(host string) endpoint.Placement {
	i := z.indexOf(rdata.Base(host))
	if i < 0 {
		return endpoint.Outside
	}
	switch at := z.served[i]; {
	case at.ChainHost(host) != "":
		return endpoint.InChain
	case host != at.Origin() && len(at.Fixed[host]) > 0:
		return endpoint.Reserved
	}
	return endpoint.InZone
}

// mayPublish returns what keeps an object from publishing data of a type at a host in a zone; nil
// for nothing (rule 5.1).
func (z *zoneSet) mayPublish(m *api.Meta, host, rtype string) *endpoint.Problem {
	return z.opt.MayPublish(&z.served[z.indexOf(rdata.Base(host))].Zone, m, host, rtype)
}

// settle makes the RRsets of all changed names. A zone changes too if it copies from a changed zone
// below it: the deepest zones come first (rule 6.6).
func (z *zoneSet) settle() {
	var byDepth [rdata.MaxWireName][]int
	for i, e := range z.edits {
		if e != nil {
			d := zone.Depth(z.served[i].Origin())
			byDepth[d] = append(byDepth[d], i)
		}
	}
	for d := len(byDepth) - 1; d >= 0; d-- {
		for _, i := range byDepth[d] {
			z.edits[i].Settle()
			up := z.table.Above(z.served[i].Origin())
			if up == nil {
				continue
			}
			above := z.table.Index[up.Origin]
			known := z.edits[above] != nil
			z.edit(above).Delegate(z.served[i].Origin(), z.edits[i].Delegation(z.node))
			if !known {
				byDepth[zone.Depth(up.Origin)] = append(byDepth[zone.Depth(up.Origin)], above)
			}
		}
	}
}

// finish gives the changed zones their serials and published versions, and returns all. s has all but them; last is the snapshot before, or
// nil.
func (z *zoneSet) finish(s, last *Snapshot, now time.Time) []*zone.Zone {
	for i, e := range z.edits {
		if e == nil {
			continue
		}
		before, origin := (*zone.Zone)(nil), e.Zone.Origin()
		p := zone.Past{Written: s.In.SerialWriter != "", Listed: s.denies(origin) && e.Zone.Unread == nil && e.UnreadNames == 0}
		p.Kept, p.Beside = keptOf(&e.Zone.Zone, &s.In)
		if last != nil {
			p.Retired = last.retired[origin]
			if j, ok := last.Table.Index[origin]; ok {
				before = last.Served[j]
			}
		}
		p.Published = s.Opt.Published[origin].Newer(s.In.Former[origin])
		z.served[i] = e.Finish(before, p, now)
	}
	return z.served
}
