package records

import (
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// standingIn tells what is there instead of an owner on record that cannot be read.
type standingIn struct {
	*Snapshot
	// has tells whether the owner on record under a key has that now.
	has func(key string, o api.Owner) bool
}

// absentee returns the owner on record under a key, where it is not known what it has there.
func (a *standingIn) absentee(key string) (o api.Owner, ok bool) {
	if o, ok = a.unread.by.Get(key); ok {
		return o, !a.has(key, o)
	}
	return a.stalled.by.Get(key)
}

// finding is what a search has come to.
type finding struct {
	// by is the claim whose data are at the name, nil for others, and for none.
	by *claim
	// steered tells whether the owner of the name decides on the data.
	steered bool
	// within is the deepest name above which nothing else decides: the name itself where it has
	// data, what leads elsewhere, or else the closest name that there is. covered is true where
	// a wildcard there has the data, none where nothing has.
	within        string
	covered, none bool
	// recorded tells whether it is asked what may be put on record.
	recorded bool
	// turn is true where what is found leads elsewhere: NS records, or a DNAME, which hide the hosts below (rule 5.1). above is true where the
	// zone that is asked begins above the name, as it does for DS at a cut (rule 7.1).
	turn, above bool
}

// keeper returns the owner on record that keeps a name from being answered with what is there:
// it cannot be read, so what it says of the name is not known (rules 5.4 and 7.4). key is that
// which the owner is on record under.
func (a *standingIn) keeper(name string, f finding) (key string, o api.Owner, kept bool) {
	own := a.own(name, f) // up to where the data are on record
	taken := f.recorded || f.by != nil && f.steered
	for at := range rdata.Ancestors(name) {
		below := len(at) > len(f.within)
		if own != "" && !below && len(at) <= len(own) {
			break
		}
		if o, ok := a.absentee(at); ok && !f.turn && !a.shares(f.by, at, o) {
			chain := (o.Chain || taken) && rdata.IsSubdomain(klbLabel+at, name) // it may have one
			if chain || at == name && (f.steered || below) || at != name && f.covered && below {
				return at, o, true
			}
		}
		if o, ok := a.absentee(rdata.Wildcard + at); ok && !f.turn && !a.shares(f.by, at, o) {
			chain := (o.Chain || taken) && rdata.IsSubdomain(klbLabel+at, name)
			if chain || below || (f.covered && f.steered || f.none) && at == f.within {
				return rdata.Wildcard + at, o, true
			}
		}
		if o, ok := a.absentee(api.ZoneKey(at)); ok {
			return api.ZoneKey(at), o, true
		}
		if i, ok := a.zoneSet.index[at]; ok && a.zoneSet.sites[i].decides() && !(f.above && at == name) {
			break
		}
	}
	return "", api.Owner{}, false
}

// decides tells whether the site alone decides on what lies in it: a Zone does, and a zone of the
// Corefile is in nobody else's (rule 5.1).
func (at *site) decides() bool { return at.object != nil || at.origin == at.corefile.Origin }

// own returns the name up to which it is on record that what has been found may be there; "" for
// nowhere.
func (a *standingIn) own(name string, f finding) string {
	switch {
	case !f.steered:
		return ""
	case f.by == nil && f.covered && a.hasOnRecord(rdata.Wildcard+f.within), f.by == nil && f.within == name && a.hasOnRecord(name):
		return f.within // Records
	case f.by == nil:
		return ""
	}
	h := rdata.Base(f.by.host)
	kind, m := f.by.object()
	o, ok := a.in.Registered(f.by.host)
	switch {
	case !ok || !o.Is(kind, m) && !a.shares(f.by, h, o):
		return ""
	case o.Chain && rdata.IsSubdomain(klbLabel+h, name):
		return name
	}
	return h
}

// hasOnRecord tells whether somebody is on record under a key, and has that now.
func (a *standingIn) hasOnRecord(key string) bool {
	o, ok := a.in.Registered(key)
	return ok && a.has(key, o)
}

// shares tells whether an owner that is on record for a host would share it with a claim, which
// may be nil (rule 5.6). h is the host less any `*.`.
func (a *standingIn) shares(by *claim, h string, o api.Owner) bool {
	if by == nil || rdata.Base(by.host) != h && !a.isChained(rdata.Base(by.host), h, o) {
		return false
	}
	owner := metaOf(&a.in, o)
	return by.kind == o.Kind && by.kind != api.KindRecord && owner.SameNamespace(by.by) &&
		(by.pools() || owner.Name == by.by.Name && owner.Cluster != by.by.Cluster)
}

// standingIn returns what is there instead of owners that cannot be read.
func (s *Snapshot) standingIn() *standingIn {
	return &standingIn{s, func(key string, o api.Owner) bool {
		now, _, ok := s.holder(key)
		return ok && now.Kind == o.Kind && now.Cluster == o.Cluster && now.Name == o.Name
	}}
}

// withheld tells whether what has been found for a query, n or turn, is not the answer, as it is
// not known what the owner on record says of the name.
func (s *Snapshot) withheld(z *Zone, q *Query, n, turn *node) bool {
	return s.withholds && s.withheldNow(z, q, n, turn) // mostly false, and told without a call
}

func (s *Snapshot) withheldNow(z *Zone, q *Query, n, turn *node) bool {
	if n != nil && n.name == q.Name && z.isCorefiles(q.Name, q.Type) {
		return false
	}
	f := s.finding(z, q.Name, q.Type, n, turn)
	if f.by != nil && f.steered && f.by.pools() && s.withheldNote(f.by) != nil {
		return true // it is one claim on more than this name
	}
	if f.none || f.covered {
		_, unread := s.unread.above.Get(q.Name)
		if _, stalled := s.stalled.above.Get(q.Name); unread || stalled {
			return true // it may be there, with nothing of its own (RFC 8020)
		}
	}
	return s.keepsBack(q.Name, f)
}

// finding returns what a search for a type at a name of a zone has come to, n or turn.
func (s *Snapshot) finding(z *Zone, name string, rtype uint16, n, turn *node) finding {
	f := finding{steered: true, above: z.origin != name}
	switch {
	case turn != nil:
		f.within, f.turn = turn.name, true
	case n == nil:
		f.within, f.none = s.encloser(z, name), true
	default:
		f.by, f.within, f.covered = n.steered.owner, n.name, n.name != name
		if f.covered {
			f.within = rdata.Base(n.name)
		}
		beside := ofType(n.static, rtype) != nil || rtype == dns.TypeSOA && n.name == z.origin
		f.steered = steeredType(rtype) || !beside // others' data of that very type stand beside it
		f.turn = n.name == name && n.gives(rtype) == dns.TypeDNAME
	}
	return f
}

// gives returns the type of the data that n, beside what is steered, has for a type that is asked for; 0 for none.
func (n *node) gives(rtype uint16) uint16 {
	switch {
	case rtype == dns.TypeANY && len(n.static) > 0:
		return n.static[0].rtype // RFC 8482 §4.1
	case ofType(n.static, rtype) != nil:
		return rtype
	}
	return 0
}

// isCorefiles tells whether what there is of a type at a name is the Corefile's to say: who serves its zone, and
// the addresses of these. A zone whose Zone cannot be read has the servers that it had.
func (z *Zone) isCorefiles(name string, rtype uint16) bool {
	return name != z.origin && len(z.fixed[name]) > 0 || name == z.corefile.Origin && (rtype == dns.TypeSOA || rtype == dns.TypeNS)
}

// encloser returns the deepest name of a zone at or above one that lies in it. Names that have nothing but what is
// kept back may not exist.
func (s *Snapshot) encloser(z *Zone, name string) string {
	for at := range rdata.Ancestors(name) {
		n, exists := z.names.Get(at)
		if at == z.origin || exists && !n.void && (n.static != nil || n.steered.owner == nil || s.withheldNote(n.steered.owner) == nil) {
			return at
		}
	}
	return z.origin
}

// withholdsAt tells whether what there is for the addresses of a name is not known.
func (s *Snapshot) withholdsAt(z *Zone, name string) bool {
	if !s.withholds {
		return false // by far the most
	}
	n, turn := z.search(name, dns.TypeA)
	return s.withheldNow(z, &Query{Name: name, Type: dns.TypeA}, n, turn)
}

// withheldNote returns what a claim that has its host is told where that is not answered for; nil
// where it is.
func (s *Snapshot) withheldNote(c *claim) *api.Condition {
	if !s.withholds {
		return nil // by far the most
	}
	g, _ := s.groups.Get(groupKey(c.host))
	if g == nil {
		return nil
	}
	return g.withheld(c)
}

// withheld returns the note on one of the claims of g that says that its host is not answered for; nil
// for none.
func (g *nameGroup) withheld(c *claim) *api.Condition {
	i := slices.IndexFunc(g.notes[c], func(n api.Condition) bool { return n.Reason == reasonOwnerUnread })
	if i < 0 {
		return nil
	}
	return &g.notes[c][i]
}

// keepsBack tells whether an owner on record that cannot be read keeps a name from being answered
// with what has been found there.
func (s *Snapshot) keepsBack(name string, f finding) bool {
	if !s.withholds {
		return false // by far the most
	}
	_, _, kept := s.standingIn().keeper(name, f)
	return kept
}

// standingIn is the same of the next snapshot, as far as the names of the group go that is being built. holders
// has who holds them, by host.
func (c *compiler) standingIn(holders map[string]*claim) *standingIn {
	return &standingIn{c.next, func(key string, o api.Owner) bool {
		if origin, is := api.OfZoneKey(key); is {
			i, ok := c.next.zoneSet.index[origin]
			return ok && c.next.zoneSet.sites[i].object != nil && o.Is(api.KindZone, &c.next.zoneSet.sites[i].object.Meta)
		}
		if by := c.builder.names[key].owner; by != nil {
			return o.Is(by.object())
		}
		return holders[key] != nil
	}}
}

// keptBy says why a claim that has its host is not answered with there; nil where it is.
func (a *standingIn) keptBy(cl *claim) *problem {
	key, o, kept := a.keeper(cl.host, finding{by: cl, steered: true, within: cl.host})
	if !kept {
		return nil
	}
	return &problem{reasonOwnerUnread, unreadMessage(trimDot(cl.host), key, o)}
}

// withoutWithheld takes the addresses of names out of the additional data that are kept back.
func (s *Snapshot) withoutWithheld(a *Answer) {
	a.Extra = slices.DeleteFunc(slices.Clone(a.Extra), func(rr dns.RR) bool {
		name, err := rdata.Canonical(rr.Header().Name)
		z := s.Zone(name)
		return err == nil && z != nil && s.withholdsAt(z, name)
	})
}

// keptEntry says why an entry of a zone is not answered with; nil where it is, as far as this goes.
func (s *Snapshot) keptEntry(z *Zone, e *entry) *problem {
	if !s.withholds || z.isCorefiles(e.name, e.rr.Header().Rrtype) {
		return nil
	}
	n, turn := z.search(e.name, e.rr.Header().Rrtype)
	f := s.finding(z, e.name, e.rr.Header().Rrtype, n, turn)
	f.turn = f.turn || e.origin > 0 && e.rr.Header().Rrtype == dns.TypeNS // a delegation to a zone served here
	return s.keptName(e.name, f)
}

// keptName says why a name is not answered with what has been found there; nil where it is.
func (s *Snapshot) keptName(name string, f finding) *problem {
	key, o, kept := s.standingIn().keeper(name, f)
	if !kept {
		return nil
	}
	return &problem{reasonOwnerUnread, unreadMessage(trimDot(name), key, o)}
}

// unreadMessage says whose a name is by a key on record.
func unreadMessage(name, key string, o api.Owner) string {
	return onRecordText(name, key, o) + ": queries are answered with SERVFAIL until it can"
}

// onRecordText says the same, and not what follows from it.
func onRecordText(name, key string, o api.Owner) string {
	owner := fmt.Sprintf("%s %s of cluster %q", o.Kind, o.Name, o.Cluster)
	whose := name + " belongs to " + owner
	if origin, is := api.OfZoneKey(key); is {
		whose = name + " lies in the zone " + trimDot(origin) + " of " + owner
	} else if trimDot(key) != name {
		whose = "names of " + trimDot(key) + " belong to " + owner
	}
	return "it is on record that " + whose + ", which cannot be read now"
}
