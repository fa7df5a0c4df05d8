package records

import (
	"fmt"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// gated is a zone of the Corefile, of which a test says what is kept.
type gated struct {
	t    *testing.T
	w    *world
	opt  *Options
	snap *Snapshot
	now  time.Time
}

func newGated(t *testing.T) *gated {
	w, opt := oneZone(t)
	w.keep(true)
	return &gated{t: t, w: w, opt: opt, now: testTime}
}

func (g *gated) keep(hash string, serial uint32) {
	edit := g.w.serials.Edit()
	edit.Set("example.com.", api.Kept{Hash: hash, Serial: serial})
	g.w.serials, g.w.serialsChanged = edit.Map(), []string{"example.com."}
}

func (g *gated) compile() *Zone {
	g.snap = Compile(g.snap, g.w.objects(), g.opt, g.now)
	return g.snap.zones[0]
}

// change gives a host another address.
func (g *gated) change(i int) *Zone {
	g.w.put("a", "a", "A", fmt.Sprintf("192.0.2.%d", i))
	return g.compile()
}

// expect checks the serial of SOA records, whether anything is transferred, and what is
// proposed.
func (g *gated) expect(what string, serial uint32, transferred bool, proposed uint32) {
	g.t.Helper()
	z := g.snap.zones[0]
	p, ok := z.Proposed()
	if z.serial != serial || z.SOA().Serial != serial || (z.Shown() != nil) != transferred || !ok || p.Kept.Serial != proposed || p.Kept.Hash != z.Hash() {
		g.t.Errorf("%s: serial %d, transferred %v, proposed %+v; want %d, %v, %d", what, z.serial, z.Shown() != nil, p, serial, transferred, proposed)
	}
}

// TestGate is what is shown of one zone from the first start on (rule 6.7).
func TestGate(t *testing.T) {
	g := newGated(t)
	first := g.change(1).Hash()
	g.expect("the first start ever", 2026030158, false, 2026030166)
	second := g.change(2).Hash()
	g.now = g.now.Add(time.Hour)
	g.expect("a change before anything is kept", 2026030158, false, 2026030166)
	g.keep(first, 2026030166)
	g.compile()
	g.expect("what was proposed first is kept", 2026030166, true, 2026030167)
	if z := g.snap.zones[0]; z.Shown().Hash() != first || len(g.snap.Proposals()) != 1 || g.snap.Proposals()[0].After != (api.Kept{Hash: first, Serial: 2026030166}) {
		t.Errorf("%s is shown, %+v proposed", z.Shown().Hash(), g.snap.Proposals())
	}
	g.keep(second, 2026030167)
	g.compile()
	g.expect("the newest is kept", 2026030167, true, 2026030167)
	g.now = g.now.Add(-48 * time.Hour)
	third := g.change(3).Hash()
	g.expect("a clock two days behind", 2026030167, true, 2026030168)
	g.keep("somebody else's", 2026030168)
	g.compile()
	g.expect("a content that was never seen here", 2026030167, true, 2026030169)
	g.keep(third, 2026030163)
	g.compile()
	g.expect("an older serial", 2026030167, true, 2026030169)
	g.keep(third, 2026030168)
	g.compile()
	g.expect("a serial that another content has had", 2026030167, true, 2026030169)
	g.keep(third, 2026030169)
	g.compile()
	g.expect("the next one", 2026030169, true, 2026030169)
	g.w.keep(false)
	g.compile()
	if z := g.snap.zones[0]; z.serial != 2026030169 || z.Shown() != z {
		t.Errorf("without a writer: serial %d", z.serial)
	}
	if z := g.change(4); z.serial != 2026030170 {
		t.Errorf("a change without a writer: serial %d", z.serial)
	}
	g.w.keep(true)
	g.compile()
	g.expect("a writer again", 2026030170, true, 2026030170)
}

// TestGateAtStart: a server that starts shows what is kept where that is what it has; else it
// transfers nothing, and its SOA records have the kept serial.
func TestGateAtStart(t *testing.T) {
	g := newGated(t)
	hash := g.change(1).Hash()
	for _, c := range []struct {
		what, hash       string
		transferred      bool
		serial, proposed uint32
	}{
		{"the same content", hash, true, 2026022801, 2026022801},
		{"another content", "0123456789abcdef0123456789abcdef", false, 2026022801, 2026030100},
		{"a serial that somebody wrote", "unknown", false, 2026022801, 2026030100},
		{"of today", "unknown", false, 2026030177, 2026030178},
		{"a serial without a hash, of tomorrow", "", false, 2026030277, 2026030278},
	} {
		g.snap = nil
		g.keep(c.hash, c.serial)
		g.compile()
		g.expect(c.what, c.serial, c.transferred, c.proposed)
	}
	g.snap = nil
	g.w.keep(false)
	g.keep(hash, 2026022801)
	if z := g.compile(); z.serial != 2026022801 {
		t.Errorf("nobody keeps serials, and that of the same content is known: %d", z.serial)
	}
	g.snap = nil
	for _, hash := range []string{"unknown", ""} {
		g.snap = nil
		g.keep(hash, 2026030177)
		if z := g.compile(); z.serial != 2026030178 {
			t.Errorf("nobody keeps serials, and that of the content %q is known: %d", hash, z.serial)
		}
	}
}

// TestGateIsBounded: a writer that is away for long costs no more than some versions, and a
// journal's worth of names; then what it keeps is shown, with the changes since.
func TestGateIsBounded(t *testing.T) {
	g := newGated(t)
	first := g.change(0)
	g.keep(first.Hash(), 7)
	g.compile()
	for i := range 3 * maxRecent {
		g.change(i % 250)
		g.w.put(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), "A", "192.0.2.1")
	}
	z := g.compile()
	if n := len(z.gate.recent); n != maxRecent || z.gate.shown.gate != nil || z.gate.recent[0].gate != nil {
		t.Errorf("%d versions are held", n)
	}
	g.keep(z.Hash(), 8)
	z = g.compile()
	if deltas, ok := z.Shown().Since(7); !ok || len(deltas) != 1 || len(deltas[0].Added) != 3*maxRecent+1 {
		t.Errorf("the way from 7: %v, %d steps", ok, len(deltas))
	}
	for i := range maxRecentNames + 1 {
		g.w.put(fmt.Sprintf("m%d", i), fmt.Sprintf("m%d", i), "A", "192.0.2.1")
	}
	g.compile()
	if z = g.change(251); len(z.gate.recent) != 1 || z.gate.blind == 0 || z.gate.changed.Len() != 1 {
		t.Errorf("a change of %d names: %d versions are held, %d names", maxRecentNames, len(z.gate.recent), z.gate.changed.Len())
	}
	g.keep(z.gate.recent[0].Hash(), 9)
	g.compile()
	g.keep(z.Hash(), 10)
	if z = g.compile(); len(z.Shown().journal.deltas) != 1 || z.gate.blind != 0 {
		t.Errorf("%d steps after one that no journal holds", len(z.Shown().journal.deltas))
	}
}

// TestGateBeforeAllIsListed: what may lack names is not proposed, and the status of its Zone
// stays as it is, until all is listed.
func TestGateBeforeAllIsListed(t *testing.T) {
	g := newGated(t)
	g.w.clusters[0].Listings[api.KindGateway] = api.NotListed
	if p, ok := g.change(1).Proposed(); ok || len(g.snap.Proposals()) != 0 {
		t.Errorf("%+v is proposed", p)
	}
	g.w.clusters[0].Listings[api.KindGateway] = api.Listed
	if _, ok := g.compile().Proposed(); !ok {
		t.Error("nothing is proposed after all was listed")
	}
}

// TestGateOfZoneBelow: the serial of a zone that a Zone brings is in its status, and its
// verdict says what that should be; of a zone of the Corefile it has what is kept beside.
func TestGateOfZoneBelow(t *testing.T) {
	g := newGated(t)
	all := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	put := func(name, domain string, kept api.Kept) {
		g.w.setZone(0, "dns/"+name, &api.Zone{DomainName: domain, TTL: 300, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4, Delegations: all, Kept: kept})
	}
	put("z", "example.com.", api.Kept{})
	put("sub", "sub.example.com.", api.Kept{})
	g.compile()
	sub := g.snap.Zone("sub.example.com.")
	said := func(name string) api.Kept {
		return g.snap.Verdict("c1", api.Ref{Kind: api.KindZone, Name: "dns/" + name}).Kept
	}
	if want := (api.Kept{Hash: sub.Hash(), Serial: 2026030166}); said("sub") != want || said("z") != (api.Kept{}) || len(g.snap.Proposals()) != 1 {
		t.Errorf("first %+v and %+v", said("sub"), said("z"))
	}
	put("sub", "sub.example.com.", said("sub"))
	g.keep(g.snap.Proposals()[0].Kept.Hash, 5)
	g.compile()
	if z := g.snap.Zone("sub.example.com."); z.serial != 2026030166 || z.Shown() == nil || said("z") != (api.Kept{Hash: g.snap.zones[0].Hash(), Serial: 5}) {
		t.Errorf("then %d, and %+v", z.serial, said("z"))
	}
}
