package pool

import (
	"cmp"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Build puts the names of the served contenders on H' and *.H', given in the order of precedence, into b.Names. The names at and below
// klb.H' belong to H' if it has a chain; *.H' is then answered flat, unless it has the same chain (rule 2.8).
func (b *Builder) Build(contenders []*endpoint.Contender) {
	var readable [][]*endpoint.Contender // by host, H' first
	var unread []*endpoint.Contender
	for _, on := range owner.ByHost(contenders) {
		if i := slices.IndexFunc(on, isUnread); i >= 0 {
			unread = append(unread, on[i])
			on = slices.DeleteFunc(slices.Clone(on), isUnread)
		}
		if len(on) > 0 {
			readable = append(readable, on)
		}
		for _, c := range on {
			b.noteHeaders(c)
		}
	}
	slices.SortFunc(readable, func(x, y []*endpoint.Contender) int { return len(x[0].Host) - len(y[0].Host) })
	if len(readable) == 2 && sameChain(readable[0], readable[1]) {
		b.expand(readable[0][0].Host, slices.Concat(readable[0], readable[1]), false)
	} else {
		for i, on := range readable {
			b.noteUnchecked(on)
			b.host(on, i > 0 && slices.ContainsFunc(readable[0], (*endpoint.Contender).Steers))
		}
	}
	for _, c := range unread {
		b.unread(c)
	}
}

func isUnread(c *endpoint.Contender) bool { return c.Unread }

// noteUnchecked adds a note where a check never begins because it has no host name to send (rule 4.2).
func (b *Builder) noteUnchecked(on []*endpoint.Contender) {
	for _, c := range on {
		if c.Check() != nil && !c.Checked() && !b.ProbesOff {
			b.note(c, endpoint.ReasonNotChecked,
				"%s: not checked, so all targets count as up: a wildcard has no hostname to probe. Set healthCheck.host",
				endpoint.TrimDot(c.Host))
		}
	}
}

// unread puts the names of an unreadable owner into b.Names, unless others that share the host have them: the host, and its possible chain,
// unless that is the chain of H' (rule 2.8).
func (b *Builder) unread(c *endpoint.Contender) {
	names, klb := []string{c.Host}, endpoint.KLB+rdata.Base(c.Host)
	data, known := b.Names[klb]
	others := known && len(data.Owner.Host) < len(c.Host)
	if c.Kind != api.KindRecord && c.Kind != api.KindZone && b.Zone(klb) == b.Zone(c.Host) && !others {
		names = append(names, klb, rdata.WildcardOf(klb))
	}
	for _, name := range names {
		if _, known := b.Names[name]; !known {
			b.Names[name] = Steered{Owner: c}
		}
	}
}

// host makes the names of one host's contenders, the owner first. With apart, the names at and below klb.H' belong to another host.
func (b *Builder) host(on []*endpoint.Contender, apart bool) {
	usable, h := on, rdata.Base(on[0].Host)
	if slices.ContainsFunc(on, (*endpoint.Contender).Empty) {
		usable = slices.DeleteFunc(slices.Clone(on), (*endpoint.Contender).Empty)
	}
	switch {
	case len(usable) == 0:
		b.Names[on[0].Host] = Steered{Owner: on[0]}
	case !on[0].Pools():
		b.simple(on, usable)
	default:
		if apart {
			for _, c := range usable {
				b.note(c, endpoint.ReasonChainTaken, "%s: names at and below klb.%[2]s belong to %[2]s, which has other members; the host is answered without its chain",
					endpoint.TrimDot(c.Host), endpoint.TrimDot(h))
			}
		}
		b.expand(h, on, apart || slices.ContainsFunc(usable, func(c *endpoint.Contender) bool { return c.Chainless }))
	}
	if data := b.Names[on[0].Host]; data.Owner != on[0] { // an owner without an address keeps its host (rule 1.5)
		data.Owner = on[0]
		b.Names[on[0].Host] = data
	}
}

// sameChain reports whether the contenders on N and *.N have one owner and share the chain klb.N.
func sameChain(on, wild []*endpoint.Contender) bool {
	same := func(e, o *endpoint.Endpoint) bool { return e.Name == o.Name && e.SetID == o.SetID && e.Same(o) }
	return slices.EqualFunc(on, wild, func(c, w *endpoint.Contender) bool {
		return c.Steers() && !c.Chainless && c.By == w.By && c.Attributes == w.Attributes && slices.EqualFunc(c.Chain(), w.Chain(), same)
	})
}

// noteAttributes adds notes to those that share a host with its owner, and set an attribute of the host otherwise.
func (b *Builder) noteAttributes(on []*endpoint.Contender) {
	for _, c := range on[1:] {
		for x := range c.Attributes.Unlike(&on[0].Attributes) {
			b.note(c, endpoint.ReasonAnnotation, "%s: %s %s has no effect: %s %s, which owns the host, has %s", endpoint.TrimDot(c.Host),
				x, c.Attributes.Text(x), on[0].Kind, endpoint.InCluster(on[0].By, c.By), cmp.Or(on[0].Attributes.Text(x), "none"))
		}
	}
}

// noteWithoutChoice adds notes on attributes that need a choice, for contenders of a host without one.
func (b *Builder) noteWithoutChoice(on []*endpoint.Contender) {
	for _, c := range on {
		for x := range c.Attributes.All() {
			works := x == api.Fail || x == api.MaxAnswers || x == api.Sticky && c.Attributes.Says(api.MaxAnswers) // rule 9.4
			noted := x != api.Priority && c != on[0]                                                              // by noteAttributes
			if !works && !noted {
				b.noteChoiceless(c, x, &c.Attributes)
			}
		}
	}
}

// noteChoiceless adds a note on an attribute of a contender that needs a choice.
func (b *Builder) noteChoiceless(c *endpoint.Contender, x api.Attribute, a *api.Attributes) {
	choice := "set loadBalancing for one"
	if c.Kind != api.KindDNSPolicy {
		choice = "give its endpoints set identifiers for one"
	}
	b.note(c, endpoint.ReasonAnnotation, "%s: %s %s has no effect: the host has no choice among members; %s",
		endpoint.TrimDot(c.Host), x, a.Text(x), choice)
}

// simple puts the addresses, or the first hostname, of a host's contenders without a choice there (rules 1.7, 2.2 and 5.6). usable are those
// that are not empty.
func (b *Builder) simple(on, usable []*endpoint.Contender) {
	var v4, v6 addressList
	var hostnames []owned
	host := on[0].Host
	b.noteAttributes(on)
	b.noteWithoutChoice(on)
	contenders, away := b.standing(usable)
	for _, c := range away {
		b.watchAway(c)
	}
	b.room = b.room[:0]
	for _, c := range contenders {
		word := b.OverrideOf(c)
		for _, e := range c.Endpoints(&b.room) {
			if c.Kind != api.KindDNSPolicy && e.Attributes.Says(api.Priority) {
				b.noteChoiceless(c, api.Priority, &e.Attributes)
			}
			list := &v4
			switch e.Type {
			case dns.TypeCNAME:
				hostnames = append(hostnames, owned{Endpoint: e, contender: c})
				continue
			case dns.TypeAAAA:
				list = &v6
			}
			if len(list.list) == 0 {
				list.ttl = e.TTL
			}
			list.add(b, c, word, b.fitting(list, c, e))
		}
	}
	set, why, served := &Set{V4: len(v4.list), Attributes: on[0].Attributes.Host()}, endpoint.OneCNAME, ""
	if len(v4.list)+len(v6.list) > 0 {
		set.RRs = append(rdata.Addresses(host, v4.ttl, v4.list), rdata.Addresses(host, v6.ttl, v6.list)...)
		if v4.set || v6.set {
			set.Cells = slices.Concat(v4.all(), v6.all())
		}
		why = endpoint.AddressesWin
	} else {
		first, zone := &hostnames[0], b.Zone(host)
		if first.Leads {
			b.noteFailover(first)
		}
		hostnames, served = hostnames[1:], first.Target
		// No CNAME may stand beside other data (rule 2.7): Lookup resolves it.
		if !(host == zone.Origin || b.Static(host)) || b.resolvable(first.contender, host, first.Target, zone) {
			set.RRs = []dns.RR{rdata.CNAME(host, first.TTL, first.Target)}
			if cells := b.Cells(first.contender, first.Target, b.OverrideOf(first.contender)); cells != (Cells{}) { // its state is reported
				set.Cells = []Cells{cells}
			}
		}
	}
	for i := range hostnames {
		if f := &hostnames[i]; f.Target != served {
			b.drop(f, endpoint.ReasonDropped, "%s: %s; dropping %s", endpoint.TrimDot(host), why, endpoint.TrimDot(f.Target))
		}
	}
	set.RRs = slices.Clip(set.RRs)
	b.Names[host] = Steered{Owner: contenders[0], Data: set}
}

// resolvable reports whether we can resolve a contender's hostname at a name that cannot hold a
// CNAME; it adds a note if not (rule 2.7).
func (b *Builder) resolvable(c *endpoint.Contender, name, hostname string, zone *endpoint.ZoneOptions) bool {
	if b.Zone(hostname) != nil {
		return true
	}
	who := "the Gateway"
	if c.Kind != api.KindDNSPolicy {
		who = "the name"
	}
	b.note(c, endpoint.ReasonApexHostname, "%s has other data, so it cannot be a CNAME to %s, which is in no zone served here: give %s an IP address, or use a host below %s",
		endpoint.TrimDot(name), endpoint.TrimDot(hostname), who, endpoint.TrimDot(zone.Origin))
	return false
}
