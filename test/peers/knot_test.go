package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// someRecord returns a Record for a random world. Names repeat, so that there are RRsets,
// conflicts, wildcards, cuts with hidden data below, and names that go away.
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

// malformedRecord returns a Record with data that a secondary could not read: it is refused, and
// nothing else changes (rule 8.1).
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

// mutate changes one of some 150 Records.
func mutate(r *rand.Rand, o *boottest.ZoneObjects) {
	name := fmt.Sprintf("r%d", r.IntN(150))
	if r.IntN(4) == 0 {
		o.Record(name, "", "", "")
		return
	}
	owner, rtype, data := someRecord(r)
	o.Record(name, owner, rtype, data)
	if r.IntN(4) == 0 {
		o.TTL(name, 60+60*r.Int64N(3))
	}
}

// knot is a Knot DNS that is a secondary of example.org.
type knot struct{ *peertest.Knot }

// startKnot starts a knot with the primary at addr. It ends with the test.
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

// serial returns the serial in Knot's answer; 0 for none.
func (k *knot) serial() uint32 {
	m, _, err := (&dns.Client{Timeout: time.Second}).Exchange(boottest.Question("example.org.", dns.TypeSOA), k.Addr)
	if err != nil || len(m.Answer) == 0 {
		return 0
	}
	if soa, ok := m.Answer[0].(*dns.SOA); ok {
		return soa.Serial
	}
	return 0
}

// knotIncremental matches Knot's log line about a received incremental transfer.
var knotIncremental = regexp.MustCompile(`IXFR, incoming, .*finished`)

// copied is a CoreDNS that serves example.org from a directory, and a Knot DNS that follows it by NOTIFY and IXFR.
type copied struct {
	*boottest.ZoneObjects
	t          *testing.T
	addr, file string
	knot       *knot
	generation int
}

// newCopied starts both.
func newCopied(t *testing.T) *copied {
	t.Helper()
	port, to, dir := peertest.FreePort(t), peertest.FreePort(t), t.TempDir()
	c := &copied{t: t, ZoneObjects: boottest.NewZoneObjects(), addr: fmt.Sprintf("127.0.0.1:%d", port), file: filepath.Join(dir, "zone.yaml")}
	c.Fill()
	c.write()
	boottest.Serve(t, fmt.Sprintf("example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nnameserver ns1.example.net\n}\ntransfer {\nto * 127.0.0.1:%d\n}\n}\n", port, dir, to))
	c.served()
	c.knot = startKnot(t, c.addr, to)
	c.compare()
	return c
}

// write writes all objects, with a new generation of the zone.
func (c *copied) write() {
	c.t.Helper()
	c.generation++
	c.Record("generation", "generation.example.org.", "TXT", fmt.Sprint(c.generation))
	var text strings.Builder
	text.WriteString(`{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {namespace: dns, name: z}, spec: {domainName: example.org., delegations: [{records: [{pattern: "*"}, {pattern: "@"}]}]}}` + "\n")
	for name, r := range c.Cluster.Records.All() {
		spec := map[string]any{"domainName": r.DomainName, "type": r.Type, "rdata": r.RData}
		if r.TTL != api.NoTTL {
			spec["ttl"] = r.TTL
		}
		object, err := json.Marshal(map[string]any{
			"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": map[string]string{"namespace": "dns", "name": strings.TrimPrefix(name, "dns/")}, "spec": spec,
		})
		if err != nil {
			c.t.Fatal(err)
		}
		fmt.Fprintf(&text, "---\n%s\n", object)
	}
	boottest.WriteFile(c.t, c.file, text.String())
}

// served waits until the last generation is served.
func (c *copied) served() {
	c.t.Helper()
	boottest.WaitFor(c.t, fmt.Sprint("generation ", c.generation), func() bool {
		m := boottest.Exchange(c.t, c.addr, "generation.example.org.", dns.TypeTXT)
		return len(m.Answer) == 1 && m.Answer[0].(*dns.TXT).Txt[0] == fmt.Sprint(c.generation)
	})
}

// compare waits until Knot has the zone's serial, and compares its copy with the zone.
func (c *copied) compare() {
	c.t.Helper()
	serial := boottest.SerialOf(boottest.Exchange(c.t, c.addr, "example.org.", dns.TypeSOA))
	boottest.WaitFor(c.t, fmt.Sprintf("serial %d at Knot", serial), func() bool { return c.knot.serial() == serial })
	_, want := boottest.WholeZone(c.t, boottest.Transfer(c.t, c.addr, boottest.AXFR("example.org."), nil))
	soa, got := boottest.WholeZone(c.t, boottest.Transfer(c.t, c.knot.Addr, boottest.AXFR("example.org."), nil))
	if soa.Serial != serial || !maps.Equal(got, want) {
		c.t.Fatalf("Knot has %d records under serial %d, want %d under %d%s", len(got), soa.Serial, len(want), serial, boottest.Difference(got, want))
	}
}

// TestKnot has a Knot DNS follow a zone through 1,000 random changes of Records, in generations of
// some ten each, and compares its copy with the zone now and then (rules 6.7 and 7.5).
func TestKnot(t *testing.T) {
	c := newCopied(t)
	r := rand.New(rand.NewPCG(1, 2))
	const rounds, each = 10, 10
	for range rounds {
		for range each {
			for range 1 + r.IntN(20) {
				mutate(r, c.ZoneObjects)
			}
			c.write()
			c.served()
		}
		c.compare()
	}
	log := c.knot.Log()
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

// TestKnotKeepsDataOfTwoSpellings: of two Records with the same data in two spellings, one is
// deleted. Knot, which follows by IXFR, still has the data (rules 5.3 and 7.5, RFC 2181 §5).
func TestKnotKeepsDataOfTwoSpellings(t *testing.T) {
	c := newCopied(t)
	c.Record("one", "x.example.org.", "TLSA", "3 1 0 ABCD")
	c.Record("two", "x.example.org.", "TLSA", "3 1 0 abcd")
	c.Record("three", "y.example.org.", "HTTPS", "1 . alpn=h2 port=80")
	c.Record("four", "y.example.org.", "HTTPS", "1 . port=80 alpn=h2")
	c.write()
	c.served()
	c.compare()
	c.Record("two", "", "", "")
	c.Record("four", "", "", "")
	c.write()
	c.served()
	c.compare()
}
