package records

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// contentOf returns what a transfer has of a zone, by the text of its records. A record
// that it has twice is an error.
func contentOf(t *testing.T, z *Zone) map[string]bool {
	t.Helper()
	content := make(map[string]bool)
	for set := range z.Transfer() {
		for _, rr := range set {
			if content[rr.String()] || !rdata.IsSubdomain(z.origin, rr.Header().Name) || rr.Header().Rrtype == dns.TypeSOA || rr.Header().Rrtype != set[0].Header().Rrtype {
				t.Fatalf("zone %s has %s, twice or out of place", z.origin, rr)
			}
			content[rr.String()] = true
		}
	}
	return content
}

// apply changes a copy of content as deltas say, which must fit it exactly.
func apply(t *testing.T, content map[string]bool, deltas []*Delta) map[string]bool {
	t.Helper()
	content = maps.Clone(content)
	for _, d := range deltas {
		for _, rr := range d.Removed {
			if !content[rr.String()] {
				t.Fatalf("from %d to %d: %s is removed, and was not there", d.Old.Serial, d.New.Serial, rr)
			}
			delete(content, rr.String())
		}
		for _, rr := range d.Added {
			if content[rr.String()] {
				t.Fatalf("from %d to %d: %s is added, and was there", d.Old.Serial, d.New.Serial, rr)
			}
			content[rr.String()] = true
		}
	}
	return content
}

// published is what was served of each zone, by origin and serial: one content, unless two
// compilers were at work.
type published map[string]map[uint32][]seenZone

type seenZone struct {
	soa     string
	content map[string]bool
}

// note takes down what s has. With one compiler, one serial never means two things.
func (p published) note(t *testing.T, s *Snapshot, compilers int) {
	t.Helper()
	for _, z := range s.zones {
		if p[z.origin] == nil {
			p[z.origin] = make(map[uint32][]seenZone)
		}
		now := seenZone{z.SOA().String(), contentOf(t, z)}
		was := p[z.origin][z.serial]
		if slices.ContainsFunc(was, func(s seenZone) bool { return s.soa == now.soa && maps.Equal(s.content, now.content) }) {
			continue
		}
		if len(was) == compilers {
			t.Fatalf("zone %s, serial %d: %v, and now %v", z.origin, z.serial, was, now)
		}
		p[z.origin][z.serial] = append(was, now)
	}
}

// check has every journal of s lead from each generation that it knows to the present
// one, and counts the steps.
func (p published) check(t *testing.T, s *Snapshot) (steps int) {
	t.Helper()
	for _, z := range s.zones {
		if n := z.journal; len(n.deltas) > maxGenerations || n.records > maxJournalRecords {
			t.Fatalf("zone %s: a journal of %d generations with %d records", z.origin, len(n.deltas), n.records)
		}
		for serial, all := range p[z.origin] {
			deltas, ok := z.Since(serial)
			if !ok {
				continue
			}
			for _, was := range all {
				was.checkWay(t, z, deltas)
				steps += len(deltas)
			}
		}
	}
	return steps
}

// checkWay checks that deltas lead from one generation of a zone to the present one.
func (s seenZone) checkWay(t *testing.T, z *Zone, deltas []*Delta) {
	t.Helper()
	soa := s.soa
	for _, d := range deltas {
		if d.Old.String() != soa || d.Old.Serial == d.New.Serial {
			t.Fatalf("zone %s from %s: a step from %s after %s", z.origin, s.soa, d.Old, soa)
		}
		soa = d.New.String()
	}
	if soa != z.SOA().String() {
		t.Fatalf("zone %s from %s leads to %s, and not to %s", z.origin, s.soa, soa, z.SOA())
	}
	if got, want := apply(t, s.content, deltas), contentOf(t, z); !maps.Equal(got, want) {
		t.Fatalf("zone %s from %s:\n%v\nwant\n%v", z.origin, s.soa, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// checkReach checks that each zone of after that was served knows the way from there.
func checkReach(t *testing.T, before, after *Snapshot) {
	t.Helper()
	for _, z := range after.zones {
		i, ok := before.zoneSet.index[z.origin]
		if !ok {
			continue
		}
		if _, ok := z.Since(before.zones[i].serial); !ok {
			t.Fatalf("zone %s does not know the way from %d to %d", z.origin, before.zones[i].serial, z.serial)
		}
	}
}

func worldOptions(seed uint64) *Options {
	return &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: seed%2 == 0},
	}, ProbeAllow: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/31")}}
}

// oneZone returns a world with one Zone, example.com, in which Records may be put.
func oneZone(t *testing.T) (*world, *Options) {
	t.Helper()
	w := newWorld("c1")
	w.setZone(0, "dns/z", &api.Zone{
		DomainName: "example.com.", TTL: 300, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4,
		Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
	})
	return w, &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns.example.net."}}}}}
}

func (w *world) put(name, owner, rtype, data string) {
	w.setRecord(0, "dns/"+name, &api.Record{DomainName: owner, Parent: "dns/z", Type: rtype, Class: "IN", RData: data, TTL: api.NoTTL})
}

// TestJournalBounds has more generations than a journal keeps, and generations larger
// than one.
func TestJournalBounds(t *testing.T) {
	w, opt := oneZone(t)
	snap := Compile(nil, w.objects(), opt, testTime)
	p := make(published)
	step := func() *Zone {
		snap = Compile(snap, w.objects(), opt, testTime)
		p.note(t, snap, 1)
		return snap.zones[0]
	}
	var z *Zone
	for i := range 150 {
		w.put("a", "a", "A", fmt.Sprintf("192.0.2.%d", i))
		z = step()
	}
	p.check(t, snap)
	if n := len(z.journal.deltas); n != maxGenerations {
		t.Errorf("%d generations are kept", n)
	}
	if _, ok := z.Since(z.serial - maxGenerations - 1); ok {
		t.Error("a generation beyond the bound is known")
	}
	if d, ok := z.Since(z.serial - maxGenerations); !ok || len(d) != maxGenerations {
		t.Errorf("the last generation within the bound: %v, %d steps", ok, len(d))
	}
	// Each of these adds more than a third of what a journal holds.
	const perHost = maxParts
	for i := range 4 {
		w.putHosts(fmt.Sprintf("g%d-", i), 14)
		z = step()
	}
	if n, records := len(z.journal.deltas), z.journal.records; n != 2 || records != 2*14*perHost {
		t.Errorf("%d generations with %d records are kept", n, records)
	}
	w.putHosts("x", maxJournalRecords/perHost+1)
	if z = step(); len(z.journal.deltas) > 0 {
		t.Errorf("%d generations are kept after one that is larger than a journal", len(z.journal.deltas))
	}
	// Compiled anew, a difference as large ends the journal too, and a small one does not.
	w.put("a", "a", "A", "198.51.100.1")
	again := *opt
	in := w.objects()
	if z = Compile(snap, in, &again, testTime).zones[0]; len(z.journal.deltas) != 1 || z.journal.records != 2 {
		t.Errorf("compiled anew: %d generations with %d records", len(z.journal.deltas), z.journal.records)
	}
	again.Zones = slices.Clone(opt.Zones)
	again.Zones[0].TTL++
	if z = Compile(snap, in, &again, testTime).zones[0]; len(z.journal.deltas) != 0 {
		t.Errorf("all hosts have another TTL: %d generations", len(z.journal.deltas))
	}
}

// putHosts adds n hosts with as many addresses as a Gateway may have.
func (w *world) putHosts(prefix string, n int) {
	var addresses []api.Address
	for i := range maxParts {
		addresses = append(addresses, api.Address{Type: api.IPAddress, Value: fmt.Sprintf("10.0.%d.%d", i>>8, i&255)})
	}
	for i := range n {
		name := fmt.Sprintf("%s%d", prefix, i)
		w.setGateway(0, "dns/"+name, &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: name + ".example.com", AttachedRoutes: 1}}, Addresses: addresses,
		})
		w.setPolicy(0, "dns/"+name, &api.DNSPolicy{Target: api.Target{Name: name}})
	}
}

// TestJournalOfTheSOA: a generation may differ in nothing but its SOA, and what changes
// nothing is none.
func TestJournalOfTheSOA(t *testing.T) {
	w, opt := oneZone(t)
	w.put("a", "a", "A", "192.0.2.1")
	before := Compile(nil, w.objects(), opt, testTime)
	w.setZone(0, "dns/z", &api.Zone{
		DomainName: "example.com.", TTL: 300, Refresh: 9, Retry: 2, Expire: 3, Minimum: 4,
		Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
	})
	after := Compile(before, w.objects(), opt, testTime)
	z := after.zones[0]
	deltas, ok := z.Since(before.zones[0].serial)
	if !ok || len(deltas) != 1 || deltas[0].len() != 0 || deltas[0].New.Refresh != 9 || deltas[0].Old.Refresh != 1 {
		t.Errorf("the step to another SOA: %v, %+v", ok, deltas)
	}
	w.put("b", "b", "A", "nonsense")
	if same := Compile(after, w.objects(), opt, testTime).zones[0]; same.serial != z.serial || same.SOA() != z.SOA() || len(same.journal.deltas) != 1 {
		t.Errorf("a Record that is not served makes serial %d of %d", same.serial, z.serial)
	}
}

// TestJournalOfKept: what a Zone's status keeps of this server's own changes nothing; where
// somebody else has published, the journal begins anew.
func TestJournalOfKept(t *testing.T) {
	w, opt := oneZone(t)
	var snap *Snapshot
	step := func(kept api.Kept) *Zone {
		w.setZone(0, "dns/z", &api.Zone{
			DomainName: "example.com.", TTL: 300, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4, Kept: kept,
			Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
		})
		snap = Compile(snap, w.objects(), opt, testTime)
		return snap.zones[0]
	}
	z := step(api.Kept{})
	first := z.serial
	for i := range 5 {
		w.put("a", "a", "A", fmt.Sprintf("192.0.2.%d", i))
		z = step(api.Kept{Hash: z.Hash(), Serial: z.serial}) // of the generation before
	}
	if deltas, ok := step(api.Kept{Hash: z.Hash(), Serial: z.serial}).Since(first); !ok || len(deltas) != 5 {
		t.Errorf("of its own: %v, %d steps", ok, len(deltas))
	}
	for _, kept := range []api.Kept{{Hash: z.Hash(), Serial: z.serial + 2}, {Hash: "other", Serial: z.serial + 7}} {
		w.put("a", "a", "A", "198.51.100.1")
		step(api.Kept{})
		if z := step(kept); len(z.journal.deltas) != 0 || int32(z.serial-kept.Serial) < 0 {
			t.Errorf("somebody else has published %v: %d steps to %d", kept, len(z.journal.deltas), z.serial)
		}
		w.put("a", "a", "A", "198.51.100.2")
		if z := step(kept); len(z.journal.deltas) != 1 {
			t.Errorf("the journal does not begin anew: %d steps", len(z.journal.deltas))
		}
	}
}

// TestJournalOfOneRRset: of a changed RRset those records are told that differ, and all
// where the TTL does (RFC 2181 §5.2).
func TestJournalOfOneRRset(t *testing.T) {
	w, opt := oneZone(t)
	for i := range 20 {
		w.put(fmt.Sprintf("r%d", i), "a", "A", fmt.Sprintf("192.0.2.%d", i))
	}
	w.put("t", "a", "TXT", "unchanged")
	snap := Compile(nil, w.objects(), opt, testTime)
	step := func() *Delta {
		before := snap.zones[0].serial
		snap = Compile(snap, w.objects(), opt, testTime)
		deltas, ok := snap.zones[0].Since(before)
		if !ok || len(deltas) != 1 {
			t.Fatalf("%v, %d steps", ok, len(deltas))
		}
		return deltas[0]
	}
	w.put("r7", "a", "A", "198.51.100.7")
	if d := step(); len(d.Removed) != 1 || len(d.Added) != 1 || !strings.HasSuffix(d.Removed[0].String(), "192.0.2.7") || !strings.HasSuffix(d.Added[0].String(), "198.51.100.7") {
		t.Errorf("one of twenty changes: %+v", d)
	}
	w.setRecord(0, "dns/r8", &api.Record{DomainName: "a", Parent: "dns/z", Type: "A", Class: "IN", RData: "192.0.2.8", TTL: 5})
	if d := step(); len(d.Removed) != 20 || len(d.Added) != 20 {
		t.Errorf("another TTL removes %d and adds %d", len(d.Removed), len(d.Added))
	}
}

// BenchmarkJournal is what a journal that is full costs one change: to find what differs at
// a name, and to be one generation longer.
func BenchmarkJournal(b *testing.B) {
	w := newWorld("c1")
	opt := worldOptions(1)
	put := func(i int) {
		w.publish("n/g", "h.example.com", &api.DNSPolicy{}, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	put(0)
	before := Compile(nil, w.objects(), opt, testTime)
	for i := range maxGenerations + 1 {
		put(i + 1)
		before = Compile(before, w.objects(), opt, testTime)
	}
	put(1000)
	next := Compile(before, w.objects(), opt, testTime)
	was, is := before.zones[0], next.zones[0]
	if len(was.journal.deltas) != maxGenerations {
		b.Fatalf("the journal has %d generations", len(was.journal.deltas))
	}
	b.ReportAllocs()
	for b.Loop() {
		e := &zoneEdit{zone: was, settled: []string{"h.example.com."}}
		if j := was.journal.with(e.delta(was, is)); j.records != 2*maxGenerations {
			b.Fatalf("%d records", j.records)
		}
	}
}
