package records

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// zoneVerdict says what became of a Zone; nil for none.
func (s *Snapshot) zoneVerdict(f *zoneFate) *api.Verdict {
	if f == nil {
		return nil
	}
	v := &api.Verdict{FQDN: f.fqdn}
	if f.parent != nil {
		v.Parent = f.parent.Name
	}
	if f.problem != nil {
		v.Conditions = s.ready(f.problem)
		return v
	}
	z := s.zones[s.zoneSet.index[f.fqdn]]
	v.Kept = z.keep()
	v.TotalRecords = int32(min(z.Names(), 1<<31-1))
	var said *problem
	if f.zone.Fault != "" {
		said = said.and(&problem{reasonServedInPart, f.zone.Fault})
	}
	said = said.and(z.wraps(f.zone.Kept))
	if apex, ok := z.names.Get(z.origin); ok && z.standsIn(apex) {
		none := problemf(reasonNoNameservers, "no Record and no nameserver of the Corefile says who serves the zone: %s stands in", trimDot(z.mname()))
		v.Conditions = s.ready(none.and(said)) // what cannot be read may be what keeps its NS Records out
		return v
	}
	v.Conditions = served(v, said)
	return v
}

// wraps says that the zone's serial is at the end of what a serial can be, or has gone past
// it since its Zone's status was written (RFC 1982 §3.1): the number looks lower then, and is
// not. nil for neither.
func (z *Zone) wraps(kept api.Kept) *problem {
	switch serial := z.keep().Serial; {
	case serial == math.MaxUint32:
		return problemf(reasonWraps, "the serial %d is the last there is: after the next change it is a low number again, which secondaries take for a higher one (RFC 1982)", serial)
	case kept.Serial > serial && newer(serial, kept.Serial):
		return problemf(reasonWraps, "the serial has gone past %d, the last there is, since the status was written with %d: the number looks lower now, and counts as higher (RFC 1982)", uint32(math.MaxUint32), kept.Serial)
	}
	return nil
}

// Hash returns the digest of the zone's content, in hexadecimal digits (rule 6.7).
func (z *Zone) Hash() string { return fmt.Sprintf("%016x%016x", z.hash.hi, z.hash.lo) }

// recordVerdict says what became of a Record; nil for none.
func (s *Snapshot) recordVerdict(e *entry, losses lossFunc) *api.Verdict {
	if e == nil {
		return nil
	}
	v := &api.Verdict{FQDN: e.name}
	if e.problem != nil {
		v.Conditions = s.ready(e.problem)
		return v
	}
	z := s.zones[s.zoneSet.index[e.zone()]]
	if z.object != nil {
		v.Parent = z.object.Name
	}
	said := s.lossOf(z, e, losses)
	if said.keepsOut() {
		v.Conditions = s.ready(said)
		return v
	}
	if said == nil {
		said = e.unquoted()
	}
	if said == nil {
		said = s.lacksAddress(e)
	}
	v.TotalRecords = 1
	v.Conditions = served(v, said)
	return v
}

// lossOf says what keeps an entry of a zone from being served as it is written, or from being
// answered with; nil for nothing.
func (s *Snapshot) lossOf(z *Zone, e *entry, losses lossFunc) *problem {
	n, _ := z.names.Get(e.name)
	return z.lossOf(n, e, losses)
}

// lossOf says what keeps a Record, which is at n, from being served as it is written;
// nil for nothing.
func (z *Zone) lossOf(n *node, e *entry, losses lossFunc) (said *problem) {
	if n.lost > 0 || len(n.entries) > 1 {
		said = losses(z, n.name)[e]
	}
	if said == nil {
		said = z.hiderOf(e.name, e.rr.Header().Rrtype)
	}
	if said == nil && n.cut && e.rr.Header().Rrtype == dns.TypeNS {
		return z.mismatch(n, e)
	}
	return said
}

// mismatch says that an NS Record at the origin of a zone served here names a server
// that the zone itself does not; nil where it does.
func (z *Zone) mismatch(n *node, e *entry) *problem {
	copies, _ := z.copied.Get(n.name)
	if slices.ContainsFunc(ofType(copies, dns.TypeNS), func(rr dns.RR) bool { return compareData(rr, e.rr) == 0 }) {
		return nil
	}
	return problemf(reasonMismatch, "the zone %s itself does not have this name server", trimDot(n.name))
}

// ready returns the conditions of an object that is not served.
func (s *Snapshot) ready(p *problem) []api.Condition {
	message := p.message
	if p.reason == reasonNotServed && message == "" {
		message = "the name lies outside the zones served here: " + s.opt.zoneNames()
	}
	return []api.Condition{{Type: conditionReady, Status: api.ConditionFalse, Reason: p.reason, Message: api.Cut(message, maxMessage)}}
}

// served returns the conditions of an object that is served, of which there may be
// something to say.
func served(v *api.Verdict, said *problem) []api.Condition {
	c := api.Condition{Type: conditionReady, Status: api.ConditionTrue, Reason: reasonServed, Message: api.MessageServed}
	if v.Parent != "" && v.ParentLabel() == "" {
		c.Message += fmt.Sprintf("; the label kubi.zone/parent-zone cannot hold %s, as it has %d characters at the most: nothing else is wrong, and it is served all the same", v.Parent, api.MaxLabelValue)
	}
	if said != nil {
		c.Reason, c.Message = said.reason, api.Cut(c.Message+"; "+said.message, maxMessage)
	}
	return []api.Condition{c}
}

// restated names an object whose verdict may differ from that before.
type restated struct {
	cluster string
	ref     api.Ref
}

// restateObject marks an object as one whose verdict may differ from that before.
func (c *compiler) restateObject(cluster string, kind api.Kind, name string) {
	c.restated = append(c.restated, restated{cluster, api.Ref{Kind: kind, Name: name}})
}

func compareRestated(a, b restated) int {
	return cmp.Or(strings.Compare(a.cluster, b.cluster), cmp.Compare(a.ref.Kind, b.ref.Kind), strings.Compare(a.ref.Name, b.ref.Name))
}

// reportZones adds the Zones and Records whose verdicts have changed to the list, and
// puts it in order.
func (c *compiler) reportZones() {
	s := c.next
	for i, e := range c.clusters {
		if c.old != nil && c.old.zoneSet == s.zoneSet {
			break
		}
		for name := range s.zoneSet.fates[i] {
			c.compare(e.in.Name, api.Ref{Kind: api.KindZone, Name: name})
		}
	}
	if c.old != nil && (c.prev == nil || c.old.zoneSet != s.zoneSet) {
		c.reportGone()
	}
	for i, e := range c.edits {
		if e == nil {
			continue
		}
		z := c.zones[i]
		if z.object != nil && c.old != nil && c.old.zoneSet == s.zoneSet {
			c.compare(z.object.Cluster, api.Ref{Kind: api.KindZone, Name: z.object.Name})
		}
		if c.recorded {
			c.followServers(e, z)
		}
		for _, name := range e.contended {
			c.restate(z, name)
		}
		c.restateHidden(e, z)
	}
	if c.rezoning != nil {
		for origin := range c.rezoning.origins {
			c.restateServers(origin)
		}
	}
	slices.SortFunc(c.restated, compareRestated)
	for _, r := range slices.Compact(c.restated) {
		c.compare(r.cluster, r.ref)
	}
	slices.SortFunc(s.changed, func(a, b Reported) int {
		return compareRestated(restated{a.Cluster, a.Ref}, restated{b.Cluster, b.Ref})
	})
}

// restate marks the Records at a name of which something else is to be said now than
// before.
func (c *compiler) restate(z *Zone, name string) {
	var before map[*entry]*problem
	if c.old != nil {
		if i, ok := c.old.zoneSet.index[z.origin]; ok {
			before = c.losses.losses(c.old.zones[i], name)
		}
	}
	if n, ok := z.names.Get(name); ok && n.cut { // the zone below may have other name servers now
		for _, e := range n.entries {
			c.restateObject(e.record.Cluster, e.objectKind(), e.record.Name)
		}
	}
	now := c.losses.losses(z, name)
	for e, p := range now {
		if !p.equal(before[e]) {
			c.restateObject(e.record.Cluster, e.objectKind(), e.record.Name)
		}
	}
	for e := range before {
		if now[e] == nil {
			c.restateObject(e.record.Cluster, e.objectKind(), e.record.Name)
		}
	}
}

// lossFunc returns what is to be said of the Records at a name: Zone.losses, or what it
// returned before.
type lossFunc func(z *Zone, name string) map[*entry]*problem

type lossKey struct {
	zone *Zone
	name string
}

// lossMemo has what Zone.losses has returned.
type lossMemo map[lossKey]map[*entry]*problem

// losses is Zone.losses, once for each name: an object may have very many entries at one.
func (m lossMemo) losses(z *Zone, name string) map[*entry]*problem {
	at := lossKey{z, name}
	all, ok := m[at]
	if !ok {
		all = z.losses(name)
		m[at] = all
	}
	return all
}

// losses returns what is to be said of the Records at a name.
func (z *Zone) losses(name string) map[*entry]*problem {
	n, ok := z.names.Get(name)
	if !ok {
		return nil
	}
	all := make(map[*entry]*problem)
	rrsetsOf(n.entries, z.standing(n), func(e *entry, p *problem) {
		if p.message == "" {
			p = ownedBy(z.standing(n).owner, e)
		}
		all[e] = p
	})
	return all
}

// ownedBy says that another object owns the steered data of a Record's name.
func ownedBy(owner *claim, e *entry) *problem {
	if owner.unread {
		return unreadProblem(owner.host, owner.kind, owner.by)
	}
	return problemf(reasonConflicted, "the name belongs to %s %s", owner.kind, inCluster(owner.by, &e.record.Meta))
}

// reportGone adds the Zones and Records that were there before and are gone, and, where
// all is compiled anew, those that had a problem.
func (c *compiler) reportGone() {
	for i, before := range c.old.clusters {
		for name := range c.old.zoneSet.fates[i] {
			if c.next.Verdict(before.name, api.Ref{Kind: api.KindZone, Name: name}) == nil {
				c.compare(before.name, api.Ref{Kind: api.KindZone, Name: name})
			}
		}
		if c.prev != nil {
			continue
		}
		for _, kind := range publisherKinds {
			for name := range c.old.in.Clusters[i].Names(kind, "") {
				c.restateObject(before.name, kind, name)
			}
		}
		c.restateNew(i)
		for name, e := range before.records.All() {
			if now := c.entryOf(before.name, name); now == nil || e.problem != nil || now.name != e.name || now.zone() != e.zone() {
				c.restateObject(before.name, api.KindRecord, name)
			}
		}
	}
}

// restateNew marks the Records of the i-th cluster before that have come since, or of which
// something else may be to be said.
func (c *compiler) restateNew(i int) {
	before := c.old.clusters[i]
	for _, now := range c.next.clusters {
		if now.name != before.name {
			continue
		}
		for name, e := range now.records.All() {
			old, ok := before.records.Get(name)
			if !ok || old.rr != nil && e.rr != nil && (c.old.parentOf(old) != c.next.parentOf(e) || c.old.losesAt(old) || c.old.turns(old) || c.next.turns(e) || rdata.TypeName(e.record.Type) == "NS") {
				c.restateObject(now.name, api.KindRecord, name)
			}
		}
	}
}

// turns tells whether something in the zone of an entry may hide it.
func (s *Snapshot) turns(e *entry) bool { return s.zones[s.zoneSet.index[e.zone()]].turns > 0 }

// losesAt tells whether a Record at the name of an entry is not served.
func (s *Snapshot) losesAt(e *entry) bool {
	n, ok := s.zones[s.zoneSet.index[e.zone()]].names.Get(e.name)
	return ok && n.lost > 0
}

// parentOf returns the namespace/name of the Zone that an entry lies in; "" for none.
func (s *Snapshot) parentOf(e *entry) string {
	if at := &s.zoneSet.sites[s.zoneSet.index[e.zone()]]; at.object != nil {
		return at.object.Name
	}
	return ""
}

// entryOf returns the Record of that namespace/name as it is now; nil for none.
func (c *compiler) entryOf(cluster, name string) *entry {
	for _, e := range c.next.clusters {
		if e.name == cluster {
			r, _ := e.records.Get(name)
			return r
		}
	}
	return nil
}

// compare adds an object to the list where its verdict is not what it was.
func (c *compiler) compare(cluster string, ref api.Ref) {
	var old *api.Verdict
	if c.old != nil {
		old = c.old.verdict(cluster, ref, c.losses.losses)
	}
	now := c.next.verdict(cluster, ref, c.losses.losses)
	if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
		return
	}
	c.next.changed = append(c.next.changed, Reported{Cluster: cluster, Ref: ref, Verdict: now})
}
