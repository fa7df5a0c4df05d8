package records

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

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

// TestZonesByOracle makes Zones and Records at random, changes and compiles them step by
// step, and asks for names that could matter: the answers are those of the oracle, and
// the zones those that are compiled from nothing (rule 6.7).
func TestZonesByOracle(t *testing.T) {
	oneGoroutine(t)
	opt := &Options{Zones: []ZoneOptions{
		{Origin: "example.org.", TTL: DefaultTTL, LoadBalancedTTL: DefaultLoadBalancedTTL},
		{Origin: "example.net.", TTL: DefaultTTL, LoadBalancedTTL: DefaultLoadBalancedTTL},
	}, ZoneNamespaces: []string{"dns"}}
	questions := make(map[string]bool)
	for _, name := range slices.Concat(oracleNames, oracleTargets) {
		questions[name] = true
		questions["x."+name], questions["a."+name], questions["y.x."+name] = true, true, true
		questions[strings.Repeat(strings.Repeat("l", 63)+".", 3)+strings.Repeat("m", 44)+"."+name] = true
	}
	names := slices.Sorted(maps.Keys(questions))
	for seed := range seeds(t, 40) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := newWorld("c1", "c2")
		for range 10 + r.IntN(20) {
			w.randomRecord(r)
		}
		var snap *Snapshot
		for step := range 12 {
			for range 1 + r.IntN(3) {
				if r.IntN(4) == 0 {
					w.randomZone(r)
				} else {
					w.randomRecord(r)
				}
			}
			in := w.objects()
			snap = Compile(snap, in, opt, testTime)
			whole := Compile(nil, in, opt, testTime)
			if !slices.EqualFunc(snap.Zones(), whole.Zones(), func(a, b *Zone) bool { return a.origin == b.origin && a.hash == b.hash && a.Names() == b.Names() }) {
				t.Fatalf("seed %d step %d: compiled step by step, the zones are not those compiled from nothing", seed, step)
			}
			o := newOracle(in, "example.org.", "example.net.")
			for _, name := range names {
				if _, ok := dns.IsDomainName(name); !ok || o.closest(name) == "" || r.IntN(3) > 0 {
					continue
				}
				for _, qtype := range oracleTypes {
					want, _ := o.ask(name, qtype)
					if got := o.seen(snap, name, qtype); got.String() != want.String() {
						t.Fatalf("seed %d step %d, %s %s:\n%s\nwant\n%s\nof\n%s", seed, step, name, dns.TypeToString[qtype], got, want, o)
					}
				}
			}
		}
	}
}

// everything is a delegation that allows all.
var everything = []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}

// randomZone puts, replaces or deletes a Zone.
func (w *world) randomZone(r *rand.Rand) {
	name, cluster := fmt.Sprintf("dns/z%d", r.IntN(5)), r.IntN(2)
	if r.IntN(4) == 0 {
		w.setZone(cluster, name, nil)
		return
	}
	w.setZone(cluster, name, &api.Zone{
		Meta:       api.Meta{Created: int64(r.IntN(5))},
		DomainName: pick(r, oracleZones), Delegations: everything, TTL: uint32(100 + r.IntN(3)), Minimum: 10,
	})
}

// randomRecord puts, replaces or deletes a Record.
func (w *world) randomRecord(r *rand.Rand) {
	name, cluster := fmt.Sprintf("dns/r%d", r.IntN(30)), r.IntN(2)
	if r.IntN(6) == 0 {
		w.setRecord(cluster, name, nil)
		return
	}
	rec := &api.Record{Meta: api.Meta{Created: int64(r.IntN(5))}, DomainName: pick(r, oracleNames), Class: "IN", TTL: api.NoTTL}
	if r.IntN(3) == 0 {
		rec.TTL = int64(r.IntN(50))
	}
	kinds := []string{"A", "A", "TXT", "CNAME", "NS", "DNAME", "DS"}
	if strings.HasPrefix(rec.DomainName, rdata.Wildcard) {
		kinds = kinds[:4] // RFC 4592 §4 leaves the others at a wildcard open
	}
	rec.Type = pick(r, kinds)
	switch rec.Type {
	case "A":
		rec.RData = fmt.Sprintf("192.0.2.%d", 1+r.IntN(3))
	case "TXT":
		rec.RData = fmt.Sprintf("%q", fmt.Sprint(r.IntN(2)))
	case "DS":
		rec.RData = fmt.Sprintf("%d 13 2 %s", r.IntN(2), strings.Repeat("AB", 32))
	default:
		rec.RData = pick(r, oracleTargets)
	}
	w.setRecord(cluster, name, rec)
}
