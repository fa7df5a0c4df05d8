package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// unreadLine is what is on record, under a key, of an owner that cannot be read.
type unreadLine struct {
	key   string
	owner api.Owner
}

// addUnread keeps what is on record of owners that cannot be read, as wants that have their names on record: they
// may be there, and a Zone that comes meanwhile takes nothing from them (rule 5.4).
func (p *prior) addUnread(in *api.Objects, unread unreadOwners, under map[string]*candidates) {
	for key, o := range unread.by.All() {
		if name := rdata.Base(nameOf(key)); p.set.isNamed(name) || under[name] != nil {
			p.add(unreadWant(in, key, o), under)
		}
	}
}

// isNamed tells whether there are Zones of a name, or of one above it.
func (s *zoneSet) isNamed(name string) bool {
	for at, ok := name, len(s.named) > 0; ok; at, ok = rdata.Parent(at) {
		if s.named[at] != nil {
			return true
		}
	}
	return false
}

// unreadWant returns what an owner has on record as a want. Of data of a Zone it is not known whose Records they are.
func unreadWant(in *api.Objects, key string, o api.Owner) want {
	m := metaOf(in, o)
	w := want{name: nameOf(key), by: m, kind: o.Kind, types: steeredTypes, unread: &unreadLine{key, o}}
	_, zone := api.OfZoneKey(key)
	_, cut := api.OfCutKey(key)
	switch {
	case zone:
		w.types = nil
		return w
	case cut:
		w.types = hidingTypes
	default:
		w.steers = o.Kind != api.KindRecord && o.Kind != api.KindZone // it may, by now
	}
	if o.Kind == api.KindZone {
		w.kind = api.KindRecord
	}
	return w
}

// hidingTypes are those of records that have a line of their own, as they hide names.
var hidingTypes = []string{"NS", "DNAME"}

// counts tells whether a want, which lies in the zone in, may have its name, where one of the given name there would
// take it.
func (p *prior) counts(w *want, in *site, zone string) bool {
	switch {
	case w.kind == api.KindZone:
		return p.loses(w, in, zone)
	case w.kind == api.KindRecord && w.unread != nil:
		return true
	}
	return w.admitted(in, p.opt)
}

// inUnread says that a Zone that is new lies in one on record which cannot be read: whether that delegates it is not
// known. nil where it does not.
func (s *zoneSet) inUnread(f *zoneFate, acquired tree.Map[api.Owner], unread unreadOwners) *problem {
	if _, own := s.index[f.fqdn]; own || unread.by.Len() == 0 || servedBefore(acquired, f.fqdn, f.zone) {
		return nil
	}
	for at, ok := rdata.Parent(f.fqdn); ok; at, ok = rdata.Parent(at) {
		i, served := s.index[at]
		there := served && s.sites[i].object != nil
		if o, is := unread.by.Get(api.ZoneKey(at)); is && !(there && o.Is(api.KindZone, &s.sites[i].object.Meta)) {
			return unserved(f.fqdn, &unreadLine{api.ZoneKey(at), o})
		}
		if served && s.sites[i].decides() {
			break
		}
	}
	return nil
}

// unserved says that a Zone is not served for what is on record of a name.
func unserved(name string, line *unreadLine) *problem {
	return problemf(reasonOwnerUnread, "%s: the Zone is not served until it can", onRecordText(trimDot(name), line.key, line.owner))
}

// unreadConcerns tells whether one of the owners of which it has become known, or is not known any more, whether they
// are there may decide about a Zone.
func (c *compiler) unreadConcerns() bool {
	return slices.ContainsFunc(c.reread, func(key string) bool {
		_, zone := api.OfZoneKey(key)
		return zone || c.prev.zoneSet.aboutZones(nameOf(key))
	})
}
