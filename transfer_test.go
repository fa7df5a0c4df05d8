package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/plugin/transfer"
	_ "github.com/coredns/coredns/plugin/transfer"
	_ "github.com/coredns/coredns/plugin/tsig"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

const toAll = "transfer {\nto *\n}"

// TestTransfer has whole zones transferred: one of the Corefile, and one that a Zone object brings
// below it while the server runs; and what is not transferred.
func TestTransfer(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.Fill()
	snap := s.compile()
	soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
	if want := contentOf(t, snap.Zone("example.org.")); !maps.Equal(got, want) || len(got) != 9 {
		t.Errorf("transferred:\n%v\nwant\n%v", got, want)
	}
	if served := exchange(t, s.addr, "example.org.", dns.TypeSOA).Answer[0]; served.String() != soa.String() {
		t.Errorf("transferred with %s, served is %s", soa, served)
	}

	s.Zone("sub.example.org.")
	s.Record("sub-ns", "sub.example.org.", "NS", "ns1.sub.example.org.")
	s.Record("sub-glue", "ns1.sub.example.org.", "A", "192.0.2.10")
	s.Record("sub-www", "www.sub.example.org.", "A", "192.0.2.11")
	s.compile()
	_, below := wholeZone(t, xfr(t, s.addr, axfrOf("SUB.Example.org."), nil))
	if len(below) != 3 {
		t.Errorf("the zone below has %v", below)
	}
	_, above := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
	for line := range above {
		if strings.HasPrefix(line, "www.sub.") || strings.Contains(line, "sub.example.org.") && strings.Contains(line, "SOA") {
			t.Errorf("the zone above has %s", line) // rule 6.6
		}
	}
	if len(above) != 11 {
		t.Errorf("the zone above has %d records: %v", len(above), above)
	}

	for _, c := range []struct{ net, name string }{{"tcp", "www.example.org."}, {"tcp", "no.example.org."}, {"udp", "example.org."}} {
		m, _, err := boottest.Client(c.net).Exchange(axfrOf(c.name), s.addr)
		if err != nil || m.Rcode != dns.RcodeRefused || len(m.Answer) > 0 {
			t.Errorf("AXFR of %s over %s: %v, %v", c.name, c.net, err, m)
		}
	}
}

// TestTransferTo: whom the transfer plugin does not name gets nothing.
func TestTransferTo(t *testing.T) {
	s := serveZones(t, "transfer {\nto 192.0.2.1\n}", "")
	s.Fill()
	s.compile()
	m, _, err := boottest.Client("tcp").Exchange(axfrOf("example.org."), s.addr)
	if err != nil || m.Rcode != dns.RcodeRefused {
		t.Errorf("AXFR: %v, %v", err, m)
	}
}

// TestIncrementalTransfer asks with serials that are equal, newer, in the journal
// and unknown; and those that no order is defined with (RFC 1982 §3.2).
func TestIncrementalTransfer(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.Fill()
	contents := make(map[uint32]map[string]bool)
	var serials []uint32
	step := func() {
		z := s.compile().Zone("example.org.")
		contents[z.Serial()], serials = contentOf(t, z), append(serials, z.Serial())
	}
	step()
	for i := range 120 {
		s.Record("www-a", "www.example.org.", "A", fmt.Sprintf("198.51.100.%d", i))
		if i%2 == 0 {
			s.Record("new", "new.example.org.", "TXT", fmt.Sprint(i))
		} else {
			s.Record("new", "new.example.org.", "TXT", "")
		}
		step()
	}
	now := serials[len(serials)-1]
	for back, serial := range map[int]uint32{0: now, 1: now + 1, 2: now + 1<<31 - 1} {
		if got := xfr(t, s.addr, ixfrOf("example.org.", serial), nil).RRs; len(got) != 1 || got[0].(*dns.SOA).Serial != now {
			t.Errorf("%d: IXFR from %d, at %d: %v", back, serial, now, got)
		}
	}
	for _, back := range []int{1, 2, 50, 100} {
		from := serials[len(serials)-1-back]
		got := xfr(t, s.addr, ixfrOf("example.org.", from), nil)
		content := applyIXFR(t, contents[from], got.RRs, from, back)
		if !maps.Equal(content, contents[now]) {
			t.Errorf("from %d steps back: %v\nwant %v", back, content, contents[now])
		}
	}
	for _, serial := range []uint32{serials[len(serials)-102], serials[0], serials[0] - 1, 1, now + 1<<31, 0} {
		soa, got := wholeZone(t, xfr(t, s.addr, ixfrOf("example.org.", serial), nil))
		if soa.Serial != now || !maps.Equal(got, contents[now]) {
			t.Errorf("IXFR from the unknown %d, at %d: %v", serial, soa.Serial, got)
		}
	}
}

// TestTransferIsOneGeneration: what is transferred while the zone changes all
// the time is what was published under its serial. Each zone takes several messages.
func TestTransferIsOneGeneration(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.Fill()
	for i := range 3000 {
		s.Record(fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	}
	var mu sync.Mutex
	contents := make(map[uint32]map[string]bool)
	publish := func() {
		// What is about to be published is known before anybody can ask for it.
		snap := records.Compile(s.engine.Snapshot(), api.Objects{Clusters: []*api.Cluster{s.Published()}}, s.engine.Options(), s.engine.Now())
		z := snap.Zone("example.org.")
		content := contentOf(t, z)
		mu.Lock()
		contents[z.Serial()] = content
		mu.Unlock()
		s.engine.Publish(snap)
	}
	publish()
	done := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			for j := range 5 {
				s.Record(fmt.Sprintf("r%d", (i*5+j)*7%3000), fmt.Sprintf("r%d.example.org.", (i*5+j)*7%3000), "A", fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255))
			}
			publish()
		}
	})
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for range 8 {
				got := xfr(t, s.addr, axfrOf("example.org."), nil)
				soa, content := wholeZone(t, got)
				mu.Lock()
				want := contents[soa.Serial]
				mu.Unlock()
				if want == nil || !maps.Equal(content, want) || got.Messages < 2 {
					t.Errorf("serial %d, in %d messages: %d records, published were %d", soa.Serial, got.Messages, len(content), len(want))
				}
				mu.Lock()
				old := contents[soa.Serial]
				mu.Unlock()
				inc := xfr(t, s.addr, ixfrOf("example.org.", soa.Serial), nil).RRs
				if next := inc[0].(*dns.SOA).Serial; len(inc) > 1 && inc[1].Header().Rrtype == dns.TypeSOA {
					mu.Lock()
					want = contents[next]
					mu.Unlock()
					if got := applyIXFR(t, old, inc, soa.Serial, int(next-soa.Serial)); !maps.Equal(got, want) {
						t.Errorf("the way from %d to %d leads elsewhere", soa.Serial, next)
					}
				}
			}
		})
	}
	clients.Wait()
	close(done)
	changes.Wait()
}

// TestTransferTSIG: with the tsig plugin, an unsigned request is refused, and
// every message of a signed one's answer is signed.
func TestTransferTSIG(t *testing.T) {
	const key, secret = "transfer.example.net.", "NoTCJU+DMqFWywaPyxSijrDEA/eC3nK0xi3AMEZuPVk="
	s := serveZones(t, toAll+"\ntsig {\nsecret "+key+" "+secret+"\nrequire AXFR IXFR\n}", "")
	s.Fill()
	for i := range 3000 {
		s.Record(fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	}
	// About the largest record that is served: a message with it has room for a signature.
	s.Record("large", "large.example.org.", "TXT", strings.Repeat(`"`+strings.Repeat("x", 255)+`" `, 252))
	want := s.compile().Zone("example.org.")
	s.Record("www-a", "www.example.org.", "A", "198.51.100.1")
	before := want.Serial()
	want = s.compile().Zone("example.org.")
	for _, q := range []*dns.Msg{axfrOf("example.org."), ixfrOf("example.org.", before)} {
		m, _, err := boottest.Client("tcp").Exchange(q, s.addr)
		if err != nil || m.Rcode != dns.RcodeRefused || len(m.Answer) > 0 {
			t.Errorf("unsigned: %v, %v", err, m)
		}
	}
	signed := func(q *dns.Msg) *dns.Msg { return q.SetTsig(key, dns.HmacSHA256, 300, time.Now().Unix()) }
	keys := map[string]string{key: secret}
	got := xfr(t, s.addr, signed(axfrOf("example.org.")), keys)
	if _, content := wholeZone(t, got); !maps.Equal(content, contentOf(t, want)) || len(content) != 3010 || got.Messages < 2 {
		t.Errorf("signed: %d records in %d messages", len(content), got.Messages)
	}
	if got := xfr(t, s.addr, signed(ixfrOf("example.org.", before)), keys).RRs; len(got) != 6 {
		t.Errorf("signed, incremental: %v", got)
	}
	// The client takes only signatures that are right; here they are counted.
	conn := sendSigned(t, s.addr, signed(axfrOf("example.org.")), keys)
	for soas := 0; soas < 2; {
		m := readUnchecked(t, conn)
		if m.IsTsig() == nil {
			t.Fatalf("a message with %d records is not signed", len(m.Answer))
		}
		for _, rr := range m.Answer {
			if rr.Header().Rrtype == dns.TypeSOA {
				soas++
			}
		}
	}
	const other, wrong = "other.example.net.", "d3JvbmcgdHJhbnNmZXIgc2VjcmV0IG9mIDMyIG9jdGU="
	for _, c := range []struct {
		what, key string
		at        int64
		code      uint16
	}{
		{"another secret", key, time.Now().Unix(), dns.RcodeBadSig},
		{"a key that is not known", other, time.Now().Unix(), dns.RcodeBadKey},
		{"a clock that is an hour late", key, time.Now().Unix() - 3600, dns.RcodeBadTime},
	} {
		secrets := map[string]string{key: wrong, other: wrong}
		if c.code == dns.RcodeBadTime {
			secrets = keys // RFC 8945 §5.2.3: the signature is looked at first
		}
		for _, q := range []*dns.Msg{axfrOf("example.org."), ixfrOf("example.org.", before)} {
			m := readUnchecked(t, sendSigned(t, s.addr, q.SetTsig(c.key, dns.HmacSHA256, 300, c.at), secrets))
			if m.Rcode != dns.RcodeNotAuth || m.IsTsig() == nil || m.IsTsig().Error != c.code || len(m.Answer) > 0 {
				t.Errorf("signed with %s: %v", c.what, m)
			}
		}
	}
}

// sendSigned sends a message over a connection of its own, signed with the secrets.
func sendSigned(t *testing.T, addr string, m *dns.Msg, secrets map[string]string) *dns.Conn {
	t.Helper()
	conn, err := boottest.Client("tcp").Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	conn.TsigSecret = secrets
	if err := conn.WriteMsg(m); err != nil {
		t.Fatal(err)
	}
	return conn
}

// readUnchecked reads the next message, however it is signed.
func readUnchecked(t *testing.T, conn *dns.Conn) *dns.Msg {
	t.Helper()
	data, err := conn.ReadMsgHeader(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := new(dns.Msg)
	if err := m.Unpack(data); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTransferWhatIsKnown is rule 7.4: a zone that may lack names is not transferred, and
// whose zone it is counts.
func TestTransferWhatIsKnown(t *testing.T) {
	unlisted := oneHost(t)
	unlisted.Listings[api.KindGateway] = api.NotListed
	for _, c := range []struct {
		name string
		k    *Kuadrant
		zone string
		err  error
	}{
		{"before anything was read", newPlugin(t, "kuadrant example.com", ""), "example.com.", errNothingKnown},
		{"before anything was read, elsewhere", newPlugin(t, "kuadrant example.com", ""), "example.net.", transfer.ErrNotAuthoritative},
		{"a kind is not listed", newPlugin(t, "kuadrant example.com", "", unlisted), "example.com.", errNotListed},
		{"all is listed", newPlugin(t, "kuadrant example.com", "", oneHost(t)), "example.com.", nil},
		{"a name in the zone", newPlugin(t, "kuadrant example.com", "", oneHost(t)), "shop.example.com.", transfer.ErrNotAuthoritative},
		{"elsewhere", newPlugin(t, "kuadrant example.com", "", oneHost(t)), "example.net.", transfer.ErrNotAuthoritative},
		{"above", newPlugin(t, "kuadrant example.com", "", oneHost(t)), "com.", transfer.ErrNotAuthoritative},
	} {
		ch, err := c.k.Transfer(c.zone, 0)
		if !errors.Is(err, c.err) || (err == nil) != (ch != nil) || c.err == transfer.ErrNotAuthoritative && err != c.err {
			t.Errorf("%s: %v, %v", c.name, ch, err)
		}
		if ch == nil {
			continue
		}
		for range ch { // to its end
		}
	}
}

// TestTransferOfAnotherBlock: a server block transfers its own zones only.
func TestTransferOfAnotherBlock(t *testing.T) {
	port := freePort(t)
	s := serveZones(t, toAll, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant\n%s\n}\n", port, toAll))
	s.Fill()
	s.compile()
	other := fmt.Sprintf("127.0.0.1:%d", port)
	wholeZone(t, xfr(t, other, axfrOf("example.com."), nil))
	if m, _, err := boottest.Client("tcp").Exchange(axfrOf("example.org."), other); err != nil || m.Rcode != dns.RcodeRefused {
		t.Errorf("AXFR of another block's zone: %v, %v", err, m)
	}
}

// TestTransferToOneThatIsAhead: a secondary that has another serial than any that was here,
// and a newer one, is told of in the log: both serials, once an hour for a zone, and of so
// many zones (rule 6.7, RFC 1995 §2).
func TestTransferToOneThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var zones []string
		for i := range maxAhead + 1 {
			zones = append(zones, fmt.Sprintf("z%d.example.com", i))
		}
		k := newPlugin(t, "kuadrant "+strings.Join(zones, " "), "", oneHost(t))
		k.engine.Now = time.Now
		log, told := boottest.Listen(t), 0
		ask := func(zone string, ahead uint32) {
			t.Helper()
			serial := k.engine.Snapshot().Zone(zone).Serial()
			ch, err := k.Transfer(zone, serial+ahead)
			if err != nil {
				t.Fatal(err)
			}
			for range ch { // to its end
			}
		}
		expect := func(when string, want ...string) {
			t.Helper()
			lines := slices.DeleteFunc(log.All(), func(line string) bool { return !strings.Contains(line, "a secondary has") })
			checkLines(t, when, lines[told:], want...)
			told = len(lines)
		}
		line := func(zone string, ahead uint32) string {
			serial := k.engine.Snapshot().Zone(zone).Serial()
			return fmt.Sprintf("warning zone %q: a secondary has serial %d, ahead of %d here", zone, serial+ahead, serial)
		}
		const one = "z0.example.com."
		for _, ahead := range []uint32{0, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
			ask(one, ahead)
		}
		expect("the same, half a circle away, and older ones")
		ask(one, 3)
		ask(one, 4)
		expect("ahead, twice", line(one, 3))
		time.Sleep(aheadPause)
		var want []string
		for i, zone := range zones {
			ask(zone+".", 1<<31-1)
			ask(zone+".", 1)
			if i < maxAhead {
				want = append(want, line(zone+".", 1<<31-1))
			}
		}
		expect("an hour later, many zones", want...)
	})
}

// manyNames returns a plugin with a zone of n records.
func manyNames(t testing.TB, n int) *Kuadrant {
	t.Helper()
	o := boottest.NewZoneObjects()
	o.Fill()
	for i := range n {
		o.Record(fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	}
	return newPlugin(t, "kuadrant example.org", "", o.Published())
}

// TestTransferThatNobodyReads: the goroutine of a transfer ends though its reader has
// stopped, at any point.
func TestTransferThatNobodyReads(t *testing.T) {
	k := manyNames(t, 4*transferPart)
	synctest.Test(t, func(t *testing.T) {
		for parts := range 4 {
			ch, err := k.Transfer("example.org.", 0)
			if err != nil {
				t.Fatal(err)
			}
			for range parts {
				<-ch
			}
			synctest.Wait()
			time.Sleep(transferStall + time.Second)
			synctest.Wait()
			if part, open := <-ch; open {
				t.Errorf("after %d parts: %d more records", parts, len(part))
			}
		}
		// A slow one gets all.
		ch, err := k.Transfer("example.org.", 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for part := range ch {
			n += len(part)
			time.Sleep(transferStall - time.Second)
		}
		if want := len(contentOf(t, k.engine.Snapshot().Zone("example.org."))) + 2; n != want {
			t.Errorf("a slow reader gets %d records of %d", n, want)
		}
		for _, serial := range []uint32{k.engine.Snapshot().Zones()[0].Serial()} {
			if _, err := k.Transfer("example.org.", serial); err != nil { // and never reads
				t.Fatal(err)
			}
		}
	})
}

// cutShort is a Transferer whose zone is given up after a number of records.
type cutShort struct {
	k       *Kuadrant
	records int
}

func (c cutShort) Transfer(zone string, serial uint32) (<-chan []dns.RR, error) {
	whole, err := c.k.Transfer(zone, serial)
	if err != nil {
		return nil, err
	}
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		left := c.records
		for part := range whole {
			if n := min(left, len(part)); n > 0 {
				ch <- part[:n]
				left -= n
			}
		}
	}()
	return ch, nil
}

// tcpWriter keeps what is written to it.
type tcpWriter struct {
	test.ResponseWriter
	rrs []dns.RR
}

func (w *tcpWriter) WriteMsg(m *dns.Msg) error {
	w.rrs = append(w.rrs, m.Answer...)
	return nil
}

// TestTransferGivenUpIsNotWhole: wherever a transfer is given up, no client takes what it
// got for all of the zone: the second SOA is missing. The transfer plugin has a way of its
// own to write a last record.
func TestTransferGivenUpIsNotWhole(t *testing.T) {
	k := manyNames(t, 3000)
	c := caddy.NewTestController("dns", "transfer {\nto *\n}")
	c.ServerBlockKeys = []string{"example.org"}
	setup, err := caddy.DirectiveAction("dns", "transfer")
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(c); err != nil {
		t.Fatal(err)
	}
	plug := dnsserver.GetConfig(c).Plugin[0](nil).(*transfer.Transfer)
	whole := len(contentOf(t, k.engine.Snapshot().Zone("example.org."))) + 2
	for n := 1; n <= whole; n++ {
		if n > 10 && n < whole-10 && n%37 > 0 && (n < 1850 || n > 2150) { // a message holds about 2000
			continue
		}
		plug.Transferers = []transfer.Transferer{cutShort{k, n}}
		w := &tcpWriter{ResponseWriter: test.ResponseWriter{TCP: true}}
		if _, err := plug.ServeDNS(context.Background(), w, axfrOf("example.org.")); err != nil {
			t.Fatal(err)
		}
		soas := 0
		for _, rr := range w.rrs {
			if rr.Header().Rrtype == dns.TypeSOA {
				soas++
			}
		}
		if complete := n == whole; (soas == 2) != complete || len(w.rrs) != n {
			t.Fatalf("given up after %d records of %d: written are %d, with %d SOAs", n, whole, len(w.rrs), soas)
		}
	}
}

// keep has a writer keep all that snap proposes, from the next compile on.
func (s *zoneServer) keep(snap *records.Snapshot) {
	edit := s.serials.Edit()
	for _, p := range snap.Proposals() {
		edit.Set(p.Origin, p.Kept)
		s.news = append(s.news, p.Origin)
	}
	s.serialWriter, s.serials = "c", edit.Map()
}

// TestTransferOfWhatIsKept: where a writer keeps serials, answers are the newest, and SOA,
// AXFR and IXFR show the newest version that is kept, whole (rule 6.7).
func TestTransferOfWhatIsKept(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.Fill()
	s.serialWriter = "c"
	s.keep(s.compile())
	first := s.compile().Zone("example.org.").PublishedVersion()
	want := contentOf(t, first)
	var second *records.Snapshot
	for i := range 3 {
		s.Record("www-a", "www.example.org.", "A", fmt.Sprintf("198.51.100.%d", i))
		s.Record("new", "new.example.org.", "TXT", fmt.Sprint(i))
		snap := s.compile()
		if got := exchange(t, s.addr, "new.example.org.", dns.TypeTXT).Answer; len(got) != 1 || got[0].(*dns.TXT).Txt[0] != fmt.Sprint(i) {
			t.Errorf("change %d is answered with %v", i, got)
		}
		soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
		served := exchange(t, s.addr, "example.org.", dns.TypeSOA).Answer[0]
		denial := exchange(t, s.addr, "no.example.org.", dns.TypeA).Ns[0].(*dns.SOA)
		if soa.Serial != first.Serial() || served.String() != soa.String() || denial.Serial != soa.Serial || !maps.Equal(got, want) {
			t.Errorf("change %d, which nobody has kept: SOA %v, denied with %v, transferred with %v:\n%v", i, served, denial, soa, got)
		}
		if got := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil).RRs; len(got) != 1 {
			t.Errorf("change %d: IXFR from what is shown has %v", i, got)
		}
		if i == 1 {
			second = snap
		}
	}
	s.keep(second) // there is a newer one by now
	s.compile()
	if _, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil)); !maps.Equal(got, contentOf(t, second.Zone("example.org."))) {
		t.Errorf("the second change was kept, and transferred is\n%v", got)
	}
	s.keep(s.compile())
	last := s.compile().Zone("example.org.").PublishedVersion()
	now := contentOf(t, last)
	if now["new.example.org.\t300\tIN\tTXT\t\"2\""] == false || last.Serial() == first.Serial() {
		t.Errorf("serial %d: %v", last.Serial(), now)
	}
	soa, got := wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
	if soa.Serial != last.Serial() || !maps.Equal(got, now) {
		t.Errorf("transferred with %v:\n%v", soa, got)
	}
	deltas, ok := last.Since(first.Serial())
	ixfr := xfr(t, s.addr, ixfrOf("example.org.", first.Serial()), nil)
	if content := applyIXFR(t, want, ixfr.RRs, first.Serial(), len(deltas)); !ok || !maps.Equal(content, now) {
		t.Errorf("IXFR leads to %v", content)
	}
}

// zoneServer is a CoreDNS in this process that serves objects which a test changes. No
// source has anything to say: the test compiles by itself.
type zoneServer struct {
	*boottest.ZoneObjects
	addr   string
	engine *engine.Engine
	// serialWriter is the cluster in which a writer keeps serials, "" for none; news are those that are new since the last compile.
	serialWriter string
	serials      api.Serials
	news         []string
}

// serveZones starts a server for example.org, with other lines in its server block, and
// other server blocks.
func serveZones(t testing.TB, lines, blocks string) *zoneServer {
	t.Helper()
	port := freePort(t)
	inst, err := caddy.Start(caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
		"example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s c\nnameserver ns1.example.net\nnameserver ns2.example.net\n}\n%s\n}\n%s\n", port, t.TempDir(), lines, blocks)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Stop(); err != nil {
			t.Error(err)
		}
		inst.ShutdownCallbacks()
	})
	s := &zoneServer{ZoneObjects: boottest.NewZoneObjects(), addr: fmt.Sprintf("127.0.0.1:%d", port), engine: answering.Load().engine}
	waitFor(t, "first snapshot", func() bool { return s.engine.Snapshot() != nil })
	return s
}

// compile publishes the objects as they are now.
func (s *zoneServer) compile() *records.Snapshot {
	in := api.Objects{Clusters: []*api.Cluster{s.Published()}, SerialWriter: s.serialWriter, Serials: s.serials, SerialsChanged: s.news}
	snap := records.Compile(s.engine.Snapshot(), in, s.engine.Options(), s.engine.Now())
	s.engine.Publish(snap)
	s.news = nil
	return snap
}

// contentOf returns what is to be transferred of a zone.
func contentOf(t testing.TB, z *records.Zone) map[string]bool {
	t.Helper()
	var all []dns.RR
	for set := range z.Transfer() {
		all = append(all, set...)
	}
	return textOf(t, all)
}
