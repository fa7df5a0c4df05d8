package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// holds tells whether the object of a claim has acquired its host before (rule 5.4).
func (c *compiler) holds(cl *endpoint.Claim) bool {
	if c.next.in.Acquired.Len() == 0 || cl.Registered {
		return cl.Registered
	}
	owner, ok := c.next.in.Registered(cl.Host)
	if !ok {
		return false
	}
	if cl.Static && (owner.Kind == api.KindZone || c.follows(cl) && c.recordAt(owner, cl.Host) != nil) {
		return true // the first edition wrote the Zone of Records
	}
	return owner.Is(cl.Kind, cl.By)
}

// recordAt returns the Record that is on record as the owner of a name, where it is there:
// all Records of a zone are one owner, and what one has acquired another does not lose by
// joining it (rule 5.3). nil for none.
func (c *compiler) recordAt(owner api.Owner, name string) *api.Record {
	e := c.cluster(owner.Cluster)
	if e == nil {
		return nil
	}
	at, _ := e.records.Get(owner.Name)
	return ownerAt(at, owner, name)
}

// ownerAt returns the Record of e, which may be nil, where it is the owner on record of a
// name, and lies there.
func ownerAt(e *endpoint.Record, owner api.Owner, name string) *api.Record {
	if e == nil || e.RR == nil || e.Name != name || !owner.Is(api.KindRecord, &e.Record.Meta) {
		return nil
	}
	return e.Record
}

// holdersFirst returns the claims, which are in the order of their age, with those first whose objects have the registry's
// line for their hosts, then those of the line's namespace: they follow an owner that has gone (rule 5.4).
func (c *compiler) holdersFirst(claims []*endpoint.Claim) []*endpoint.Claim {
	if c.next.in.Acquired.Len() == 0 || len(claims) == 1 {
		return claims
	}
	place := make(map[*endpoint.Claim]int, len(claims))
	for _, cl := range claims {
		switch {
		case c.holds(cl):
		case c.follows(cl):
			place[cl] = 1
		default:
			place[cl] = 2
		}
	}
	ordered := slices.Clone(claims)
	slices.SortStableFunc(ordered, func(a, b *endpoint.Claim) int { return place[a] - place[b] })
	return ordered
}

// vacancy returns what stands for the owner on record of a host where neither it nor another object of its namespace is among claims,
// those on the host: nobody else has the host before the line goes, 30 s later (rule 5.4). It is nil where there is no such line.
func (c *compiler) vacancy(host string, claims []*endpoint.Claim) *endpoint.Claim {
	line, ok := c.next.in.Registered(host)
	if !ok || line.Kind == api.KindZone { // the first edition wrote the Zone of Records
		return nil
	}
	m := c.next.in.MetaOf(line)
	if slices.ContainsFunc(claims, func(cl *endpoint.Claim) bool { return m.SameNamespace(cl.By) }) {
		return nil
	}
	return &endpoint.Claim{By: m, Kind: line.Kind, Host: host, Static: true, Registered: true, Targets: &endpoint.Targets{}}
}

// meetsVacancy reports whether a Record lies at a name that may be kept for another namespace.
func (c *compiler) meetsVacancy(r *endpoint.Record) bool {
	return !r.Beside && c.next.in.Acquired.Len() > 0 && c.vacancy(r.Name, []*endpoint.Claim{{By: &r.Record.Meta}}) != nil
}

// withVacancies returns the claims, which are in the order of precedence, after the vacancies of their hosts.
func (c *compiler) withVacancies(claims []*endpoint.Claim) []*endpoint.Claim {
	if c.next.in.Acquired.Len() == 0 {
		return claims
	}
	var all []*endpoint.Claim
	for _, on := range byKey(claims, func(cl *endpoint.Claim) string { return cl.Host }) {
		if v := c.vacancy(on[0].Host, on); v != nil {
			all = append(all, v)
		}
	}
	return append(all, claims...)
}

// follows reports whether a claim is of the namespace that its host is registered for.
func (c *compiler) follows(cl *endpoint.Claim) bool {
	line, ok := c.next.in.Registered(cl.Host)
	return ok && c.next.in.MetaOf(line).SameNamespace(cl.By)
}

// markAcquired has the groups made anew that have hosts with another owner on record.
func (c *compiler) markAcquired() {
	if c.prev == nil {
		return
	}
	for _, host := range c.next.in.AcquiredChanged {
		if _, is := api.OfZoneKey(host); is || c.zoneOf(rdata.Base(host)) < 0 { // zones that differ for it are made anew
			continue
		}
		c.changeKnown(endpoint.GroupKey(host))
		if n := c.nodeAt(host); n != nil && slices.ContainsFunc(n.entries, c.meetsVacancy) {
			ch := c.changeOf(endpoint.GroupKey(host))
			ch.names = append(ch.names, host)
		}
	}
}

// Owner returns the object that owns the steered data of a host, which has a final dot,
// or the Zone that is served, for an api.ZoneKey; ok is false where nobody does. The elected
// replica keeps it (rule 5.4). Of records it is the registered one, while that is there, else
// the oldest of the namespace that has the name.
func (s *Snapshot) Owner(host string) (o api.Owner, ok bool) {
	if origin, is := api.OfZoneKey(host); is {
		z := s.Zone(origin)
		if z == nil || z.Origin() != origin || z.Object == nil {
			return api.Owner{}, false
		}
		return s.line(api.KindZone, &z.Object.Meta), true
	}
	z := s.Zone(rdata.Base(host))
	if z == nil {
		return api.Owner{}, false
	}
	n, _ := z.names.Get(host)
	if n == nil || n.unread() {
		return api.Owner{}, false
	}
	if n.steered.owner != nil {
		return s.lineOf(n.steered.owner), true
	}
	at := z.others(n)
	byAge := slices.SortedStableFunc(slices.Values(n.entries), (*endpoint.Record).Older)
	first := at.first(byAge)
	if first == nil {
		return api.Owner{}, false // the Corefile's, or nobody's
	}
	if kept, ok := s.in.Registered(host); ok {
		for _, e := range byAge {
			if !e.Beside && e.Record.SameNamespace(&first.Record.Meta) && kept.Is(e.ObjectKind(), &e.Record.Meta) {
				first = e // no line is written anew for an older one
			}
		}
	}
	return s.line(first.ObjectKind(), &first.Record.Meta), true
}

// line returns what the registry is to say of an object that owns a name.
func (s *Snapshot) line(kind api.Kind, m *api.Meta) api.Owner {
	o := api.Owner{Cluster: m.Cluster, Kind: kind, Name: m.Name, UID: m.UID}
	for _, c := range s.in.Clusters {
		if c.Name == m.Cluster && c.UID != c.Name { // else its name stands for its UID
			o.ClusterUID = c.UID
		}
	}
	return o
}

// lineOf is line of a claim that owns its host.
func (s *Snapshot) lineOf(cl *endpoint.Claim) api.Owner {
	o := s.line(cl.Kind, cl.By)
	if cl.Via != nil {
		o.Secret = cl.Via.Secrets()[0]
	}
	return o
}
