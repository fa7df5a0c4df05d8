package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// steered is the steered data of one name. At most one of set and view is not
// nil; with neither, the name is claimed but has no data (rule 1.5).
type steered struct {
	owner *claim
	set   *addressSet
	view  *view
}

// addressSet is the addresses of a name that are answered together: a simple
// host (rule 2.2), or one leaf of a chain.
type addressSet struct {
	// rrs holds the A records, then the AAAA records; or one CNAME.
	rrs []dns.RR
	v4  int // how many of rrs are A records
	// vitals tell which of the addresses work, in order; nil where nothing does.
	vitals []vital
	leaf   bool // it is at the end of a chain
}

// view is a Pool as it is seen from one of its names.
type view struct {
	pool *Pool
	// skip is how many of the leading CNAMEs of an answer stand above the name.
	skip int
	// group restricts the choice to one group; anyGroup does not.
	group int32
	// flat is true where the answer has no chain (rule 2.4).
	flat bool
	// inner is true for klb.H' and what lies below it (rule 7.5).
	inner bool
	// apart is true for *.H' where the names at and below klb.H' are those of another chain (rule 2.8).
	apart bool
}

// builder makes the names of one group of claims.
type builder struct {
	// zone returns the options of the zone that a name lies in, nil for none.
	zone func(name string) *ZoneOptions
	// static reports whether the zone itself has data at the name. taken returns a name of the
	// Corefile's at or below one, a zone or a name server; "" for none.
	static func(name string) bool
	taken  func(name string) string
	names  map[string]steered
	// uid returns the identity of a cluster (C of rule 2.3).
	uid   func(cluster string) string
	notes map[*claim][]api.Condition // on claims that are served; nil for none
	// watch has a target checked for the names that are being made, and returns
	// its cell: see checkEdit.watch.
	watch func(t *health.Target, was func() *health.Target) *health.Cell
	// before returns the objects of a cluster that the snapshot before was made of;
	// nil for none.
	before func(cluster string) *api.Cluster
	// probesOff is true where nothing is checked here: what the probes' status
	// says counts (rule 4.1). probes returns those of a cluster.
	probesOff bool
	probes    func(cluster string) probeIndex
	// overrides are the operator's own words.
	overrides *api.Overrides
	// secret returns a Secret of a cluster by its namespace/name, nil where it is not
	// known.
	secret func(cluster, name string) *api.Secret
	// dropped is how many offers of a claim are not served for those of others.
	dropped map[*claim]int
	// weights are those that have been found in this compile.
	weights map[weighing]weighed
	// expected are the status codes of the check that was looked at last, as text.
	expected struct {
		of   *api.HealthCheck
		text string
	}
	// noSecrets tells whether the Corefile has none read of a cluster.
	noSecrets func(cluster string) bool
}

func (b *builder) note(c *claim, reason, format string, args ...any) {
	if b.notes == nil {
		b.notes = make(map[*claim][]api.Condition)
	}
	if said := refusal(reason, fmt.Sprintf(format, args...)); !slices.Contains(b.notes[c], said) {
		b.notes[c] = append(b.notes[c], said)
	}
}

// build puts the names of the served claims on H' and *.H' into b.names. claims are sorted by
// claim.older. The chain is that of H' where it has one (rule 2.8).
func (b *builder) build(claims []*claim) {
	var steering, offering [][]*claim // by host, H' first
	var unread []*claim
	hosts := byKey(claims, func(c *claim) string { return c.host })
	slices.SortFunc(hosts, func(x, y []*claim) int { return len(x[0].host) - len(y[0].host) })
	for _, on := range hosts {
		if i := slices.IndexFunc(on, isUnreadClaim); i >= 0 {
			unread = append(unread, on[i])
			if on = slices.DeleteFunc(slices.Clone(on), isUnreadClaim); len(on) == 0 {
				continue
			}
		}
		c := on[0]
		for _, o := range on {
			b.noteHeaders(o)
		}
		usable := on
		if !allUsable(on) {
			usable = slices.DeleteFunc(slices.Clone(on), func(o *claim) bool { return !o.targets.usable() })
		}
		switch {
		case c.offers != nil:
			offering = append(offering, on)
		case len(usable) == 0:
			b.names[c.host] = steered{owner: c}
		case c.steers():
			steering = append(steering, usable)
		default:
			b.simple(c.host, usable)
		}
	}
	if len(steering) > 0 {
		b.weightedGeo(steering, chainAbove(offering, steering))
	}
	if len(offering) > 0 {
		b.offers(offering, chainAbove(steering, offering))
	}
	for _, c := range unread {
		b.unread(c)
	}
}

func isUnreadClaim(c *claim) bool { return c.unread }

// unread puts the names of an owner that cannot be read into b.names, where others that share the host have none: the
// host, and what its chain may have, unless that is the chain of H' (rule 2.8).
func (b *builder) unread(c *claim) {
	names, klb := []string{c.host}, klbLabel+rdata.Base(c.host)
	data, known := b.names[klb]
	others := known && len(data.owner.host) < len(c.host)
	if c.kind != api.KindRecord && c.kind != api.KindZone && b.zone(klb) == b.zone(c.host) && !others {
		names = append(names, klb, rdata.Wildcard+klb)
	}
	for _, name := range names {
		if _, known := b.names[name]; !known {
			b.names[name] = steered{owner: c}
		}
	}
}

// chainAbove reports whether the claims on one host, which may be none, are on H' and have its chain, and those on the
// other are on *.H'.
func chainAbove(one, other [][]*claim) bool {
	return len(one) == 1 && len(one[0][0].host) < len(other[0][0].host) && slices.ContainsFunc(one[0], (*claim).steers)
}

func allUsable(claims []*claim) bool {
	return !slices.ContainsFunc(claims, func(c *claim) bool { return !c.targets.usable() })
}

// byKey returns the claims with equal keys together; the order is that of the
// first of each, and of the claims.
func byKey(claims []*claim, key func(*claim) string) [][]*claim {
	if len(claims) == 0 {
		return nil
	}
	first := key(claims[0])
	if !slices.ContainsFunc(claims[1:], func(c *claim) bool { return key(c) != first }) {
		return [][]*claim{claims} // by far the most
	}
	var lists [][]*claim
	at := make(map[string]int, len(claims))
	for _, c := range claims {
		k := key(c)
		i, ok := at[k]
		if !ok {
			i = len(lists)
			at[k], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], c)
	}
	return lists
}

// simple puts all addresses of the claims at host (rules 1.7 and 2.2).
func (b *builder) simple(host string, claims []*claim) {
	var v4, v6 addressList
	var hostnames []hostnameOf
	for _, c := range claims {
		word := b.word(c)
		for _, l := range c.targets.leaves {
			v4.add(b, c, word, l.v4)
			v6.add(b, c, word, l.v6)
			for _, h := range l.hostnames {
				hostnames = append(hostnames, hostnameOf{c, h})
			}
		}
	}
	owner, zone := claims[0], b.zone(host)
	set := &addressSet{v4: len(v4.addrs)}
	switch {
	case len(v4.addrs)+len(v6.addrs) > 0:
		set.rrs = append(addressRRs(host, zone.TTL, v4.addrs), addressRRs(host, zone.TTL, v6.addrs)...)
		if v4.said || v6.said {
			set.vitals = slices.Concat(v4.vitals, v6.vitals)
		}
		b.noteDropped(hostnames, "addresses and hostnames cannot stand at one name: the addresses are served")
	case host == zone.Origin || b.static(host):
		// No CNAME may stand beside other data (rule 2.7): Lookup resolves it.
		if b.resolvable(hostnames[0].claim, hostnames[0].name, zone) {
			set.rrs = []dns.RR{cnameRR(host, zone.TTL, hostnames[0].name)}
		}
		b.noteDropped(hostnames[1:], "one name has one CNAME: the first hostname is served")
	default:
		set.rrs = []dns.RR{cnameRR(host, zone.TTL, hostnames[0].name)}
		b.noteDropped(hostnames[1:], "one name has one CNAME: the first hostname is served")
	}
	if set.alias() { // nothing else to choose, but its state is told
		c := hostnames[0].claim
		if v := b.vital(c, hostnames[0].name, b.word(c)); v != (vital{}) {
			set.vitals = []vital{v}
		}
	}
	set.rrs = slices.Clip(set.rrs)
	b.names[host] = steered{owner: owner, set: set}
}

// hostnameOf is a hostname among the targets of a claim.
type hostnameOf struct {
	claim *claim
	name  string
}

// noteDropped reports hostnames that are not served, each claim its own. They
// are in the order of the claims.
func (b *builder) noteDropped(hostnames []hostnameOf, why string) {
	for len(hostnames) > 0 {
		c := hostnames[0].claim
		var names []string
		for ; len(hostnames) > 0 && hostnames[0].claim == c; hostnames = hostnames[1:] {
			names = append(names, trimDot(hostnames[0].name))
		}
		b.note(c, reasonDropped, "%s, and %s dropped", why, strings.Join(names, ", "))
	}
}

// resolvable tells whether a hostname at a name that cannot hold a CNAME can be
// resolved here; where not, it says so (rule 2.7).
func (b *builder) resolvable(c *claim, hostname string, zone *ZoneOptions) bool {
	if b.zone(hostname) != nil {
		return true
	}
	who := "the Gateway"
	if c.kind != api.KindDNSPolicy {
		who = "the name"
	}
	b.note(c, reasonApexHostname, "%s has other data, so it cannot be a CNAME to %s, and that is in no zone served here: give %s an IP address, or use a host below %s",
		trimDot(c.host), trimDot(hostname), who, trimDot(zone.Origin))
	return false
}

// needOf returns what must be known of a client to tell whether it matches a
// code of the given class.
func needOf(class string) geo.Need {
	switch class {
	case geo.ClassNone, geo.ClassUnknown:
		return 0
	case geo.ClassAS:
		return geo.NeedAS
	}
	return geo.NeedPlace
}

func trimDot(name string) string { return strings.TrimSuffix(name, ".") }
