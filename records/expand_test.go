package records

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// messageOf returns what the owner of an object with endpoints is told.
func messageOf(s *Snapshot, kind api.Kind, name string) string {
	return s.Verdict("c1", api.Ref{Kind: kind, Name: name}).Conditions[0].Message
}

// TestGroupNameFallsToHostname asks for the name of a group in which nothing is up: it
// answers as klb.H' would, from a group that has no name of its own (rule 2.4).
func TestGroupNameFallsToHostname(t *testing.T) {
	const host, klb = "a.example.com", "klb.a.example.com"
	w, files := newWorld("c1"), make(manifests)
	w.overrides = overridesOf(t, "target 192.0.2.1 down")
	files.apply(t, w, dnsRecordOf("ns1/x", 1, host,
		row(host, "CNAME", klb, ""),
		row(klb, "CNAME", "ie."+klb, "setIdentifier: IE, "+geoCode("IE")),
		row(klb, "CNAME", "lb.example.net", "setIdentifier: default, "+geoCode("*")),
		row("ie."+klb, "CNAME", "one."+klb, weight("one")),
		row("one."+klb, "A", "192.0.2.1", "")))
	snap := Compile(nil, w.objects(), openZone(), testTime)
	for _, name := range []string{klb, "ie." + klb} {
		want := name + ". 60 IN CNAME lb.example.net."
		if got := told(snap, name+".", dns.TypeA, "10.1.0.1", 0); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestLongChainOfEndpoints has names that lead from one to the next: however many there
// are, what is followed has a bound (rule 8.4).
func TestLongChainOfEndpoints(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const objects, names = 8, 1000
	name := func(i int) string { return fmt.Sprintf("n%d.klb.a.example.com.", i) }
	w := newWorld("c1")
	for o := range objects {
		list := []api.Endpoint{{DNSName: "a.example.com.", Type: "CNAME", Targets: []string{name(0)}, Weight: api.NoWeight}}
		for i := o * names; i < (o+1)*names-1; i++ {
			list = append(list, api.Endpoint{DNSName: name(i), Type: "CNAME", Targets: []string{name(i + 1)}, Weight: api.NoWeight})
		}
		list = append(list, api.Endpoint{DNSName: name((o+1)*names - 1), Type: "CNAME", Targets: []string{name((o + 1) * names)}, Weight: api.NoWeight})
		w.setDNSEndpoint(0, fmt.Sprintf("ns1/x%d", o), &api.DNSEndpoint{Endpoints: list})
	}
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if got := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0); !strings.Contains(got, "NOERROR") {
		t.Errorf("%s\nwant NOERROR", got)
	}
}

// TestMembersHaveABound has more members at one name than a query looks at: those of the
// older objects are served, and the others are told (rule 8.4).
func TestMembersHaveABound(t *testing.T) {
	w, files := newWorld("c1"), make(manifests)
	const objects, each = 3, maxMembers / 2
	for o := range objects {
		var list []string
		for i := range each {
			id := fmt.Sprintf("m%d-%d", o, i)
			list = append(list, row("a.example.com", "CNAME", id+".example.net", weight(id)))
		}
		files.apply(t, w, endpointOf(fmt.Sprintf("ns1/x%d", o), o+1, list...))
	}
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if n := len(snap.zones[0].find("a.example.com.").steered.view.pool.members); n != maxMembers {
		t.Errorf("%d members, want %d", n, maxMembers)
	}
	for o, want := range []string{"served", "served", "a.example.com leads to too many targets: at most 1000 of one name are served, of older objects first"} {
		v := snap.Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: fmt.Sprintf("ns1/x%d", o)})
		if c := v.Conditions[0]; c.Message != want || (c.Status == api.ConditionTrue) != (want == "served") {
			t.Errorf("object %d: %v, want %q", o, c, want)
		}
	}
}

// TestHostLeavesItsWildcardWays has a host with very many ways: its wildcard is answered
// all the same (rule 8.1).
func TestHostLeavesItsWildcardWays(t *testing.T) {
	const n, klb = 40, "klb.a.example.com"
	for _, greedy := range []string{"a.example.com", "*.a.example.com"} {
		modest := map[string]string{"a.example.com": "*.a.example.com", "*.a.example.com": "a.example.com"}[greedy]
		list := []string{row(modest, "CNAME", "lb.example.net", weight("m"))}
		for i := range n {
			leaf := fmt.Sprintf("l%d.%s", i, klb)
			list = append(list, row(greedy, "CNAME", klb, weight(fmt.Sprint("w", i))), row(klb, "CNAME", leaf, weight(fmt.Sprint("k", i))), row(leaf, "A", "192.0.2.1", ""))
		}
		w, files := newWorld("c1"), make(manifests)
		files.apply(t, w, endpointOf("ns1/x", 1, list...))
		snap := Compile(nil, w.objects(), openZone(), testTime)
		for name, want := range map[string]string{strings.Replace(modest, "*", "x", 1): "lb.example.net.", strings.Replace(greedy, "*", "x", 1): "192.0.2.1"} {
			if got := told(snap, name+".", dns.TypeA, "10.1.0.1", 0); !strings.Contains(got, want) {
				t.Errorf("%s beside a greedy %s:\n%s\nwant %s", name, greedy, got, want)
			}
		}
	}
}

// TestHostnameOfTwoClusters has two clusters offer one hostname: it is down only where both
// are, while another member is up (rules 4.5 and 5.6).
func TestHostnameOfTwoClusters(t *testing.T) {
	for word, both := range map[string]bool{"cluster c1 down": true, "cluster c2 down": true, "cluster c1 down\ncluster c2 down": false} {
		w, files := newWorld("c1", "c2", "c3"), make(manifests)
		w.overrides = overridesOf(t, word)
		for i, list := range [][]string{
			{row("a.example.com", "CNAME", "lb.example.net", weight("one"))},
			{row("a.example.com", "CNAME", "lb.example.net", weight("one"))},
			{row("a.example.com", "CNAME", "other.example.net", weight("two"))},
		} {
			o := dnsRecordOf("ns1/x", 1, "a.example.com", list...)
			o.cluster = i
			files.apply(t, w, o)
		}
		snap := Compile(nil, w.objects(), openZone(), testTime)
		var first bool
		for i := range uint64(64) {
			first = first || strings.Contains(told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", i<<58), " lb.example.net.")
		}
		if first != both {
			t.Errorf("%s: lb.example.net is answered: %v, want %v", word, first, both)
		}
	}
}

// TestHostnameOfTwoWeights has two clusters offer one hostname under one set identifier with weights that differ: the older
// one's weight counts, the younger's owner is told, and the hostname is down only where both clusters are (rules 4.5 and 5.6).
func TestHostnameOfTwoWeights(t *testing.T) {
	for word, want := range map[string]string{"cluster c1 down": "lb.example.net.", "cluster c2 down": "lb.example.net.", "cluster c1 down\ncluster c2 down": "other.example.net."} {
		w, files := newWorld("c1", "c2", "c3"), make(manifests)
		w.overrides = overridesOf(t, word)
		row := func(host, id string, weight int) string {
			return row("a.example.com", "CNAME", host, fmt.Sprintf("setIdentifier: %s, providerSpecific: [{name: weight, value: '%d'}]", id, weight))
		}
		for i, r := range []string{row("lb.example.net", "one", 3), row("lb.example.net", "one", 1), row("other.example.net", "two", 0)} {
			o := dnsRecordOf("ns1/x", 1, "a.example.com", r)
			o.cluster = i
			files.apply(t, w, o)
		}
		snap := Compile(nil, w.objects(), openZone(), testTime)
		if got := told(snap, "a.example.com.", dns.TypeA, "10.1.0.1", 0); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", word, got, want)
		}
		v := snap.Verdict("c2", api.Ref{Kind: api.KindDNSRecord, Name: "ns1/x"})
		if got := fmt.Sprint(v.Conditions); !strings.Contains(got, `the set identifier "one" belongs to`) {
			t.Errorf("the owner of the younger one is told %s", got)
		}
	}
}

// TestDefaultBesideOneNotServed has three objects with a default of their own at one name. The second has also a row for a
// code, which leads to where the third's default does, and loses it to the first's set identifier: what is not served
// does not keep the third from being one among all others (rule 5.6), wherever it stands in the list.
func TestDefaultBesideOneNotServed(t *testing.T) {
	const host = "a.example.com"
	for _, swapped := range []bool{false, true} {
		w, files := newWorld("c1"), make(manifests)
		lost := []string{row(host, "CNAME", "lb2.example.net", "setIdentifier: IE, "+geoCode("IE")), row(host, "CNAME", "lb1.example.net", "setIdentifier: d, "+geoCode("*"))}
		if swapped {
			lost[0], lost[1] = lost[1], lost[0]
		}
		files.apply(t, w, dnsRecordOf("ns1/x", 1, host, row(host, "CNAME", "lb0.example.net", "setIdentifier: IE, "+geoCode("IE")), row(host, "CNAME", "lb1.example.net", "setIdentifier: d, "+geoCode("*"))),
			dnsRecordOf("ns1/two", 2, host, lost...), dnsRecordOf("ns1/three", 3, host, row(host, "CNAME", "lb2.example.net", "setIdentifier: d, "+geoCode("*"))))
		if got := messageOf(Compile(nil, w.objects(), openZone(), testTime), api.KindDNSRecord, "ns1/three"); got != "served" {
			t.Errorf("swapped %v: the third is told %q, want that it is served", swapped, got)
		}
	}
}

// TestEqualRowsOfTwoObjects has two objects lead from a host to klb with other TTLs: the
// older one's counts, and nobody is told of a conflict (rule 5.6).
func TestEqualRowsOfTwoObjects(t *testing.T) {
	const host, klb = "a.example.com", "klb.a.example.com"
	w, files := newWorld("c1"), make(manifests)
	for i, ttl := range []int{120, 300} {
		leaf := fmt.Sprintf("l%d.%s", i, klb)
		files.apply(t, w, dnsRecordOf(fmt.Sprintf("ns1/x%d", i), i+1, host,
			row(host, "CNAME", klb, fmt.Sprintf("recordTTL: %d", ttl)), row(klb, "CNAME", leaf, weight(leaf)), row(leaf, "A", fmt.Sprintf("192.0.2.%d", i), "")))
	}
	snap := Compile(nil, w.objects(), openZone(), testTime)
	if got, want := told(snap, host+".", dns.TypeA, "10.1.0.1", 0), host+". 120 IN CNAME "+klb+"."; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i := range 2 {
		if got := messageOf(snap, api.KindDNSRecord, fmt.Sprintf("ns1/x%d", i)); got != "served" {
			t.Errorf("object %d is told %q", i, got)
		}
	}
}
