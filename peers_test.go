package kuadrant

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// someRecord is a Record that a random world may have. Their names meet, so that there are
// RRsets, conflicts, wildcards, cuts with what is hidden below, and names that go.
func someRecord(r *rand.Rand) (owner, rtype, data string) {
	owner = pickOne(r, "a", "b", "c", "d", "e", "*", "*.w", "x.w", "deep.x.y", "y", "cut", "ns.cut", "hidden.cut", "_s._tcp", "odd\\.dot", "sp\\032ace", "\\000", "dn", "below.dn") + "." + "example.org."
	if r.IntN(8) == 0 {
		owner = "example.org."
	}
	if strings.HasPrefix(owner, "cut") && r.IntN(2) == 0 {
		return owner, "NS", pickOne(r, "ns.cut.example.org.", "ns.example.net.")
	}
	if strings.HasPrefix(owner, "dn.") && r.IntN(2) == 0 {
		return owner, "DNAME", pickOne(r, "example.net.", "a.example.org.")
	}
	if r.IntN(10) == 0 {
		return malformedRecord(r, owner)
	}
	switch r.IntN(17) {
	case 0, 1, 2, 3:
		return owner, "A", fmt.Sprintf("192.0.2.%d", r.IntN(8))
	case 4, 5:
		return owner, "AAAA", fmt.Sprintf("2001:db8::%d", r.IntN(8))
	case 6:
		return owner, "CNAME", pickOne(r, "a.example.org.", "b.example.org.", "elsewhere.example.net.")
	case 7:
		return owner, "MX", fmt.Sprintf("%d %s", r.IntN(3), pickOne(r, "mx.example.net.", "mx2.example.net."))
	case 8:
		return owner, "SRV", fmt.Sprintf("1 2 %d srv.example.net.", r.IntN(3))
	case 9:
		return owner, "TYPE65280", fmt.Sprintf(pickOne(r, "\\# 3 01ab%02x", "\\# 3 01AB%02x", "\\# 3 01 ab %02x"), r.IntN(4))
	case 10:
		return owner, "CAA", `0 issue "ca.example.net"`
	case 11:
		return owner, "HTTPS", fmt.Sprintf(pickOne(r, "%d . alpn=h2 port=8443", "%d . port=8443 alpn=h2"), 1+r.IntN(2))
	case 12:
		return owner, "TLSA", pickOne(r, "3 1 0 ABCD", "3 1 0 abcd", "3 1 0 ef01")
	case 13:
		return owner, "PTR", pickOne(r, "host.example.net.", "Host.example.net.", `\104ost.example.net.`)
	case 14:
		return owner, "KX", pickOne(r, "1 kx.example.net.", "1 KX.example.net.")
	}
	return owner, "TXT", pickOne(r, `"one" "two"`, `"quote \" and \\ backslash"`, `"\000\255"`, fmt.Sprintf(`"%s"`, strings.Repeat("x", 255)), fmt.Sprintf(`"%d"`, r.IntN(100)))
}

// malformedRecord is one with data that a secondary would not read: it is refused, and nothing
// else changes (rule 8.1).
func malformedRecord(r *rand.Rand, owner string) (_, rtype, data string) {
	odd := [][2]string{
		{"DS", "12345 13 2 ABCD"},
		{"CDS", "12345 13 1 ABCD"},
		{"ZONEMD", "1 1 1 ABCD"},
		{"SSHFP", "1 2 ABCD"},
		{"TLSA", `\# 3 030101`},
		{"SVCB", "1 . mandatory=alpn"},
		{"HTTPS", "1 . no-default-alpn"},
		{"HTTPS", `1 . alpn=""`},
		{"NAPTR", `1 2 "s" "x" "!bad" .`},
		{"LOC", `\# 16 00FFFFFF000000000000000000000000`},
		{"RKEY", "256 3 8 AAAA"},
		{"MD", "a.example.org."},
		{"TYPE38", `\# 1 81`},
		{"MX", `\# 2 000a`},
		{"TXT", `"open`},
	}[r.IntN(15)]
	if r.IntN(4) == 0 {
		return "*.w.example.org.", "NS", "ns.example.net."
	}
	return owner, odd[0], odd[1]
}

func pickOne(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// mutate changes one Record of some 150.
func (o *zoneObjects) mutate(r *rand.Rand) {
	name := fmt.Sprintf("r%d", r.IntN(150))
	if r.IntN(4) == 0 {
		o.record(name, "", "", "")
		return
	}
	owner, rtype, data := someRecord(r)
	o.record(name, owner, rtype, data)
	if r.IntN(4) == 0 {
		o.ttl(name, 60+60*r.Int64N(3))
	}
}

// knot is a Knot DNS that is a secondary of example.org.
type knot struct{ *peertest.Knot }

// startKnot starts one, which asks the primary at addr. It ends with the test.
func startKnot(t *testing.T, primary string, port int) *knot {
	t.Helper()
	dir := t.TempDir()
	host, primaryPort, _ := strings.Cut(primary, ":")
	return &knot{peertest.StartKnot(t, dir, port, fmt.Sprintf(`remote:
  - id: primary
    address: %[2]s@%[3]s
acl:
  - id: here
    address: 127.0.0.0/8
    action: [notify, transfer]
zone:
  - domain: example.org
    storage: %[1]s
    master: primary
    acl: here
    zonefile-sync: -1
    zonefile-load: none
    journal-content: all
`, dir, host, primaryPort))}
}

// serial returns the serial that Knot answers with, 0 for none.
func (k *knot) serial() uint32 {
	m, _, err := (&dns.Client{Timeout: time.Second}).Exchange(question("example.org.", dns.TypeSOA), k.Addr)
	if err != nil || len(m.Answer) == 0 {
		return 0
	}
	if soa, ok := m.Answer[0].(*dns.SOA); ok {
		return soa.Serial
	}
	return 0
}

// knotIncremental finds what Knot says of an incremental transfer that it has taken.
var knotIncremental = regexp.MustCompile(`IXFR, incoming, .*finished`)

// TestKnot has a Knot DNS follow a zone by NOTIFY and IXFR through 1,000 random changes of
// Records, each a generation of its own, and compares its copy with the zone after every
// hundred (cases F1, F7, F10 and F11).
func TestKnot(t *testing.T) {
	port := freePort(t)
	s := serveZones(t, fmt.Sprintf("transfer {\nto * 127.0.0.1:%d\n}", port), "")
	s.fill()
	s.compile()
	k := startKnot(t, s.addr, port)
	r := rand.New(rand.NewPCG(1, 2))
	const rounds, each = 10, 100
	compare := func(round int) {
		t.Helper()
		z := s.engine.Snapshot().Zone("example.org.")
		waitFor(t, fmt.Sprintf("serial %d at Knot in round %d", z.Serial(), round), func() bool { return k.serial() == z.Serial() })
		soa, copied := wholeZone(t, xfr(t, k.Addr, axfrOf("example.org."), nil))
		if want := contentOf(t, z); soa.Serial != z.Serial() || !maps.Equal(copied, want) {
			t.Fatalf("round %d: Knot has %d records under serial %d, want %d under %d%s", round, len(copied), soa.Serial, len(want), z.Serial(), difference(copied, want))
		}
	}
	compare(0)
	for round := range rounds {
		for range each {
			for before := s.engine.Snapshot().Zone("example.org.").Serial(); s.engine.Snapshot().Zone("example.org.").Serial() == before; {
				s.mutate(r) // until it makes a difference
				s.compile()
			}
		}
		compare(round + 1)
	}
	log := k.Log()
	if n := len(knotIncremental.FindAllString(log, -1)); n < rounds {
		t.Errorf("Knot tells of %d incremental transfers in %d rounds", n, rounds)
	}
	if n := strings.Count(log, "AXFR, incoming"); n == 0 || strings.Count(log[strings.Index(log, "IXFR, incoming"):], "AXFR, incoming") > 0 {
		t.Errorf("Knot has asked for the whole zone again, or never: %d lines of its log", n)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "[example.org.]") && (strings.Contains(line, " error: ") || strings.Contains(line, " warning: ")) {
			t.Errorf("Knot says: %s", line)
		}
	}
}

// difference returns the lines that only one of two sets has.
func difference(got, want map[string]bool) string {
	var lines []string
	for line := range got {
		if !want[line] {
			lines = append(lines, "\nonly there: "+line)
		}
	}
	for line := range want {
		if !got[line] {
			lines = append(lines, "\nmissing: "+line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 20)], "")
}

// TestCheckZone has BIND's named-checkzone read what is transferred of the example's zone
// and of random ones (case F1).
func TestCheckZone(t *testing.T) {
	program := peertest.Program(t, "named-checkzone", "bind9-utils")
	check := func(what, zone string, rrs []dns.RR) {
		t.Helper()
		var text bytes.Buffer
		for _, rr := range rrs[:len(rrs)-1] { // the SOA is at the end once more
			fmt.Fprintln(&text, rr)
		}
		file := filepath.Join(t.TempDir(), "zone")
		writeFile(t, file, text.String())
		// Names elsewhere are not looked up, and a host may be called anything.
		out, err := exec.Command(program, "-i", "local", "-k", "ignore", zone, file).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("OK")) {
			t.Fatalf("%s: %v\n%s\n%s", what, err, out, text.String())
		}
	}
	port := freePort(t)
	inst, addr := boot(t, fmt.Sprintf("k.example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests examples/eu\nmanifests examples/na\nnameserver ns1.k.example.com 127.0.0.1\n}\n%s\n}\n", port, toAll))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	waitFor(t, "both clusters", func() bool {
		snap := answering.Load().engine.Snapshot()
		return snap != nil && snap.Lists(snap.Zone("k.example.com."))
	})
	example := xfr(t, addr, axfrOf("k.example.com."), nil)
	if _, content := wholeZone(t, example); len(content) < 6 || !content["shop.k.example.com.\t60\tIN\tA\t198.51.100.10"] {
		t.Errorf("the example's zone: %v", content)
	}
	check("the example", "k.example.com", example.rrs)
	for seed := range uint64(30) {
		o := newZoneObjects()
		o.fill()
		r := rand.New(rand.NewPCG(seed, 5))
		for range 200 {
			o.mutate(r)
		}
		k := newPlugin(t, "kuadrant example.org {\nnameserver ns1.example.net\n}", "", o.published())
		check(fmt.Sprintf("seed %d", seed), "example.org", collect(t, k, "example.org."))
	}
}

// collect returns the records of a zone's transfer.
func collect(t *testing.T, k *Kuadrant, zone string) (rrs []dns.RR) {
	t.Helper()
	ch, err := k.Transfer(zone, 0)
	if err != nil {
		t.Fatal(err)
	}
	for part := range ch {
		rrs = append(rrs, part...)
	}
	return rrs
}
