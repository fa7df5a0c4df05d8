package records

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// steered is the steered data of one name. At most one of set and view is not
// nil; with neither, the name is claimed but has no data (rule 1.5).
type steered struct {
	owner  *claim
	set    *addressSet
	view   *view
	digest digest // of the records
}

// addressSet is the addresses of a name that are answered together: a simple
// host (rule 2.2), or one leaf of a chain.
type addressSet struct {
	// rrs holds the A records, then the AAAA records; or one CNAME.
	rrs []dns.RR
	v4  int // how many of rrs are A records
	// cells are those of the addresses, in order; nil where none is checked.
	cells []*health.Cell
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
}

// builder makes the names of one group of claims.
type builder struct {
	// zone returns the options of the zone that a name lies in, nil for none.
	zone func(name string) *ZoneOptions
	// static tells whether the zone itself has data at the name.
	static func(name string) bool
	names  map[string]steered
	notes  []claimNote
}

// claimNote is a note on a claim that was served, or on one that lost.
type claimNote struct {
	claim     *claim
	condition api.Condition
}

func (b *builder) note(c *claim, reason, format string, args ...any) {
	b.notes = append(b.notes, claimNote{c, refusal(reason, fmt.Sprintf(format, args...))})
}

// build puts the names of the served claims into b.names. claims are sorted by
// claim.older.
func (b *builder) build(claims []*claim) {
	var steering []*claim
	for i, c := range claims {
		if slices.ContainsFunc(claims[:i], func(o *claim) bool { return o.host == c.host }) {
			continue // built with the first claim on the host
		}
		usable := claims
		if len(claims) > 1 || !c.targets.usable() {
			usable = slices.DeleteFunc(slices.Clone(claims), func(o *claim) bool { return o.host != c.host || !o.targets.usable() })
		}
		switch {
		case len(usable) == 0:
			b.names[c.host] = steered{owner: c}
		case c.steers():
			steering = append(steering, usable...)
		default:
			b.simple(c.host, usable)
		}
	}
	for len(steering) > 0 {
		h := base(steering[0].host)
		same := slices.DeleteFunc(slices.Clone(steering), func(o *claim) bool { return base(o.host) != h })
		b.weightedGeo(h, same)
		steering = slices.DeleteFunc(steering, func(o *claim) bool { return base(o.host) == h })
	}
	for name, data := range b.names {
		data.digest = data.sum()
		b.names[name] = data
	}
}

// simple puts all addresses of the claims at host (rules 1.7 and 2.2).
func (b *builder) simple(host string, claims []*claim) {
	var v4, v6 []netip.Addr
	var down4, down6 []bool
	var hostnames []string
	for _, c := range claims {
		down := c.gateway.Programmed == api.ConditionFalse
		for _, l := range c.targets.leaves {
			v4, down4 = appendNew(v4, down4, l.v4, down)
			v6, down6 = appendNew(v6, down6, l.v6, down)
			hostnames = append(hostnames, l.hostnames...)
		}
	}
	owner, zone := claims[0], b.zone(host)
	set := &addressSet{v4: len(v4)}
	switch {
	case len(v4)+len(v6) > 0:
		set.rrs = append(addressRRs(host, zone.TTL, v4), addressRRs(host, zone.TTL, v6)...)
		set.cells = downCells(append(down4, down6...))
		b.noteDropped(owner, hostnames, "addresses and hostnames cannot stand at one name: the addresses are served")
	case host == zone.Origin || b.static(host):
		// No CNAME may stand beside other data (rule 2.7): Lookup resolves it.
		if b.resolvable(owner, hostnames[0], zone) {
			set.rrs = []dns.RR{cnameRR(host, zone.TTL, hostnames[0])}
		}
		b.noteDropped(owner, hostnames[1:], "one name has one CNAME: the first hostname is served")
	default:
		set.rrs = []dns.RR{cnameRR(host, zone.TTL, hostnames[0])}
		b.noteDropped(owner, hostnames[1:], "one name has one CNAME: the first hostname is served")
	}
	set.rrs = slices.Clip(set.rrs)
	b.names[host] = steered{owner: owner, set: set}
}

func (b *builder) noteDropped(c *claim, hostnames []string, why string) {
	if len(hostnames) > 0 {
		b.note(c, reasonDropped, "%s, and %s dropped", why, strings.Join(trimDots(hostnames), ", "))
	}
}

// resolvable tells whether a hostname at a name that cannot hold a CNAME can be
// resolved here; where not, it says so (rule 2.7).
func (b *builder) resolvable(c *claim, hostname string, zone *ZoneOptions) bool {
	if b.zone(hostname) != nil {
		return true
	}
	b.note(c, reasonApexHostname, "%s has other data, so it cannot be a CNAME to %s, and that is in no zone served here: give the Gateway an IP address, or use a host below %s",
		trimDot(c.host), trimDot(hostname), trimDot(zone.Origin))
	return false
}

// appendNew appends those of more that list lacks; down says for each whether
// its Gateway is down. An address of two Gateways is down only with both.
func appendNew(list []netip.Addr, down []bool, more []netip.Addr, isDown bool) ([]netip.Addr, []bool) {
	for _, a := range more {
		if i := slices.Index(list, a); i >= 0 {
			down[i] = down[i] && isDown
			continue
		}
		list, down = append(list, a), append(down, isDown)
	}
	return list, down
}

// notProgrammed is the cell of every target whose Gateway is not programmed
// (rule 1.4). Nobody writes it again.
var notProgrammed = func() *health.Cell {
	c := new(health.Cell)
	c.Set(health.Down)
	return c
}()

func downCells(down []bool) []*health.Cell {
	if !slices.Contains(down, true) {
		return nil
	}
	cells := make([]*health.Cell, len(down))
	for i, d := range down {
		if d {
			cells[i] = notProgrammed
		}
	}
	return cells
}

// needOf returns what must be known of a client to tell whether it matches code.
func needOf(code string) geo.Need {
	switch {
	case code == "" || geo.Check(code) != nil:
		return 0
	case isASCode(code):
		return geo.NeedAS
	}
	return geo.NeedPlace
}

func isASCode(code string) bool {
	digits, ok := strings.CutPrefix(code, "AS")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func trimDot(name string) string { return strings.TrimSuffix(name, ".") }

func trimDots(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = trimDot(n)
	}
	return out
}
