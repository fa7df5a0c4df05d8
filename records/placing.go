package records

import (
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
)

// placer puts Records at their names, and marks the groups of those names.
type placer struct {
	zones    *zoneSet
	registry *owner.Registry
	dirty    *dirty
	anew     bool // all groups are made from nothing
}

// add puts a Record at its name.
func (p *placer) add(r *endpoint.Record) {
	p.zones.edit(p.zones.ofRecord(r)).Add(r)
	p.touch(r)
}

// drop removes a Record from its name, in the zone where it was.
func (p *placer) drop(r *endpoint.Record) {
	p.zones.edit(p.zones.ofRecord(r)).Drop(r)
	p.touch(r)
}

// touch has the group of names made anew that a Record may affect, if there is one.
func (p *placer) touch(r *endpoint.Record) {
	if n := p.zones.node(r.Name); n != nil && owner.Meets(n.Records, r) || p.registry.MeetsReserved(r) {
		p.dirty.contend(r.Name)
	}
	if p.anew {
		return // all are made anew
	}
	p.dirty.knownGroup(endpoint.GroupKey(r.Name))
	p.dirty.noteRecord(r)
	if r.Origin == 0 && r.RR.Header().Rrtype == dns.TypeNS {
		p.dirty.knownGroup(endpoint.GroupKey(p.zones.served[p.zones.ofRecord(r)].Nameservers()[0].Name)) // it becomes the placeholder, or ceases to be
	}
}

// placeRecords puts the changed Records of clusters at their names (rule 6.3).
func placeRecords(clusters clusterSet, at *placer) {
	for _, e := range clusters {
		if e.before == nil {
			for name, rec := range e.in.Records.All() {
				e.place(name, rec, at)
			}
			continue
		}
		for _, ref := range e.in.Changed {
			if ref.Kind == api.KindRecord {
				rec, _ := e.in.Records.Get(ref.Name)
				e.place(ref.Name, rec, at)
			}
		}
	}
}

// place replaces the Record of that namespace/name by rec; nil removes it.
func (e *clusterEdit) place(name string, rec *api.Record, at *placer) {
	if e.before != nil {
		if old, ok := e.records.Get(name); ok && old.RR != nil {
			at.drop(old)
		} else if ok {
			e.state.Unplaced--
		}
		at.dirty.object(e.in.Name, api.KindRecord, name)
	}
	if rec == nil {
		e.records.Delete(name)
		return
	}
	placed := endpoint.PlaceRecord(at.zones.table, rec, at.zones.opt)
	e.records.Set(rec.Name, placed)
	if placed.RR == nil {
		e.state.Unplaced++
		return
	}
	at.add(placed)
}
