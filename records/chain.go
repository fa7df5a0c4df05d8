package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// spec is what a member is made of, before it has records.
type spec struct {
	claim  *claim
	target string // a leaf's name, or a hostname
	leaf   *leaf  // nil for a hostname
	weight uint64
	code   string // upper case, "" for none
	vitals []vital
	word   *health.Cell // of the claim's Gateway
}

// weightedGeo makes the names of rule 2.3 for the claims on a host, or on H' and *.H', by host and H' first. Both have
// the names at and below klb.H' where they have one owner and the same members; else H' has them, and *.H' is answered
// flat, as both are where another chain has taken these names (rule 2.8).
func (b *builder) weightedGeo(hosts [][]*claim, taken bool) {
	h := rdata.Base(hosts[0][0].host)
	below, zone := klbLabel+h, b.zone(h)
	upper, own := zone.LoadBalancedTTL, make([][]spec, len(hosts))
	for i, on := range hosts {
		own[i] = b.specs(below, on)
		if slices.ContainsFunc(on, (*claim).checked) || slices.ContainsFunc(own[i], spec.joined) {
			upper = min(upper, checkedTTL)
		}
		unite(own[i])
		b.noteCodes(own[i])
	}
	chained := !taken && b.chained(below, hosts[0], own[0])
	// A cache may answer for one host from what it got for the other.
	both := chained && len(hosts) == 2 && sameObject(hosts[0][0], hosts[1][0]) && hosts[0][0].fallback() == hosts[1][0].fallback() &&
		slices.EqualFunc(own[0], own[1], spec.alike)
	if both {
		shareVitals(own[0], own[1])
	}
	var lower *view // from klb.h
	for i, on := range hosts {
		c := on[0]
		other := c.host == zone.Origin || b.static(c.host)
		v := newView(on, own[i], below)
		v.apart = taken || i > 0 && chained && !both
		v.flat = !chained || v.apart || zone.Flatten || other
		if v.flat {
			v.pool.layFlat(c.host, min(upper, zone.TTL), other, func(hostname string) bool {
				return !other || b.resolvable(claimOf(own[i], hostname), hostname, zone)
			})
		} else {
			v.pool.layChain(c.host, below, upper, zone.TTL)
			lower = &view{pool: v.pool, skip: 1, group: anyGroup, inner: true}
		}
		b.names[c.host] = steered{owner: c, view: v}
	}
	if !chained {
		return
	}
	if lower == nil {
		lower = newView(hosts[0], own[0], below)
		lower.inner = true
		lower.pool.layChain("", below, upper, zone.TTL)
	}
	b.steeringNames(below, lower, own[0], zone.TTL)
}

// sameObject reports whether two claims are of one object, or of that object in two clusters (rule 5.6).
func sameObject(a, c *claim) bool {
	return a.kind == c.kind && a.by.Name == c.by.Name && a.by.SameNamespace(c.by)
}

// shareVitals makes what is known of the members of one host known of those of
// another, which have the same names below klb: a wildcard, which is not checked,
// does not send caches to what its host knows to be dead. The two are alike.
func shareVitals(a, b []spec) {
	for i := range a {
		pair := []spec{a[i], b[i]}
		unite(pair)
		a[i], b[i] = pair[0], pair[1]
	}
}

// chained tells whether the names below a host can be made. Where they cannot,
// it says so to all claims.
func (b *builder) chained(below string, claims []*claim, all []spec) bool {
	reason, why := "", ""
	if taken := b.taken(below); taken != "" {
		reason, why = reasonChainTaken, "the Corefile has "+trimDot(taken)+", which the names below "+trimDot(below)+" need"
	}
	if slices.ContainsFunc(all, func(s spec) bool {
		return len(s.target) > rdata.MaxName || len(geoLabel(s.code))+1+len(below) > rdata.MaxName
	}) {
		reason, why = reasonChainTooLong, "the names below "+trimDot(below)+" would be longer than 253 characters"
	}
	if reason == "" {
		return true
	}
	for _, c := range claims {
		b.note(c, reason, "%s: the host is answered without its chain", why)
	}
	return false
}

// claimOf returns the first claim that has a hostname among its targets.
func claimOf(specs []spec, hostname string) *claim {
	i := slices.IndexFunc(specs, func(s spec) bool { return s.leaf == nil && s.target == hostname })
	return specs[i].claim
}

// joined tells whether a probe has joined the member's addresses.
func (s spec) joined() bool {
	return slices.ContainsFunc(s.vitals, func(v vital) bool { return v.joined != nil })
}

// alike tells whether two members of different hosts have the same names below
// klb, with the same data, and are chosen alike.
func (s spec) alike(o spec) bool {
	if s.target != o.target || s.code != o.code || s.weight != o.weight || s.word != o.word || (s.leaf == nil) != (o.leaf == nil) {
		return false
	}
	if s.leaf != nil && !(slices.Equal(s.leaf.v4, o.leaf.v4) && slices.Equal(s.leaf.v6, o.leaf.v6)) {
		return false
	}
	// One policy's check decides nothing for another's (rule 4.7).
	return s.claim.policy == o.claim.policy || slices.EqualFunc(s.vitals, o.vitals, vital.equal)
}

// steeringNames puts klb.H', the names of its groups and the leaves in place.
// klb is the view from klb.H'.
func (b *builder) steeringNames(below string, klb *view, all []spec, ttl uint32) {
	owner := klb.pool.owner
	b.names[below] = steered{owner: owner, view: klb}
	for i, g := range klb.pool.groups {
		b.names[g.name] = steered{owner: owner, view: &view{pool: klb.pool, skip: klb.skip + 1, group: int32(i), inner: true}}
	}
	for _, s := range all {
		if s.leaf == nil || b.names[s.target].set != nil {
			continue
		}
		rrs := append(addressRRs(s.target, ttl, s.leaf.v4), addressRRs(s.target, ttl, s.leaf.v6)...)
		b.names[s.target] = steered{owner: s.claim, set: &addressSet{rrs: slices.Clip(rrs), v4: len(s.leaf.v4), vitals: s.vitals, leaf: true}}
	}
}

// specs returns the members of the claims on one host, in the order of the claims, as many as it may have. Those with
// the same target in the same group are to be one member: the older claim's.
func (b *builder) specs(below string, claims []*claim) []spec {
	var all []spec
	for _, c := range claims {
		if all = b.addSpecs(all, below, c); len(all) > maxMembers {
			all = all[:maxMembers]
			b.note(c, reasonDropped, crowded, trimDot(c.host), maxMembers)
		}
	}
	return all
}

// addSpecs adds the members of one claim to all.
func (b *builder) addSpecs(all []spec, below string, c *claim) []spec {
	name := hash6(c.gateway.BareName() + "-" + c.gateway.Namespace())
	word := b.word(c)
	for i := range c.targets.leaves {
		l := &c.targets.leaves[i]
		cluster := b.uid(c.by.Cluster)
		if l.cluster != "" {
			cluster = l.cluster
		}
		s := spec{claim: c, word: word}
		s.weight, s.code = b.weigh(c, l.cluster)
		if len(l.v4)+len(l.v6) > 0 {
			s.target, s.leaf, s.vitals = hash6(cluster)+"-"+name+"."+below, l, b.vitals(c, l, word)
			all = append(all, s)
		}
		for _, h := range l.hostnames {
			s.target, s.leaf, s.vitals = h, nil, nil
			if v := b.vital(c, h, word); v != (vital{gateway: word}) {
				s.vitals = []vital{v}
			}
			all = append(all, s)
		}
	}
	return all
}

// newView returns a view from the host of the claims on a Pool of its own. They
// are one piece of memory: an answer reads both.
func newView(claims []*claim, specs []spec, below string) *view {
	v := &struct {
		view
		own Pool
	}{}
	v.own.fill(claims, specs, below)
	v.view = view{pool: &v.own, group: anyGroup}
	return &v.view
}

// setDefault finds the default group: that of the oldest claim which names a
// default that has members (rules 2.3, 5.6 and 3.3). A claim without any geo
// code is its own default; a code that no client can match is nobody's (rule
// 3.2). specs are in the order of the claims.
func (p *Pool) setDefault(claims []*claim, specs []spec) {
	for _, c := range claims {
		coded := false
		for ; len(specs) > 0 && specs[0].claim == c; specs = specs[1:] {
			coded = coded || specs[0].code != ""
		}
		code := c.policy.DefaultGeo
		if code == "" && coded || code != "" && geo.Check(code) != nil {
			continue
		}
		if i := slices.IndexFunc(p.groups, func(g group) bool { return g.code == code }); i >= 0 {
			p.deflt = int32(i)
			return
		}
	}
}

// layChain gives every member the answers of rule 2.3: host → klb → group →
// target, and the addresses. With host "" the chain starts at klb.
func (p *Pool) layChain(host, below string, upper, ttl uint32) {
	var head []dns.RR
	if host != "" {
		head = []dns.RR{cnameRR(host, upper, below)}
	}
	groups := make([]dns.RR, len(p.groups))
	for i, g := range p.groups {
		groups[i] = cnameRR(below, upper, g.name)
	}
	p.chained = len(head) > 0
	for i := range p.members {
		m := &p.members[i]
		cnames := slices.Clip(append(slices.Clone(head), groups[m.group], cnameRR(p.groups[m.group].name, ttl, m.target)))
		m.cnames = len(cnames)
		m.lay(cnames, m.target, ttl)
	}
	p.setNeeds(false)
}

// layFlat gives every member its addresses at host, or a CNAME there where
// alias allows one to its hostname. Where other data stand there, the CNAMEs are not
// given, but followed.
func (p *Pool) layFlat(host string, ttl uint32, other bool, alias func(hostname string) bool) {
	for i := range p.members {
		m := &p.members[i]
		switch {
		case m.leaf != nil:
			m.lay(nil, host, ttl)
		case alias(m.target):
			m.lay([]dns.RR{cnameRR(host, ttl, m.target)}, host, ttl)
		}
	}
	p.setNeeds(other)
}

// lay sets the member's answers: the CNAMEs, then its addresses at owner. A
// hostname has the same answer for every family: the chain leaves our hands.
func (m *member) lay(cnames []dns.RR, owner string, ttl uint32) {
	m.answers[famCNAME] = cnames
	if m.leaf == nil {
		m.answers[famA], m.answers[famAAAA] = cnames, cnames
		return
	}
	if len(m.leaf.v4) > 0 {
		m.answers[famA] = slices.Concat(cnames, addressRRs(owner, ttl, m.leaf.v4))
	}
	if len(m.leaf.v6) > 0 {
		m.answers[famAAAA] = slices.Concat(cnames, addressRRs(owner, ttl, m.leaf.v6))
	}
}

// setNeeds works out for each family whether the answer depends on the client:
// it does where one that matches some group is answered from another group than
// one that matches none (rule 3.6). What the default's own code takes to be seen
// counts only where it may outdo another's. other is true where other data stand beside
// the pool: no CNAME is given there.
func (p *Pool) setNeeds(other bool) {
	p.aliases = !other && slices.ContainsFunc(p.members, func(m member) bool { return len(m.answers[famCNAME]) > 0 })
	for fam := range numFamilies {
		present, needs := 0, geo.Need(0)
		has := make([]bool, len(p.groups))
		for i := range p.members {
			if m := &p.members[i]; p.candidate(m, fam) {
				has[m.group] = true
			}
		}
		for g := range p.groups {
			if !has[g] {
				continue
			}
			present++
			if int32(g) != p.deflt {
				needs |= needOf(p.groups[g].class)
			}
		}
		if present < 2 {
			continue
		}
		if needs != 0 && p.deflt >= 0 && p.groups[p.deflt].class == geo.ClassAS {
			needs |= geo.NeedAS // it counts more than the place (rule 3.2)
		}
		p.needs[fam] = needs
	}
}

// noteCodes reports codes that no client can match (rule 3.2) to those that
// wrote them. specs are in the order of their claims.
func (b *builder) noteCodes(specs []spec) {
	first := 0 // of the claim's
	for i, s := range specs {
		if s.claim != specs[first].claim {
			first = i
		}
		if s.code == "" || slices.ContainsFunc(specs[first:i], func(o spec) bool { return o.code == s.code }) {
			continue
		}
		if err := geo.Check(s.code); err != nil {
			b.note(s.claim, reasonUnknownGeo, "%v", err)
		}
	}
}

// checked tells whether the claim's targets are probed (rule 4.2): a wildcard
// only where the check names a host.
func (c *claim) checked() bool {
	check := c.policy.HealthCheck
	return check != nil && c.policy.CheckInvalid == "" && (check.Host != "" || !strings.HasPrefix(c.host, rdata.Wildcard))
}

// geoLabel returns g of rule 2.3: the code in lower case, "default" for none. A
// code that cannot be a label, or that looks like the label of something else,
// gives a hash of itself.
func geoLabel(code string) string {
	const none = "default"
	if code == "" {
		return none
	}
	label := strings.ToLower(code)
	leaf := len(label) == 2*hashLength+1 && label[hashLength] == '-'
	if label == none || leaf || len(label) > rdata.MaxLabel || strings.Contains(label, ".") || rdata.CheckLabels(label) != nil {
		return hash6(label)
	}
	return label
}
