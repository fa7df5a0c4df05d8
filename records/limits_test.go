package records_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// What has a bound, so that one object cannot make a query or a compile expensive (rule 8.4).
const (
	maxParts   = 256  // listeners and addresses of a Gateway
	maxMembers = 1000 // of a name
	maxTries   = 64   // hostnames that are tried at an apex
)

// compiled returns a snapshot of a text, without the comparisons of a Step: these worlds are large.
func compiled(t *testing.T, opt *records.Options, text string) (*recordstest.World, *records.Snapshot) {
	t.Helper()
	w := recordstest.New(t, opt, text)
	w.Snapshot = records.Compile(nil, w.Objects(), opt, w.Now)
	return w, w.Snapshot
}

// condition returns all that an object is told.
func condition(s *records.Snapshot, kind api.Kind, name string) string {
	return fmt.Sprint(*s.Verdict("c1", api.Ref{Kind: kind, Name: name}))
}

// TestTooManyParts is a Gateway with more listeners and addresses than are read: the first are served, and the policy says so.
func TestTooManyParts(t *testing.T) {
	var hosts, addresses []string
	for i := range maxParts + 1 {
		hosts, addresses = append(hosts, fmt.Sprintf("h%d.example.com", i)), append(addresses, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	_, s := compiled(t, recordstest.Zones("example.com."), "gateway n/g host="+strings.Join(hosts, ",")+" addr="+strings.Join(addresses, ",")+"\npolicy n/g")
	if tree, ok := s.Tree(hosts[maxParts-1] + "."); !ok || len(tree.Addrs) != maxParts {
		t.Errorf("the last host that is read is not served with %d addresses: %+v", maxParts, tree)
	}
	if _, ok := s.Tree(hosts[maxParts] + "."); ok {
		t.Error("a host beyond the limit is served")
	}
	said := condition(s, api.KindDNSPolicy, "n/g")
	for _, want := range []string{"257 listeners; only the first 256 are read", "257 status addresses; only the first 256 are read"} {
		if !strings.Contains(said, want) {
			t.Errorf("the condition says %q, want %q in it", said, want)
		}
	}
}

// steeredHost is the text of a steered host.
func steeredHost(name, host string, targets ...string) string {
	return fmt.Sprintf("gateway n/%s host=%s addr=%s\npolicy n/%s weight=1\n", name, host, strings.Join(targets, ","), name)
}

// TestApexTriesAreBounded asks for a family that none of very many hostnames at an apex has: the work for one query has a bound.
func TestApexTriesAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		text.WriteString(steeredHost(fmt.Sprint("g", i), "apex.example.com", fmt.Sprintf("t%d.example.com", i)) + steeredHost(fmt.Sprint("t", i), fmt.Sprintf("t%d.example.com", i), "192.0.2.1"))
	}
	_, s := compiled(t, recordstest.Zones("example.com.", "apex.example.com."), text.String())
	q := records.Query{Name: "apex.example.com.", Owner: "apex.example.com.", Type: dns.TypeAAAA}
	z := s.Zone(q.Name)
	var a records.Answer
	allocated := testing.AllocsPerRun(100, func() {
		q.Random++
		a = records.Answer{}
		s.Lookup(z, &q, &a)
	})
	if a.Rcode != dns.RcodeServerFailure || len(a.Answer) != 0 {
		t.Errorf("want SERVFAIL, since not all were tried, got %+v", a)
	}
	if allocated > 20*maxTries {
		t.Errorf("%v allocations for one query", allocated)
	}
	q.Type, a = dns.TypeA, records.Answer{}
	if s.Lookup(z, &q, &a); len(a.Answer) != 1 {
		t.Errorf("want one address, got %+v", a)
	}
}

// TestApexWithManyDead: where a member of an apex has an address and more than are tried have none, nobody is told that there is none.
func TestApexWithManyDead(t *testing.T) {
	for _, dead := range []int{maxTries - 1, maxTries, maxTries + 1, maxTries + 8} {
		targets := []string{"live.example.com"}
		for i := range dead {
			targets = append(targets, fmt.Sprintf("dead%d.example.com", i))
		}
		opt := recordstest.Zones("example.com.")
		_, s := compiled(t, opt, steeredHost("apex", "example.com", targets...)+steeredHost("ns", "ns.example.com", append([]string{"192.0.2.2"}, targets[1:]...)...)+steeredHost("live", "live.example.com", "192.0.2.1"))
		answered := 0
		for random := range uint64(200) {
			for i, q := range []records.Query{{Name: "ns.example.com.", Type: dns.TypeA}, {Name: "ns.example.com.", Type: dns.TypeANY}, {Name: "example.com.", Type: dns.TypeA}} {
				q.Owner, q.Random = q.Name, random*(math.MaxUint64/200)
				var a records.Answer
				if s.Lookup(s.Zone(q.Name), &q, &a); len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure {
					t.Fatalf("%d dead, random %d: %s is denied", dead, random, q.Name) // an address is known, whatever the rest leads to
				}
				if i == 2 && len(a.Answer) == 1 {
					answered++
				}
			}
		}
		if answered == 0 || dead < maxTries && answered < 200 {
			t.Errorf("%d dead: %d of 200 answered", dead, answered)
		}
	}
}

// TestMembersHaveABound pools more members than a query looks at, of policies and of endpoints: those of the older objects are served, and
// the others' owners are told.
func TestMembersHaveABound(t *testing.T) {
	const each = 200
	var text strings.Builder
	for o := range maxMembers/each + 1 {
		var addresses []string
		fmt.Fprintf(&text, "dnsendpoint n/x%d", o)
		for i := range each {
			addresses = append(addresses, fmt.Sprintf("cluster%d/192.0.2.%d", i, i))
			fmt.Fprintf(&text, "\n    b.example.com CNAME m%d-%d.example.net set=m%d-%d weight=1", o, i, o, i)
		}
		text.WriteString("\n" + steeredHost(fmt.Sprint("g", o), "a.example.com", addresses...))
	}
	_, s := compiled(t, recordstest.Zones("example.com."), text.String())
	for _, host := range []string{"a.example.com.", "b.example.com."} {
		if tree, ok := s.Tree(host); !ok || tree.Members != maxMembers {
			t.Errorf("%s: %d members, want %d", host, tree.Members, maxMembers)
		}
	}
	for o := range maxMembers/each + 1 {
		for _, said := range []string{condition(s, api.KindDNSPolicy, fmt.Sprint("n/g", o)), condition(s, api.KindDNSEndpoint, fmt.Sprint("n/x", o))} {
			if told := strings.Contains(said, "leads to too many targets"); told != (o == maxMembers/each) {
				t.Errorf("object %d is told of it: %v\n%s", o, told, said)
			}
		}
	}
}

// TestOlderMembersStay: the members that one name can have are those of older objects, in whatever geo group (rule 8.1).
func TestOlderMembersStay(t *testing.T) {
	const head = "dnsrecord n/%s root=a.example.com served=example.com at=%s\n    a.example.com CNAME klb.a.example.com\n"
	text := fmt.Sprintf(head, "old", "1h") + `    klb.a.example.com CNAME us.klb.a.example.com set=US geo=US
    klb.a.example.com CNAME us.klb.a.example.com set=default geo=*
    us.klb.a.example.com CNAME us.example.net set=us weight=1
` + fmt.Sprintf(head, "young", "2h") + "    klb.a.example.com CNAME ie.klb.a.example.com set=IE geo=IE\n" + lines(998, "    ie.klb.a.example.com CNAME l%d.example.net set=l%d weight=0") +
		fmt.Sprintf(head, "younger", "3h") + "    klb.a.example.com CNAME ie.klb.a.example.com set=IE geo=IE\n" + lines(10, "    ie.klb.a.example.com CNAME m%d.example.net set=m%d weight=1")
	w, _ := compiled(t, recordstest.Zones("example.com."), text)
	if got, want := w.Ask(t, "a.example.com A times=20"), "us.example.net."; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestVerdictsFitAStatus: what is said of a field has a bound, however long the field is: an API server takes no condition with a message of
// more than 32,768 characters, and one bad object would have no status at all (rule 8.1). The CRDs of DNSRecord and DNSEndpoint that others
// have installed do not bound their fields.
func TestVerdictsFitAStatus(t *testing.T) {
	const most = 32768
	long := strings.Repeat("x", 100_000)
	for what, words := range map[string]string{
		"target":     "served=example.com root=x.example.com x.example.com A " + long,
		"name":       "served=example.com root=x.example.com " + long + " A 192.0.2.1",
		"type":       "served=example.com root=x.example.com x.example.com " + long + " 192.0.2.1",
		"rootHost":   "served=example.com root=" + long + " x.example.com A 192.0.2.1",
		"zoneID":     "root=x.example.com zone=" + long + " x.example.com A 192.0.2.1",
		"identifier": "served=example.com root=x.example.com\n    x.example.com A 192.0.2.1 set=" + long + "\n    x.example.com A 192.0.2.2 set=" + long,
	} {
		_, s := compiled(t, recordstest.Zones("example.com."), "dnsrecord a/r "+words)
		if v := s.Verdict("c1", api.Ref{Kind: api.KindDNSRecord, Name: "a/r"}); v != nil && len(fmt.Sprint(*v)) > most {
			t.Errorf("%s: the verdict has %d octets", what, len(fmt.Sprint(*v)))
		}
	}
}

// TestManyRecordProbes: one DNSRecord has 1,000 probes at the most, those of its first targets; once they are written, it alone is told.
func TestManyRecordProbes(t *testing.T) {
	text := "dnsrecord n/r root=app.example.com zone=example.com uid=u check=HTTP:80/up"
	for i := range 5 {
		text += fmt.Sprintf("\n    h%d.app.example.com A", i)
		for j := range 300 {
			text += fmt.Sprintf(" 10.%d.%d.%d", i, j/256, j%256)
		}
	}
	w, s := compiled(t, recordstest.Zones("example.com."), text)
	names := make(map[string]bool)
	for _, c := range s.Children("c1", api.Ref{Kind: api.KindDNSRecord, Name: "n/r"}) {
		names[c.Name] = true
	}
	if n := s.Checks().Len(); len(names) != 1000 || n != 1500 || !names["n/r-10.0.0.0"] || names["n/r-10.4.1.43"] {
		t.Errorf("of %d targets %d have probes, want 1000 of 1500, the first ones", n, len(names))
	}
	write(t, w, "c1", api.Ref{Kind: api.KindDNSRecord, Name: "n/r"})
	if told := records.Compile(s, w.Objects(), w.Options, w.Now).ChildrenChanged(); len(told) != 1 {
		t.Errorf("once they are written, %d objects are named, not the DNSRecord alone", len(told))
	}
}

// TestManySecretsAreReported: a policy's selector means more Secrets than count. It says so.
func TestManySecretsAreReported(t *testing.T) {
	for n, want := range map[int]bool{100: false, 102: true} {
		text := "gateway n/p host=app.example.com addr=192.0.2.1\npolicy n/p strategy=simple spec.providerSelector={matchLabels: {dns: only}}"
		for i := range n {
			text += fmt.Sprintf("\nsecret n/s%03d labels=dns:only ZONE_ID=example.com DOMAIN_NAME=app.example.com", i)
		}
		_, s := compiled(t, recordstest.Zones("example.com."), text)
		said := condition(s, api.KindDNSPolicy, "n/p")
		if v := s.Verdict("c1", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}); v.TotalRecords != 1 || strings.Contains(said, "the first 100 by name are used, 2 are not") != want {
			t.Errorf("%d Secrets: %d records, and it says %q", n, v.TotalRecords, said)
		}
	}
}

// TestEntries: the status of a Zone has its records, the SOA first, 1,000 at the most, and says where there are more (docs/write-back.md).
func TestEntries(t *testing.T) {
	const zone = "zone dns/z example.com. ttl=360 delegate=*\nrecord dns/ns example.com. NS ns.example.net.\nrecord dns/www www.example.com. A 192.0.2.1\n"
	_, s := compiled(t, recordstest.Zones("example.com."), zone)
	entries, more := s.Entries("c1", "dns/z")
	if len(entries) != 3 || more || entries[0].Type != "SOA" || entries[0].FQDN != "example.com." || entries[0].Class != "IN" || entries[0].TTL != 360 ||
		entries[2] != (api.Entry{FQDN: "www.example.com.", Type: "A", Class: "IN", TTL: 360, RData: "192.0.2.1"}) {
		t.Errorf("the entries are %+v, more %v", entries, more)
	}
	var text strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&text, "record dns/r%d r%d.example.com. A 192.0.2.1\n", i, i)
	}
	_, s = compiled(t, recordstest.Zones("example.com."), zone+text.String())
	if full, more := s.Entries("c1", "dns/z"); len(full) != 1000 || !more || full[0].Type != "SOA" {
		t.Errorf("of 1,103 records %d are told, more %v", len(full), more)
	}
	if said := condition(s, api.KindZone, "dns/z"); !strings.Contains(said, "status.entries has only the first 1000 records of the zone; a zone transfer has all") {
		t.Errorf("the verdict is %s", said)
	}
	if _, line := s.Verdict("c1", api.Ref{Kind: api.KindZone, Name: "dns/z"}).Problem(); line != "" {
		t.Errorf("the log would say %q", line)
	}
	if entries, _ := s.Entries("c1", "dns/unknown"); entries != nil {
		t.Errorf("a Zone that is not there has %d entries", len(entries))
	}
}
