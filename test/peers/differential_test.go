package peers

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// randomZone is a small zone in the manner of the Ferret dataset: few labels, combined in all ways
// that DNS has. It has no NS and no DNAME at a wildcard, which Knot answers differently from NSD
// and PowerDNS; BIND does not load such an NS (RFC 4592 §4.2 and §4.4).
type randomZone struct {
	r      *rand.Rand
	origin string
	lines  []string            // of a master file, the SOA first
	owners []string            // a name for each line
	types  map[string][]string // by owner
}

func newRandomZone(r *rand.Rand, n int) *randomZone {
	id := fmt.Sprintf("z%d.", n)
	z := &randomZone{r: r, origin: pickOne(r, id, "a."+id, "campus.a."+id), types: make(map[string][]string)}
	z.add(z.origin, "SOA", "ns1.outside.edu. root.campus.edu. 3 604800 86400 2419200 604800")
	z.add(z.origin, "NS", pickOne(r, "ns1.outside.edu.", "ns1.outside.edu.", z.target()))
	for range 3 * (2 + r.IntN(5)) {
		z.addSome()
	}
	return z
}

func (z *randomZone) add(owner, rtype, data string) {
	z.lines = append(z.lines, fmt.Sprintf("%s 500 IN %s %s", owner, rtype, data))
	z.owners = append(z.owners, owner)
	z.types[owner] = append(z.types[owner], rtype)
}

// addSome adds a record that other servers accept next to the existing ones, or none.
func (z *randomZone) addSome() {
	owner := z.name()
	has := func(rtype string) bool { return slices.Contains(z.types[owner], rtype) }
	wild, apex := strings.HasPrefix(owner, "*."), owner == z.origin
	plain := map[string]string{"A": fmt.Sprintf("192.0.2.%d", z.r.IntN(9)), "AAAA": fmt.Sprintf("2001:db8::%d", z.r.IntN(9)), "TXT": `"text"`}
	rtype := pickOne(z.r, "A", "A", "AAAA", "TXT", "MX", "NS", "NS", "CNAME", "CNAME", "DNAME", "DNAME", "DS")
	switch {
	case has("CNAME"), z.hidden(owner) && z.r.IntN(10) > 0:
	case plain[rtype] != "":
		z.add(owner, rtype, plain[rtype])
	case rtype == "MX":
		z.add(owner, rtype, "10 "+z.target())
	case rtype == "NS" && !wild && !has("DNAME"), rtype == "CNAME" && len(z.types[owner]) == 0,
		rtype == "DNAME" && !wild && !has("DNAME") && (apex || !has("NS")):
		z.add(owner, rtype, z.target())
	case rtype == "DS" && has("NS") && !apex:
		z.add(owner, rtype, "1 8 2 "+strings.Repeat("AB", 32))
	}
}

// hidden reports whether a DNAME is above a name: most servers do not load such a zone.
func (z *randomZone) hidden(name string) bool {
	return slices.ContainsFunc(z.owners, func(at string) bool {
		return at != name && dns.IsSubDomain(at, name) && slices.Contains(z.types[at], "DNAME")
	})
}

// name returns a name of the zone: an existing one, one below it, or one beside it.
func (z *randomZone) name() string {
	name := pickOne(z.r, z.owners...)
	label := pickOne(z.r, "*.", "*.", "a.", "a.", "b.", "campus.")
	switch z.r.IntN(6) {
	case 0:
		return name
	case 1:
		return label + z.origin
	case 2:
		if i, end := dns.NextLabel(name, 0); !end && name != z.origin {
			return label + name[i:]
		}
	}
	return label + name
}

// target returns a name for a record to point to, mostly in the zone. A * may stand for a name that
// it covers.
func (z *randomZone) target() string {
	switch z.r.IntN(8) {
	case 0:
		return pickOne(z.r, "ns1.outside.edu.", "edu.", "b.outside.edu.")
	case 1, 2:
		return strings.Replace(z.name(), "*.", "a.", 1)
	}
	return z.name()
}

// questions returns names to query: all owners, their targets, and names above, below and beside
// them.
func (z *randomZone) questions() (names []string) {
	seen := make(map[string]bool)
	add := func(name string) {
		if _, ok := dns.IsDomainName(name); ok && dns.IsSubDomain(z.origin, name) && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, line := range z.lines[1:] {
		f := strings.Fields(line)
		for _, name := range []string{f[0], f[len(f)-1]} {
			for off, end := 0, false; !end && dns.IsSubDomain(z.origin, name[off:]); off, end = dns.NextLabel(name, off) {
				add(name[off:])
				add("c." + name[off:])
			}
			add("b.a." + name)
			add(strings.ReplaceAll(name, "*.", "c."))
		}
	}
	z.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(len(names), 20)]
}

// startKnotZones starts a Knot DNS that is the primary of zones, and waits until it answers, once
// it has tried to load all. It ends with the test.
func startKnotZones(t *testing.T, port int, zones []*randomZone) (addr string) {
	t.Helper()
	dir := t.TempDir()
	var config strings.Builder
	fmt.Fprintf(&config, `template:
  - id: default
    storage: %s
    zonefile-sync: -1
    journal-content: none
zone:
`, dir)
	for i, z := range zones {
		file := fmt.Sprintf("%d.zone", i)
		boottest.WriteFile(t, filepath.Join(dir, file), strings.Join(z.lines, "\n")+"\n")
		fmt.Fprintf(&config, "  - domain: %s\n    file: %s\n", z.origin, file)
	}
	addr = peertest.StartKnot(t, dir, port, config.String()).Addr
	boottest.WaitFor(t, "Knot", func() bool {
		_, _, err := (&dns.Client{Timeout: time.Second}).Exchange(boottest.Question(".", dns.TypeSOA), addr)
		return err == nil
	})
	return addr
}

// TestDifferential queries a Knot DNS about random zones, and compares its answers with those of
// this server as TestFerret does (rule 7.1). It leaves out zones that Knot does not load, and
// questions that servers answer differently: loops, chains longer than Knot follows, ANY, and DNAME
// results that are too long, which are NXDOMAIN in Knot 3.2.
func TestDifferential(t *testing.T) {
	const seed, count, shown = 1, 300, 5
	r := rand.New(rand.NewPCG(seed, 0))
	zones := make([]*randomZone, count)
	for i := range zones {
		zones[i] = newRandomZone(r, i)
	}
	conn, err := dns.DialTimeout("udp", startKnotZones(t, peertest.FreePort(t), zones), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := newServer(t)
	loaded, asked, failed := 0, 0, 0
	for i, z := range zones {
		if askKnot(t, conn, z.origin, dns.TypeSOA).Rcode != dns.RcodeSuccess {
			continue // data below a DNAME
		}
		loaded++
		for _, name := range z.questions() {
			qtype := pickOne(r, "A", "AAAA", "NS", "CNAME", "DNAME", "DNAME", "SOA", "TXT", "MX", "DS")
			m := askKnot(t, conn, name, dns.StringToType[qtype])
			if endless(m.Answer) {
				continue
			}
			c := &ferretCase{
				ID: i, Zone: z.lines, QName: name, QType: qtype, Rcode: dns.RcodeToString[m.Rcode], AA: m.Authoritative,
				Answer: linesOf(m.Answer), Authority: linesOf(m.Ns),
			}
			asked++
			if wrong := c.play(t, s); wrong != "" {
				if failed++; failed <= shown {
					t.Errorf("%s %s:\n  zone\n    %s\n  Knot\n    %s\n%s", name, qtype, strings.Join(z.lines, "\n    "), c.want(t), wrong)
				}
			}
		}
	}
	if loaded < count/2 || asked < loaded*10 {
		t.Errorf("%d of %d zones and %d questions are too few to tell anything", loaded, count, asked)
	}
	if failed > 0 {
		t.Errorf("%d of %d answers differ", failed, asked)
	}
}

func askKnot(t *testing.T, conn *dns.Conn, name string, qtype uint16) *dns.Msg {
	t.Helper()
	m := boottest.Question(name, qtype)
	m.SetEdns0(4096, false)
	reply, _, err := boottest.Client("").ExchangeWithConn(m, conn)
	if err != nil {
		t.Fatalf("Knot, %s %s: %v", name, dns.TypeToString[qtype], err)
	}
	return reply
}

// linesOf returns records as lines, without duplicates.
func linesOf(rrs []dns.RR) (lines []string) {
	for _, rr := range rrs {
		if line := rr.String(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// endless reports whether rrs have as many CNAMEs as Knot follows, or a loop.
func endless(rrs []dns.RR) bool {
	const followed = 5
	owners, last := make(map[string]bool), ""
	for _, rr := range rrs {
		if cname, ok := rr.(*dns.CNAME); ok {
			owners[cname.Hdr.Name], last = true, cname.Target
		}
	}
	return len(owners) >= followed || owners[last]
}
