package records

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// zoneVerdict says what became of a Zone; nil for none.
func (s *Snapshot) zoneVerdict(f *endpoint.Admission) *api.Verdict {
	if f == nil {
		return nil
	}
	v := &api.Verdict{FQDN: f.FQDN}
	if f.Parent != nil {
		v.Parent = f.Parent.Name
	}
	if f.Problem != nil {
		v.Conditions = s.ready(f.Problem)
		return v
	}
	z := s.zones[s.zoneSet.Index[f.FQDN]]
	v.Kept = z.keep()
	v.TotalRecords = int32(min(z.Names(), 1<<31-1))
	var said *endpoint.Problem
	if f.Zone.Fault != "" {
		said = said.And(&endpoint.Problem{Reason: endpoint.ReasonServedInPart, Message: f.Zone.Fault})
	}
	said = said.And(z.wraps(f.Zone.Kept))
	if apex, ok := z.names.Get(z.Origin()); ok && standsIn(&z.Zone, apex) {
		none := endpoint.Problemf(endpoint.ReasonNoNameservers, "no Record and no nameserver of the Corefile says who serves the zone: %s stands in", endpoint.TrimDot(z.mname()))
		v.Conditions = s.ready(none.And(said)) // what cannot be read may be what keeps its NS Records out
		return v
	}
	v.Conditions = served(v, said)
	return v
}

// wraps says that the zone's serial is at the end of what a serial can be, or has gone past
// it since its Zone's status was written (RFC 1982 §3.1): the number looks lower then, and is
// not. nil for neither.
func (z *Zone) wraps(kept api.Kept) *endpoint.Problem {
	switch serial := z.keep().Serial; {
	case serial == math.MaxUint32:
		return endpoint.Problemf(endpoint.ReasonWraps, "the serial %d is the last there is: after the next change it is a low number again, which secondaries take for a higher one (RFC 1982)", serial)
	case kept.Serial > serial && newer(serial, kept.Serial):
		return endpoint.Problemf(endpoint.ReasonWraps, "the serial has gone past %d, the last there is, since the status was written with %d: the number looks lower now, and counts as higher (RFC 1982)", uint32(math.MaxUint32), kept.Serial)
	}
	return nil
}

// Hash returns the digest of the zone's content, in hexadecimal digits (rule 6.7).
func (z *Zone) Hash() string { return fmt.Sprintf("%016x%016x", z.hash.hi, z.hash.lo) }

// recordVerdict says what became of a Record; nil for none.
func (s *Snapshot) recordVerdict(e *endpoint.Record, losses lossFunc) *api.Verdict {
	if e == nil {
		return nil
	}
	v := &api.Verdict{FQDN: e.Name}
	if e.Problem != nil {
		v.Conditions = s.ready(e.Problem)
		return v
	}
	z := s.zones[s.zoneSet.Index[e.Zone()]]
	if z.Object != nil {
		v.Parent = z.Object.Name
	}
	said := s.lossOf(z, e, losses)
	if said.KeepsOut() {
		v.Conditions = s.ready(said)
		return v
	}
	if said == nil {
		said = e.Unquoted()
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
func (s *Snapshot) lossOf(z *Zone, e *endpoint.Record, losses lossFunc) *endpoint.Problem {
	n, _ := z.names.Get(e.Name)
	return z.lossOf(n, e, losses)
}

// lossOf says what keeps a Record, which is at n, from being served as it is written;
// nil for nothing.
func (z *Zone) lossOf(n *node, e *endpoint.Record, losses lossFunc) (said *endpoint.Problem) {
	if n.lost > 0 || len(n.entries) > 1 {
		said = losses(z, n.name)[e]
	}
	if said == nil {
		said = z.hiderOf(e.Name, e.RR.Header().Rrtype)
	}
	if said == nil && n.cut && e.RR.Header().Rrtype == dns.TypeNS {
		return z.mismatch(n, e)
	}
	return said
}

// mismatch says that an NS Record at the origin of a zone served here names a server
// that the zone itself does not; nil where it does.
func (z *Zone) mismatch(n *node, e *endpoint.Record) *endpoint.Problem {
	copies, _ := z.copied.Get(n.name)
	if slices.ContainsFunc(ofType(copies, dns.TypeNS), func(rr dns.RR) bool { return compareData(rr, e.RR) == 0 }) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonMismatch, "the zone %s itself does not have this name server", endpoint.TrimDot(n.name))
}

// ready returns the conditions of an object that is not served.
func (s *Snapshot) ready(p *endpoint.Problem) []api.Condition {
	message := p.Message
	if p.Reason == endpoint.ReasonNotServed && message == "" {
		message = "the name lies outside the zones served here: " + s.opt.ZoneNames()
	}
	return []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionFalse, Reason: p.Reason, Message: api.Cut(message, endpoint.MaxMessage)}}
}

// served returns the conditions of an object that is served, of which there may be
// something to say.
func served(v *api.Verdict, said *endpoint.Problem) []api.Condition {
	c := api.Condition{Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: endpoint.ReasonServed, Message: api.MessageServed}
	if v.Parent != "" && v.ParentLabel() == "" {
		c.Message += fmt.Sprintf("; the label kubi.zone/parent-zone cannot hold %s, as it has %d characters at the most: nothing else is wrong, and it is served all the same", v.Parent, api.MaxLabelValue)
	}
	if said != nil {
		c.Reason, c.Message = said.Reason, api.Cut(c.Message+"; "+said.Message, endpoint.MaxMessage)
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

// reportZones adds the other objects whose verdicts have changed to the list, and puts it in order.
func (c *compiler) reportZones() {
	s := c.next
	if c.anew() {
		c.restateAll()
	} else {
		for i, e := range c.edits {
			if e == nil {
				continue
			}
			z := c.zones[i]
			if z.Object != nil {
				c.restateObject(z.Object.Cluster, api.KindZone, z.Object.Name)
			}
			if c.recorded {
				c.followServers(e, z)
			}
			for _, name := range e.contended {
				c.restate(z, name)
			}
			c.restateHidden(e, z)
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
	var before map[*endpoint.Record]*endpoint.Problem
	if c.old != nil {
		if i, ok := c.old.zoneSet.Index[z.Origin()]; ok {
			before = c.losses.losses(c.old.zones[i], name)
		}
	}
	if n, ok := z.names.Get(name); ok && n.cut { // the zone below may have other name servers now
		for _, e := range n.entries {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
	now := c.losses.losses(z, name)
	for e, p := range now {
		if !p.Equal(before[e]) {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
	for e := range before {
		if now[e] == nil {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
}

// lossFunc returns what is to be said of the Records at a name: Zone.losses, or what it
// returned before.
type lossFunc func(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem

type lossKey struct {
	zone *Zone
	name string
}

// lossMemo has what Zone.losses has returned.
type lossMemo map[lossKey]map[*endpoint.Record]*endpoint.Problem

// losses is Zone.losses, once for each name: an object may have very many entries at one.
func (m lossMemo) losses(z *Zone, name string) map[*endpoint.Record]*endpoint.Problem {
	at := lossKey{z, name}
	all, ok := m[at]
	if !ok {
		all = z.losses(name)
		m[at] = all
	}
	return all
}

// losses returns what is to be said of the Records at a name.
func (z *Zone) losses(name string) map[*endpoint.Record]*endpoint.Problem {
	n, ok := z.names.Get(name)
	if !ok {
		return nil
	}
	all := make(map[*endpoint.Record]*endpoint.Problem)
	rrsetsOf(n.entries, z.others(n), func(e *endpoint.Record, p *endpoint.Problem) {
		if p.Message == "" {
			p = ownedBy(z.others(n).owner, e)
		}
		all[e] = p
	})
	return all
}

// ownedBy says that another object owns the steered data of a Record's name.
func ownedBy(owner *endpoint.Claim, e *endpoint.Record) *endpoint.Problem {
	if owner.Unread {
		return endpoint.UnreadProblem(owner.Host, owner.Kind, owner.By)
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "the name belongs to %s %s", owner.Kind, endpoint.InCluster(owner.By, &e.Record.Meta))
}

// restateAll marks all objects of which something else may be to be said than before, whatever has changed.
func (c *compiler) restateAll() {
	for _, s := range [...]*Snapshot{c.old, c.next} {
		if s == nil {
			continue
		}
		for i, in := range s.in.Clusters {
			for name := range s.zoneSet.Admissions[i] {
				c.restateObject(in.Name, api.KindZone, name)
			}
			for _, kind := range endpoint.PublisherKinds {
				for name := range in.Names(kind, "") {
					c.restateObject(in.Name, kind, name)
				}
			}
		}
		for e := range s.spoken(c.losses.losses) {
			c.restateObject(e.Record.Cluster, api.KindRecord, e.Record.Name)
		}
	}
	if c.old == nil {
		return
	}
	for _, before := range c.old.clusters {
		now := new(clusterState)
		if i := slices.IndexFunc(c.next.clusters, func(c *clusterState) bool { return c.name == before.name }); i >= 0 {
			now = c.next.clusters[i]
		}
		for name, e := range now.records.All() {
			was, ok := before.records.Get(name)
			if !ok || was.Name != e.Name || was.Zone() != e.Zone() || c.old.parentOf(was) != c.next.parentOf(e) {
				c.restateObject(before.name, api.KindRecord, name)
			}
		}
		for name := range before.records.All() {
			if _, ok := now.records.Get(name); !ok {
				c.restateObject(before.name, api.KindRecord, name)
			}
		}
	}
}

// spoken yields the Records of which something is to be said but that they are served.
func (s *Snapshot) spoken(losses lossFunc) iter.Seq[*endpoint.Record] {
	return func(yield func(*endpoint.Record) bool) {
		for _, c := range s.clusters {
			for _, e := range c.records.All() {
				if c.unplaced == 0 {
					break
				}
				if e.RR == nil && !yield(e) {
					return
				}
			}
		}
		for _, z := range s.zones {
			for _, n := range z.names.All() {
				quiet := len(n.entries) == 1 && n.lost == 0 && !n.cut && z.turns == 0 // by far the most
				for _, e := range n.entries {
					if e.Kind != 0 || quiet && !e.Speaks() {
						continue
					}
					if (z.lossOf(n, e, losses) != nil || e.Unquoted() != nil || s.lacksAddress(e) != nil) && !yield(e) {
						return
					}
				}
			}
		}
	}
}

// parentOf returns the namespace/name of the Zone that an entry lies in; "" for none.
func (s *Snapshot) parentOf(e *endpoint.Record) string {
	if e.RR == nil {
		return ""
	}
	if at := &s.zoneSet.Served[s.zoneSet.Index[e.Zone()]]; at.Object != nil {
		return at.Object.Name
	}
	return ""
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
