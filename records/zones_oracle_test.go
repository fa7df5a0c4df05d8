package records_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// oracle answers as RFC 1034 §4.3.2 says, with RFC 4592 and RFC 6672, in the plainest
// way: it knows the Zones and Records that are served, and looks at all of them.
type oracle struct {
	zones map[string]*api.Zone // by origin; nil for those of the Corefile alone
	// data are the RRsets in use by zone, name and type, as text. A name without data
	// is there for the names below it.
	data map[string]map[string]map[uint16][]string
}

func newOracle(in api.Objects, corefile ...string) *oracle {
	o := &oracle{zones: make(map[string]*api.Zone), data: make(map[string]map[string]map[uint16][]string)}
	for _, origin := range corefile {
		o.zones[origin] = nil
	}
	var all []*api.Record
	var zones []*api.Zone
	for _, c := range in.Clusters {
		for _, z := range c.Zones.All() {
			zones = append(zones, z)
		}
		for _, r := range c.Records.All() {
			all = append(all, r)
		}
	}
	slices.SortFunc(zones, func(a, b *api.Zone) int { return a.Older(&b.Meta) })
	for _, z := range zones {
		if o.zones[z.DomainName] == nil {
			o.zones[z.DomainName] = z
		}
	}
	for origin := range o.zones {
		o.exists(origin, origin)
		if up, ok := rdata.Parent(origin); ok && o.closest(up) != "" {
			o.exists(o.closest(up), origin) // RFC 4035 §3.1.4.1
		}
	}
	slices.SortFunc(all, func(a, b *api.Record) int { return a.Older(&b.Meta) })
	for _, r := range all {
		o.add(r)
	}
	o.lowestTTLs(all)
	return o
}

// closest returns the origin of the zone that holds name; "" for none.
func (o *oracle) closest(name string) string {
	best := ""
	for origin := range o.zones {
		if dns.IsSubDomain(origin, name) && len(origin) > len(best) {
			best = origin
		}
	}
	return best
}

// exists makes name and all between it and the zone's apex exist.
func (o *oracle) exists(zone, name string) map[uint16][]string {
	if o.data[zone] == nil {
		o.data[zone] = make(map[string]map[uint16][]string)
	}
	for at := name; ; at, _ = rdata.Parent(at) {
		if o.data[zone][at] == nil {
			o.data[zone][at] = make(map[uint16][]string)
		}
		if at == zone {
			return o.data[zone][name]
		}
	}
}

// zoneOf returns the zone that a Record lies in; "" for none.
func (o *oracle) zoneOf(name string, rtype uint16) string {
	zone := o.closest(name)
	if zone == name && rtype == dns.TypeDS { // RFC 4035 §2.4
		up, _ := rdata.Parent(name)
		return o.closest(up)
	}
	return zone
}

// add adds a Record, older ones first: what may not stand beside them is left out.
func (o *oracle) add(r *api.Record) {
	rtype := dns.StringToType[r.Type]
	zone := o.zoneOf(r.DomainName, rtype)
	if zone == "" || zone == r.DomainName && (rtype == dns.TypeCNAME) {
		return
	}
	sets := o.data[zone][r.DomainName]
	_, alias := sets[dns.TypeCNAME]
	same := slices.Contains(sets[rtype], r.RData)
	switch {
	case rtype == dns.TypeCNAME && len(sets) > 0 && !same, alias && rtype != dns.TypeCNAME:
		return
	case rtype == dns.TypeDNAME && len(sets[rtype]) > 0 && !same:
		return
	}
	sets = o.exists(zone, r.DomainName)
	if !same {
		sets[rtype] = append(sets[rtype], r.RData)
	}
}

// lowestTTLs puts the TTL of each RRset before its data (RFC 2181 §5.2).
func (o *oracle) lowestTTLs(list []*api.Record) {
	type set struct {
		name  string
		rtype uint16
	}
	lowest := make(map[set]uint32)
	for _, r := range list {
		rtype := dns.StringToType[r.Type]
		zone := o.zoneOf(r.DomainName, rtype)
		if zone == "" || !slices.Contains(o.data[zone][r.DomainName][rtype], r.RData) {
			continue
		}
		ttl := uint32(r.TTL)
		if r.TTL == api.NoTTL {
			ttl = records.DefaultTTL
			if z := o.zones[zone]; z != nil {
				ttl = z.TTL
			}
		}
		key := set{r.DomainName, rtype}
		if old, ok := lowest[key]; !ok || ttl < old {
			lowest[key] = ttl
		}
	}
	for _, names := range o.data {
		for name, sets := range names {
			for rtype, all := range sets {
				for i := range all {
					all[i] = fmt.Sprintf("%d %s %s", lowest[set{name, rtype}], dns.TypeToString[rtype], all[i])
				}
			}
		}
	}
}

// servers returns the NS set at a zone's apex, or what stands in for it.
func (o *oracle) servers(zone string) []string {
	if own := o.data[zone][zone][dns.TypeNS]; len(own) > 0 {
		return own
	}
	ttl := uint32(3600)
	if z := o.zones[zone]; z != nil {
		ttl = z.TTL
	}
	return []string{fmt.Sprintf("%d NS ns.%s", ttl, zone)}
}

// reply is an answer being made.
type reply struct {
	rcode     int
	referral  bool
	answer    []string
	authority []string
}

func (r *reply) String() string {
	head := dns.RcodeToString[r.rcode]
	if r.referral {
		head += " referral"
	}
	slices.Sort(r.answer)
	slices.Sort(r.authority)
	return strings.Join(slices.Concat([]string{head}, r.answer, []string{"authority"}, r.authority), "\n")
}

func owned(owner string, data []string) (lines []string) {
	for _, d := range data {
		lines = append(lines, owner+" "+d)
	}
	return lines
}

// lastWord is the last word of a record's text.
func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// ask answers a question; ok is false where no zone holds the name.
func (o *oracle) ask(name string, qtype uint16) (r *reply, ok bool) {
	r = new(reply)
	var aliases []string // the owners of CNAMEs so far
	for range 17 {
		zone := o.closest(name)
		if up, _ := rdata.Parent(name); qtype == dns.TypeDS && zone == name && o.closest(up) != "" {
			zone = o.closest(up)
		}
		if zone == "" {
			return r, len(r.answer) > 0
		}
		next, on := o.step(r, zone, name, qtype)
		if !on {
			return r, true
		}
		aliases = append(aliases, name)
		if slices.Contains(aliases, next) {
			break
		}
		name = next
	}
	if o.closest(name) == "" {
		return r, true
	}
	return &reply{rcode: dns.RcodeServerFailure}, true
}

// step adds what zone says of name, and returns the name at which the search goes on.
func (o *oracle) step(r *reply, zone, name string, qtype uint16) (next string, on bool) {
	names := o.data[zone]
	for labels := dns.CountLabel(zone); labels <= dns.CountLabel(name); labels++ {
		if qtype == dns.TypeDS && o.closest(name) == name {
			break // the cut to a zone served here: nothing hides it
		}
		offsets := dns.Split(name)
		at := name[offsets[len(offsets)-labels]:]
		if ns := names[at][dns.TypeNS]; at != zone && len(ns) > 0 && (at != name || qtype != dns.TypeDS) {
			r.referral = len(r.answer) == 0
			r.authority = owned(at, ns)
			return "", false
		}
		if dname := names[at][dns.TypeDNAME]; at != name && len(dname) > 0 {
			return o.redirect(r, name, at, dname, qtype)
		}
	}
	sets := names[name]
	for encloser := name; sets == nil; {
		encloser, _ = rdata.Parent(encloser)
		if names[encloser] == nil {
			continue
		}
		if sets = names["*."+encloser]; sets == nil {
			r.rcode, r.authority = dns.RcodeNameError, []string{zone + " SOA"}
			return "", false
		}
	}
	alias := sets[dns.TypeCNAME]
	data := sets[qtype]
	switch {
	case name == zone && qtype == dns.TypeSOA:
		r.answer = append(r.answer, zone+" SOA")
	case name == zone && qtype == dns.TypeNS:
		r.answer = append(r.answer, owned(name, o.servers(zone))...)
	case len(data) > 0:
		for _, line := range owned(name, data) {
			if !slices.Contains(r.answer, line) { // a DNAME that led here
				r.answer = append(r.answer, line)
			}
		}
	case len(alias) > 0:
		r.answer = append(r.answer, owned(name, alias)...)
		return lastWord(alias[0]), true
	default:
		r.authority = []string{zone + " SOA"}
	}
	return "", false
}

// redirect adds a DNAME and the CNAME that it makes (RFC 6672 §3.2).
func (o *oracle) redirect(r *reply, name, owner string, dname []string, qtype uint16) (next string, on bool) {
	if line := owner + " " + dname[0]; !slices.Contains(r.answer, line) {
		r.answer = append(r.answer, line)
	}
	next = strings.TrimSuffix(name, owner) + lastWord(dname[0])
	if len(next)+1 > rdata.MaxWireName {
		r.rcode = dns.RcodeYXDomain
		return "", false
	}
	ttl, _, _ := strings.Cut(dname[0], " ")
	r.answer = append(r.answer, fmt.Sprintf("%s %s CNAME %s", name, ttl, next))
	return next, qtype != dns.TypeCNAME
}

// seen asks the snapshot.
func (o *oracle) seen(s *records.Snapshot, name string, qtype uint16) *reply {
	var a records.Answer
	s.Lookup(s.ZoneOf(name, qtype), &records.Query{Name: name, Owner: name, Type: qtype}, &a)
	lines := func(rrs []dns.RR) (all []string) {
		for _, rr := range rrs {
			h := rr.Header()
			if h.Rrtype == dns.TypeSOA {
				all = append(all, h.Name+" SOA")
				continue
			}
			all = append(all, fmt.Sprintf("%s %d %s %s", h.Name, h.Ttl, dns.TypeToString[h.Rrtype], strings.TrimPrefix(rr.String(), h.String())))
		}
		return all
	}
	return &reply{rcode: a.Rcode, referral: a.Referral, answer: lines(a.Answer), authority: lines(a.Ns)}
}

// String lists all data, for failures.
func (o *oracle) String() string {
	var lines []string
	for zone, names := range o.data {
		for name, sets := range names {
			lines = append(lines, fmt.Sprintf("%s: %s %v", zone, name, sets))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The universe of TestZonesByOracle. Few names, so that cuts, DNAMEs, wildcards and
// zones meet; none is one that the server makes up.
var (
	oracleZones = []string{
		"example.org.", "a.example.org.", "b.a.example.org.", "c.b.example.org.", "example.net.", "b.a.example.net.",
	}
	oracleNames = []string{
		"example.org.", "a.example.org.", "b.a.example.org.", "c.b.a.example.org.", "*.a.example.org.", "b.example.org.",
		"c.b.example.org.", "*.b.example.org.", "*.example.org.", "x.*.example.org.", "a.c.b.example.org.", "example.net.",
		"a.example.net.", "*.a.example.net.", "b.a.example.net.", "*.example.net.", "a.*.example.net.",
	}
	oracleTargets = append([]string{
		"d.example.org.", "x.a.example.org.", "x.c.b.a.example.org.", "a.a.example.net.", "x.y.example.net.", "elsewhere.test.",
	}, oracleNames...)
	oracleTypes = []uint16{dns.TypeA, dns.TypeTXT, dns.TypeNS, dns.TypeCNAME, dns.TypeDNAME, dns.TypeDS, dns.TypeSOA}
)

// TestZonesByOracle makes Zones and Records at random, changes and compiles them step by step, and asks for names that could matter: the answers
// are those of the oracle.
func TestZonesByOracle(t *testing.T) {
	opt := recordstest.Zones("example.org.", "example.net.")
	opt.ZoneNamespaces = []string{"dns"}
	for i := range opt.Zones {
		opt.Zones[i].Nameservers = nil
	}
	questions := make(map[string]bool)
	for _, name := range slices.Concat(oracleNames, oracleTargets) {
		questions[name] = true
		questions["x."+name], questions["a."+name], questions["y.x."+name] = true, true, true
		questions[strings.Repeat(strings.Repeat("l", 63)+".", 3)+strings.Repeat("m", 44)+"."+name] = true
	}
	names := slices.Sorted(maps.Keys(questions))
	for seed := range recordstest.Seeds(t, 10) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := recordstest.New(t, opt, "cluster c2")
		for step := range 12 {
			for n := 1 + r.IntN(3); n > 0 || step == 0 && n > -20; n-- {
				w.Apply(t, fmt.Sprintf("cluster c%d", 1+r.IntN(2)), oracleChange(r))
			}
			s := w.Step(t)
			o := newOracle(s.Objects(), "example.org.", "example.net.")
			for _, name := range names {
				if _, ok := dns.IsDomainName(name); !ok || o.closest(name) == "" || r.IntN(3) > 0 {
					continue
				}
				for _, qtype := range oracleTypes {
					want, _ := o.ask(name, qtype)
					if got := o.seen(s, name, qtype); got.String() != want.String() {
						t.Fatalf("seed %d step %d, %s %s:\n%s\nwant\n%s\nof\n%s", seed, step, name, dns.TypeToString[qtype], got, want, o)
					}
				}
			}
		}
	}
}

// oracleChange puts, replaces or deletes a Zone or a Record.
func oracleChange(r *rand.Rand) string {
	one := func(from []string) string { return from[r.IntN(len(from))] }
	if r.IntN(4) == 0 {
		name := fmt.Sprintf("dns/z%d", r.IntN(5))
		if r.IntN(4) == 0 {
			return "delete zone " + name
		}
		return fmt.Sprintf("zone %s %s at=%ds ttl=%d minimum=10 delegate=* delegate=dns/*,@/NS,DNAME", name, one(oracleZones), r.IntN(5), 100+r.IntN(3))
	}
	name, at := fmt.Sprintf("dns/r%d", r.IntN(30)), one(oracleNames)
	if r.IntN(6) == 0 {
		return "delete record " + name
	}
	kinds := []string{"A", "A", "TXT", "CNAME", "NS", "DNAME", "DS"}
	if strings.HasPrefix(at, rdata.Wildcard) {
		kinds = kinds[:4] // RFC 4592 §4 leaves the others at a wildcard open
	}
	line := fmt.Sprintf("record %s %s at=%ds", name, at, r.IntN(5))
	if r.IntN(3) == 0 {
		line += fmt.Sprintf(" ttl=%d", r.IntN(50))
	}
	switch rtype := one(kinds); rtype {
	case "A":
		return fmt.Sprintf("%s A 192.0.2.%d", line, 1+r.IntN(3))
	case "TXT":
		return fmt.Sprintf("%s TXT \"%d\"", line, r.IntN(2))
	case "DS":
		return fmt.Sprintf("%s DS %d 13 2 %s", line, r.IntN(2), strings.Repeat("AB", 32))
	default:
		return line + " " + rtype + " " + one(oracleTargets)
	}
}
