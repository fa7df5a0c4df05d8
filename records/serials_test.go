package records_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// numbered is a world with a Zone of example.com, and what a test says is kept of it.
type numbered struct {
	*testing.T
	*recordstest.World
}

const theZone = "zone dns/z example.com. ttl=300 refresh=1 retry=2 expire=3 minimum=4 delegate=*/*,@"

func newNumbered(t *testing.T, more ...string) *numbered {
	return &numbered{t, recordstest.New(t, recordstest.Zones("example.com."), append([]string{theZone}, more...)...)}
}

// compile compiles what lines make of the world, without the comparisons of a Step: what is shown depends on the way.
func (n *numbered) compile(lines ...string) *records.Zone {
	n.Apply(n, lines...)
	n.Snapshot = records.Compile(n.Snapshot, n.Objects(), n.Options, n.Now)
	return n.Snapshot.Zone("example.com.")
}

// change gives the host a another address.
func (n *numbered) change(i int) *records.Zone {
	return n.compile(fmt.Sprintf("record dns/a a in=z A 192.0.%d.%d", i>>8, i&255))
}

// expect checks the serial of SOA records, whether anything is transferred, and what is proposed.
func (n *numbered) expect(what string, serial uint32, transferred bool, proposed uint32) {
	n.Helper()
	z := n.Snapshot.Zone("example.com.")
	p, ok := z.Proposed()
	published := z.PublishedVersion() != nil
	if z.Serial() != serial || z.SOA().Serial != serial || published != transferred || !ok || p.Kept.Serial != proposed || p.Kept.Hash != z.Hash() {
		n.Errorf("%s: serial %d, transferred %v, proposed %+v; want %d, %v, %d", what, z.Serial(), published, p, serial, transferred, proposed)
	}
}

// steps returns how many steps lead from a serial, and how many records they add; -1 where the journal does not reach so far.
func steps(z *records.Zone, serial uint32) (n, added int) {
	deltas, ok := z.Since(serial)
	if !ok {
		return -1, 0
	}
	for _, d := range deltas {
		added += len(d.Added)
	}
	return len(deltas), added
}

// hosts are lines of hosts with as many addresses as a Gateway may have.
func hosts(prefix string, n int) string {
	var addresses []string
	for i := range maxParts {
		addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "gateway dns/%s%d host=%s%d.example.com addr=%s\npolicy dns/%s%d\n", prefix, i, prefix, i, strings.Join(addresses, ","), prefix, i)
	}
	return text.String()
}

// TestJournalHasBounds: a journal has the last 100 generations, and 10,000 records at the most (rule 7.5).
func TestJournalHasBounds(t *testing.T) {
	const generations, most = 100, 10_000
	n := newNumbered(t)
	z := n.change(0)
	for i := range generations + 20 {
		z = n.change(i + 1)
	}
	if a, _ := steps(z, z.Serial()-generations); a != generations {
		t.Errorf("%d steps from the last generation within the bound", a)
	}
	if a, _ := steps(z, z.Serial()-generations-1); a != -1 {
		t.Errorf("%d steps from beyond the bound", a)
	}
	// Each of these adds more than a third of what a journal holds.
	for i := range 4 {
		z = n.compile(hosts(fmt.Sprintf("g%d-", i), 14))
	}
	if a, added := steps(z, z.Serial()-2); a != 2 || added != 2*14*maxParts {
		t.Errorf("%d generations with %d records are kept", a, added)
	}
	if a, _ := steps(z, z.Serial()-3); a != -1 {
		t.Errorf("%d generations are kept, with more records than a journal has", a)
	}
	if z = n.compile(hosts("x", most/maxParts+1)); true {
		if a, _ := steps(z, z.Serial()-1); a != -1 {
			t.Errorf("%d steps of one that is larger than a journal", a)
		}
	}
	// Compiled from nothing, a difference as large ends the journal too, and a small one does not.
	n.Apply(t, "record dns/a a in=z A 198.51.100.1")
	in, opt := n.Objects(), *n.Options
	for ttl, want := range map[uint32]int{60: 1, 61: -1} {
		again := opt
		again.Zones = append([]records.ZoneOptions(nil), opt.Zones...)
		again.Zones[0].TTL = ttl
		if a, _ := steps(records.Compile(n.Snapshot, in, &again, n.Now).Zone("example.com."), z.Serial()); a != want {
			t.Errorf("other options, TTL %d: %d steps, want %d", ttl, a, want)
		}
	}
}

// TestJournalOfSmallChanges: a generation may differ in nothing but its SOA; what is not served makes none; of a changed RRset those
// records are told that differ, and all where the TTL does (RFC 2181 §5.2).
func TestJournalOfSmallChanges(t *testing.T) {
	n := newNumbered(t)
	for i := range 20 {
		n.Apply(t, fmt.Sprintf("record dns/r%d a in=z A 192.0.2.%d", i, i))
	}
	z := n.compile("record dns/t a in=z TXT unchanged")
	for _, c := range []struct {
		what, line   string
		n            int // records that go, and that come; -1 for no step
		goes, arises string
	}{
		{"another SOA", strings.Replace(theZone, "refresh=1", "refresh=9", 1), 0, "", ""},
		{"what is not served", "record dns/b b in=z A nonsense", -1, "", ""},
		{"one of twenty", "record dns/r7 a in=z A 198.51.100.7", 1, "192.0.2.7", "198.51.100.7"},
		{"another TTL", "record dns/r8 a in=z ttl=5 A 192.0.2.8", 20, "", ""},
		{"nothing", "record dns/r8 a in=z ttl=5 A 192.0.2.8", -1, "", ""},
	} {
		before := z.Serial()
		z = n.compile(c.line)
		deltas, ok := z.Since(before)
		if n := len(deltas); !ok || (n == 0) != (c.n < 0) || n > 1 {
			t.Fatalf("%s: %d steps", c.what, n)
		}
		for _, d := range deltas {
			if len(d.Removed) != c.n || len(d.Added) != c.n || c.goes != "" && (!strings.HasSuffix(d.Removed[0].String(), c.goes) || !strings.HasSuffix(d.Added[0].String(), c.arises)) {
				t.Errorf("%s: %v goes and %v comes", c.what, d.Removed, d.Added)
			}
		}
	}
}

// TestJournalOfKept: what a Zone's status keeps of this server's own changes nothing; where somebody else has published, the journal begins anew.
func TestJournalOfKept(t *testing.T) {
	n := newNumbered(t)
	kept := func(hash string, serial uint32) string { return fmt.Sprintf("kept dns/z %s %d", hash, serial) }
	z := n.compile()
	first := z.Serial()
	for i := range 5 {
		is := kept(z.Hash(), z.Serial()) // of the generation before
		n.Apply(t, is)
		z = n.change(i)
	}
	if a, _ := steps(n.compile(kept(z.Hash(), z.Serial())), first); a != 5 {
		t.Errorf("of its own: %d steps", a)
	}
	for _, other := range []string{kept(z.Hash(), z.Serial()+2), kept("other", z.Serial()+7)} {
		before := n.change(100).Serial()
		z = n.compile(other)
		if a, _ := steps(z, before); a != -1 {
			t.Errorf("somebody else has published %s: %d steps to %d", other, a, z.Serial())
		}
		is := z.Serial()
		if a, _ := steps(n.change(101), is); a != 1 {
			t.Errorf("the journal does not begin anew: %d steps", a)
		}
	}
}

// TestPublisher is what is shown of one zone from the first start on (rule 6.7).
func TestPublisher(t *testing.T) {
	n := newNumbered(t, "serial-writer c1")
	kept := func(hash string, serial uint32) *records.Zone {
		return n.compile(fmt.Sprintf("serial example.com. %s %d", hash, serial))
	}
	first := n.change(1).Hash()
	n.expect("the first start ever", 2026030158, false, 2026030166)
	second := n.change(2).Hash()
	n.Now = n.Now.Add(time.Hour)
	n.expect("a change before anything is kept", 2026030158, false, 2026030166)
	z := kept(first, 2026030166)
	n.expect("what was proposed first is kept", 2026030166, true, 2026030167)
	after := api.Kept{Hash: first, Serial: 2026030166}
	if all := n.Snapshot.Proposals(); z.PublishedVersion().Hash() != first || len(all) != 1 || all[0].After != after {
		t.Errorf("%s is shown, %+v proposed", z.PublishedVersion().Hash(), all)
	}
	kept(second, 2026030167)
	n.expect("the newest is kept", 2026030167, true, 2026030167)
	n.Now = n.Now.Add(-48 * time.Hour)
	third := n.change(3).Hash()
	n.expect("a clock two days behind", 2026030167, true, 2026030168)
	kept("somebody-else's", 2026030168)
	n.expect("a content that was never seen here", 2026030167, true, 2026030169)
	kept(third, 2026030163)
	n.expect("an older serial", 2026030167, true, 2026030169)
	kept(third, 2026030168)
	n.expect("a serial that another content has had", 2026030167, true, 2026030169)
	kept(third, 2026030169)
	n.expect("the next one", 2026030169, true, 2026030169)
	if z := n.compile("serial-writer"); z.Serial() != 2026030169 || z.PublishedVersion() != z {
		t.Errorf("without a writer: serial %d", z.Serial())
	}
	if z := n.change(4); z.Serial() != 2026030170 {
		t.Errorf("a change without a writer: serial %d", z.Serial())
	}
	n.compile("serial-writer c1")
	n.expect("a writer again", 2026030170, true, 2026030170)
	n.Apply(t, "cluster c1 Gateway=notlisted")
	if p, ok := n.change(5).Proposed(); ok || len(n.Snapshot.Proposals()) != 0 {
		t.Errorf("what may lack names: %+v is proposed", p)
	}
	if _, ok := n.compile("cluster c1 Gateway=listed").Proposed(); !ok {
		t.Error("nothing is proposed after all was listed")
	}
}

// TestPublisherAtStart: a server that starts shows what is kept where that is what it has; else it transfers nothing, and its SOA records have the
// kept serial.
func TestPublisherAtStart(t *testing.T) {
	n := newNumbered(t, "serial-writer c1")
	hash := n.change(1).Hash()
	for _, c := range []struct {
		what, hash       string
		transferred      bool
		serial, proposed uint32
	}{
		{"the same content", hash, true, 2026022801, 2026022801},
		{"another content", "0123456789abcdef0123456789abcdef", false, 2026022801, 2026030100},
		{"a serial that somebody wrote", "unknown", false, 2026022801, 2026030100},
		{"of today", "unknown", false, 2026030177, 2026030178},
		{"a serial without a hash, of tomorrow", "-", false, 2026030277, 2026030278},
	} {
		n.Snapshot = nil
		n.compile(fmt.Sprintf("serial example.com. %s %d", c.hash, c.serial))
		n.expect(c.what, c.serial, c.transferred, c.proposed)
	}
	for hash, want := range map[string]uint32{hash + " 2026022801": 2026022801, "unknown 2026030177": 2026030178, "- 2026030177": 2026030178} {
		n.Snapshot = nil
		if z := n.compile("serial-writer", "serial example.com. "+hash); z.Serial() != want {
			t.Errorf("nobody keeps serials, and %s is known: %d, want %d", hash, z.Serial(), want)
		}
	}
}

// TestPublisherHasBounds: a writer that is away for long costs no more than 64 versions, and a journal's worth of names; then what it keeps is
// shown, with the changes since.
func TestPublisherHasBounds(t *testing.T) {
	const recent = 64
	n := newNumbered(t, "serial-writer c1")
	kept := func(hash string, serial uint32) *records.Zone {
		return n.compile(fmt.Sprintf("serial example.com. %s %d", hash, serial))
	}
	kept(n.change(0).Hash(), 7)
	var hashes []string
	for i := range 3 * recent {
		n.Apply(t, fmt.Sprintf("record dns/n%d n%d in=z A 192.0.2.1", i, i))
		hashes = append(hashes, n.change(i+1).Hash())
	}
	if z := kept(hashes[2*recent-2], 8); z.Serial() != 7 {
		t.Errorf("a version beyond the bound is shown as %d", z.Serial())
	}
	if z := kept(hashes[2*recent-1], 9); z.Serial() != 9 {
		t.Errorf("the last version within the bound is not shown, but %d", z.Serial())
	}
	z := kept(hashes[len(hashes)-1], 10)
	if a, added := steps(z.PublishedVersion(), 7); a != 2 || added != 3*recent+2 {
		t.Errorf("the way from 7: %d steps which add %d records", a, added)
	}
	var many strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&many, "record dns/m%d m%d in=z A 192.0.2.1\n", i, i)
	}
	before := z.Hash()
	large := n.compile(many.String()).Hash()
	last := n.change(251).Hash()
	if z = kept(before, 11); z.Serial() != 11 {
		t.Errorf("what is shown is kept with another serial, and shown with %d", z.Serial())
	}
	kept(large, 12)
	if a, _ := steps(kept(last, 13).PublishedVersion(), 12); a != 1 {
		t.Errorf("%d steps after one that no journal holds", a)
	}
	if a, _ := steps(n.Snapshot.Zone("example.com.").PublishedVersion(), 11); a != -1 {
		t.Errorf("%d steps from before one that no journal holds", a)
	}
}

// TestPublisherOfZoneBelow: the serial of a zone that a Zone brings is in its status, and its verdict says what that should be; of a zone of the
// Corefile it has what is kept beside.
func TestPublisherOfZoneBelow(t *testing.T) {
	n := newNumbered(t, "serial-writer c1", "zone dns/z example.com. delegate=*", "zone dns/sub sub.example.com. delegate=*")
	n.compile()
	sub := n.Snapshot.Zone("sub.example.com.")
	said := func(name string) api.Kept {
		return n.Snapshot.Verdict("c1", api.Ref{Kind: api.KindZone, Name: "dns/" + name}).Kept
	}
	if want := (api.Kept{Hash: sub.Hash(), Serial: 2026030166}); said("sub") != want || said("z") != (api.Kept{}) || len(n.Snapshot.Proposals()) != 1 {
		t.Errorf("first %+v and %+v", said("sub"), said("z"))
	}
	z := n.compile(fmt.Sprintf("kept dns/sub %s %d", said("sub").Hash, said("sub").Serial), "serial example.com. "+n.Snapshot.Proposals()[0].Kept.Hash+" 5")
	sub = n.Snapshot.Zone("sub.example.com.")
	if sub.Serial() != 2026030166 || sub.PublishedVersion() == nil || said("z") != (api.Kept{Hash: z.Hash(), Serial: 5}) {
		t.Errorf("then %d, and %+v", sub.Serial(), said("z"))
	}
}

// TestPublished: serials go on from what was published before: the same for the same content, a later one for any other, and never one below
// (rule 6.7).
func TestPublished(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n := newNumbered(t, "record dns/a a.example.com. A 192.0.2.1")
	n.Now = noon
	hash, zones := n.compile().Hash(), n.Options.Zones
	for _, c := range []struct {
		what            string
		published, kept api.Kept
		want            uint32
	}{
		{"nothing is known", api.Kept{}, api.Kept{}, 2026112150},
		{"the same content", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{}, 2026112103},
		{"the same content, in the future", api.Kept{Hash: hash, Serial: 2036112103}, api.Kept{}, 2036112103},
		{"other content", api.Kept{Hash: "other", Serial: 2026112103}, api.Kept{}, 2026112104},
		{"other content of yesterday", api.Kept{Hash: "other", Serial: 2026112003}, api.Kept{}, 2026112100},
		{"content that is not known", api.Kept{Serial: 2026112170}, api.Kept{}, 2026112171},
		{"content that is not known, of the morning", api.Kept{Serial: 2026112110}, api.Kept{}, 2026112150},
		{"the last serial there is", api.Kept{Serial: 1<<32 - 1}, api.Kept{}, 2026112150},
		{"the status knows a later one", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: hash, Serial: 2026112105}, 2026112105},
		{"the status knows an earlier one", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: hash, Serial: 2026112101}, 2026112103},
		{"the status knows a later one of other content", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: "other", Serial: 2026112105}, 2026112106},
	} {
		status := "kept dns/z - 0"
		if c.kept.Hash != "" {
			status = fmt.Sprintf("kept dns/z %s %d", c.kept.Hash, c.kept.Serial)
		}
		n.Snapshot, n.Options = nil, &records.Options{Zones: zones, Published: map[string]api.Kept{"example.com.": c.published, "gone.": {Hash: "x", Serial: 5}}}
		first := n.compile(status, "record dns/a a.example.com. A 192.0.2.1")
		if got := maps.Collect(n.Snapshot.Published()); first.Serial() != c.want || len(got) != 2 || got["example.com."] != (api.Kept{Hash: hash, Serial: c.want}) || got["gone."].Serial != 5 {
			t.Errorf("%s: serial %d, want %d; published %v", c.what, first.Serial(), c.want, got)
		}
		second := n.compile("record dns/a a.example.com. A 192.0.2.2").Serial()
		third := n.compile("record dns/a a.example.com. A 192.0.2.1").Serial()
		if int32(second-c.want) <= 0 || int32(third-second) <= 0 {
			t.Errorf("%s: after serial %d come %d and %d", c.what, c.want, second, third)
		}
	}
	// A zone that comes later goes on from its own, and one that went is yielded.
	w := recordstest.New(t, recordstest.Zones("org."))
	w.Options.Published = map[string]api.Kept{"example.org.": {Serial: 2026112157}}
	for _, c := range []struct {
		line string
		want uint32
		hash bool
	}{{"zone dns/y example.org.", 2026112158, true}, {"delete zone dns/y", 2026112158, false}} {
		w.Apply(t, c.line)
		w.Snapshot = records.Compile(w.Snapshot, w.Objects(), w.Options, noon)
		if got := maps.Collect(w.Snapshot.Published())["example.org."]; got.Serial != c.want || (got.Hash != "") != c.hash {
			t.Errorf("%s: %v", c.line, got)
		}
	}
}

// TestZoneComesBack: a zone that was not served for a while goes on from its last serial (rule 6.7), and the snapshots between keep it.
func TestZoneComesBack(t *testing.T) {
	n := newNumbered(t)
	for i := range 150 {
		n.change(i)
	}
	for i := range 2 {
		last, served := n.Snapshot.Zone("example.com.").Serial(), n.Options
		n.Options = recordstest.Zones("example.org.")
		for i := range 3 {
			n.compile(fmt.Sprintf("gateway n/b host=a.example.org addr=192.0.2.%d\npolicy n/b", i))
		}
		if n.Options = served; n.compile().Serial() != last+1 {
			t.Errorf("away %d times: serial %d after %d", i+1, n.Snapshot.Zone("example.com.").Serial(), last)
		}
	}
}
