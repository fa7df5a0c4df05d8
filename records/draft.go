package records

import (
	"math"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// draft is the next snapshot while it is being made.
type draft struct {
	prev *Snapshot // the base of the changes; nil if everything is compiled from nothing
	old  *Snapshot // the snapshot before, for serials and changed verdicts; nil for none
	next *Snapshot

	// zones are those of the snapshot before, or new ones; edits are the next versions of the
	// changed ones.
	zones    []*zone.Zone
	edits    []*zone.Edit // nil for a zone that has not changed
	clusters []*clusterEdit
	// recorded is true if names may have Records, because there are Records or objects with endpoints.
	recorded bool
}

// openZones begins the next versions of zones. It opens at once those whose serial, or its storage, may change.
func (d *draft) openZones() {
	set := d.next.Table
	switch {
	case d.old == nil:
	case d.anew():
		d.next.retired = zone.Retire(set.Index, d.old.retired, d.old.Served)
	default:
		d.next.retired = d.prev.retired
	}
	if d.prev == nil {
		cuts := set.Cuts()
		for i, at := range set.Served {
			d.zones = append(d.zones, zone.NewZone(at, cuts[i]))
		}
		for _, at := range set.Served {
			if up := set.Above(at.Origin); up != nil && at.Unread != nil {
				d.zones[set.Index[up.Origin]].UnreadNames++ // its delegation is unknown (rule 6.6)
			}
		}
		d.edits = make([]*zone.Edit, len(d.zones))
		for i := range d.zones {
			d.edit(i)
		}
		return
	}
	d.zones, d.edits = slices.Clone(d.prev.Served), make([]*zone.Edit, len(d.prev.Served))
	if d.anew() {
		for i := range d.zones {
			d.edit(i)
		}
	}
	for _, in := range d.next.In.Clusters {
		for _, ref := range in.Changed {
			if a := set.Admission(in.Name, ref.Name); ref.Kind == api.KindZone && a != nil && a.Problem == nil {
				d.edit(set.Index[a.FQDN]) // its status has changed
			}
		}
	}
	for _, origin := range d.next.In.SerialsChanged {
		if i, ok := set.Index[origin]; ok {
			d.edit(i)
		}
	}
}

// edit returns the next version of a zone.
func (d *draft) edit(zone int) *zone.Edit {
	if d.edits[zone] == nil {
		d.edits[zone] = d.zones[zone].Edit(d.next.generation)
		d.edits[zone].Since, d.edits[zone].Options = d.since, d.next.Opt
	}
	return d.edits[zone]
}

// since returns since when the namespace of an object has a name, in seconds since 1970: as the registry has it, which is later than all if
// the name has no line yet; as long as the object is there where no line is kept. host is true for a host, false for Records.
func (d *draft) since(name string, m *api.Meta, host bool) int64 {
	in := &d.next.In
	if in.Acquired.Len() == 0 {
		return m.Created
	}
	line, ok := in.Line(name)
	switch z := d.zoneOf(rdata.Base(name)); {
	case !ok && z >= 0 && !d.next.Opt.Sharing(&d.zones[z].Zone)(name) && !host: // no line is kept
		return m.Created
	case !ok || !in.MetaOf(line).SameNamespace(m):
		return math.MaxInt64
	case line.Since == 0: // of a former release, or from before there was a registry
		return m.Created
	}
	return line.Since
}

// zoneOf returns the index of the zone that name lies in, -1 for none.
func (d *draft) zoneOf(name string) int { return endpoint.ClosestOrigin(d.next.Table.Index, name) }

// nodeAt returns the node at name as edited so far; nil for none. name lies in a zone served here.
func (d *draft) nodeAt(name string) *zone.Node {
	i := d.zoneOf(name)
	if e := d.edits[i]; e != nil {
		return e.Node(name)
	}
	return d.zones[i].Node(name)
}

// cluster returns the next version of a cluster; nil for none of that name.
func (d *draft) cluster(name string) *clusterEdit {
	if i := d.next.In.Place(name); i >= 0 {
		return d.clusters[i]
	}
	return nil
}

// recordOf returns a Record of a cluster as it is placed now; nil for none.
func (d *draft) recordOf(cluster, name string) *endpoint.Record {
	e := d.cluster(cluster)
	if e == nil {
		return nil
	}
	r, _ := e.records.Get(name)
	return r
}

// before returns a cluster's objects that the snapshot before was made of, under any options; nil
// for none.
func (d *draft) before(cluster string) *api.Cluster {
	if d.old == nil {
		return nil
	}
	return d.old.In.Cluster(cluster)
}

// anew reports whether anything may differ from the snapshot before.
func (d *draft) anew() bool { return d.prev == nil || d.prev != d.old }

// optionsAt returns the options of the zone that a name lies in; nil for none.
func (d *draft) optionsAt(name string) *endpoint.ZoneOptions {
	if i := d.zoneOf(rdata.Base(name)); i >= 0 {
		return d.zones[i].Corefile
	}
	return nil
}

// taken returns a zone or name server of the Corefile at or below a name; "" for none.
func (d *draft) taken(name string) string {
	under := func(taken string) bool { return rdata.IsSubdomain(name, taken) }
	if i := slices.IndexFunc(d.next.Table.Reserved, under); i >= 0 {
		return d.next.Table.Reserved[i]
	}
	for _, ns := range d.zones[d.zoneOf(name)].Corefile.Nameservers {
		if under(ns.Name) {
			return ns.Name
		}
	}
	return ""
}

// placeOf returns where a host lies (rule 1.6).
func (d *draft) placeOf(host string) endpoint.Placement {
	i := d.zoneOf(rdata.Base(host))
	if i < 0 {
		return endpoint.Outside
	}
	switch z := d.zones[i]; {
	case z.ChainHost(host) != "":
		return endpoint.InChain
	case host != z.Origin() && len(z.Fixed[host]) > 0:
		return endpoint.Reserved
	}
	return endpoint.InZone
}

// mayPublish returns what keeps an object from publishing data of a type at a host in a zone; nil
// for nothing (rule 5.1).
func (d *draft) mayPublish(m *api.Meta, host, rtype string) *endpoint.Problem {
	return d.next.Opt.MayPublish(&d.zones[d.zoneOf(rdata.Base(host))].Zone, m, host, rtype)
}
