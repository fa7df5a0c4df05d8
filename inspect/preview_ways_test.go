package inspect

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// ways are three hosts of endpoints: one with an address, one with members beside each other, and one with a chain to them.
type ways []api.Endpoint

// someWays returns ways of which all that may differ is drawn.
func someWays(r *rand.Rand) ways {
	var all ways
	add := func(name, rtype, target, setID string, weight int64) {
		all = append(all, api.Endpoint{
			DNSName: name, Type: rtype, Targets: []string{target}, SetID: setID, Weight: weight, TTL: 30,
			Index: len(all),
		})
	}
	add("one.example.com.", "A", "192.0.2.1", "", api.NoWeight)
	add("one.example.com.", "AAAA", "2001:db8::1", "", api.NoWeight)
	add("flat.example.com.", "A", "192.0.2.2", "a", 60)
	add("flat.example.com.", "A", "192.0.2.3", "b", 60)
	group := []string{"eu", "xx"}[r.IntN(2)] + ".klb.chain.example.com."
	add("chain.example.com.", "CNAME", "klb.chain.example.com.", "", api.NoWeight)
	add("klb.chain.example.com.", "CNAME", group, "", api.NoWeight)
	add(group, "CNAME", "m1.klb.chain.example.com.", "m1", 60)
	add(group, "CNAME", "m2.klb.chain.example.com.", "m2", 60)
	add("m1.klb.chain.example.com.", "A", "192.0.2.4", "", api.NoWeight)
	add("m2.klb.chain.example.com.", "A", "192.0.2.5", "", api.NoWeight)
	add("m2.klb.chain.example.com.", "AAAA", "2001:db8::5", "", api.NoWeight)
	return all
}

// compiled returns the snapshot of the ways.
func (w ways) compiled() *records.Snapshot {
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	endpoints, dnsRecords := c.DNSEndpoints.Edit(), c.DNSRecords.Edit()
	for _, host := range []string{"one", "flat", "chain"} {
		var all []api.Endpoint
		for _, e := range w {
			if dns.IsSubDomain(host+".example.com.", e.DNSName) {
				all = append(all, e)
			}
		}
		meta := api.Meta{Name: "n/" + host, Cluster: "c", UID: host, Created: 1}
		if host == "chain" {
			dnsRecords.Set(meta.Name, &api.DNSRecord{Meta: meta, ZoneID: "example.com", RootHost: "chain.example.com.", Endpoints: all})
		} else {
			endpoints.Set(meta.Name, &api.DNSEndpoint{Meta: meta, Endpoints: all})
		}
	}
	c.DNSEndpoints, c.DNSRecords = endpoints.Map(), dnsRecords.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	return records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))
}

// TestPreviewTellsEveryTTL: where the TTL of one RRset changes, or the name of a group, the name that is answered with it is among
// those that change, and the others are not.
func TestPreviewTellsEveryTTL(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	told := make(map[string]int)
	for range 200 {
		before := someWays(r)
		after := someWays(r)
		if i := r.IntN(len(before)); r.IntN(2) == 0 {
			after = slices.Clone(before)
			after[i].TTL = 7
		}
		a, b := before.compiled(), after.compiled()
		p := Compare(a, b, nil, nil)
		listed := make(map[string]bool)
		for _, n := range p.Names {
			if listed[n.Name] = true; len(n.Plus)+len(n.Minus)+len(n.Members) == 0 {
				t.Errorf("%s: nothing is said of the change", n.Name)
			}
		}
		for _, host := range []string{"one", "flat", "chain"} {
			name, same := host+".example.com", true
			for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
				q := records.Query{Name: name + ".", Owner: name + ".", Type: qtype, Client: netip.IPv4Unspecified()}
				same = same && possible(a, q) == possible(b, q)
			}
			if same == listed[name] {
				t.Fatalf("%s: the answers are the same: %v, and it is told: %v, of\n%v\n%v", name, same, listed[name], before, after)
			}
			if !same {
				told[host]++
			}
		}
	}
	for _, host := range []string{"one", "flat", "chain"} {
		if told[host] < 10 {
			t.Error(fmt.Sprint(told), "is too few to tell")
		}
	}
}

// TestSetsText: each TTL is told that is another.
func TestSetsText(t *testing.T) {
	name := records.TreeSet{Name: "klb.h.example.com", Type: "CNAME", TTL: 300}
	v4, v6 := records.TreeSet{Name: "m.example.com", Type: "A", TTL: 60}, records.TreeSet{Name: "m.example.com", Type: "AAAA", TTL: 60}
	short := v6
	short.TTL = 30
	for _, c := range []struct {
		sets []records.TreeSet
		want string
	}{
		{[]records.TreeSet{name}, "CNAME at klb.h.example.com with TTL 300"},
		{[]records.TreeSet{v4}, "addresses with TTL 60"},
		{[]records.TreeSet{v4, v6}, "addresses with TTL 60"},
		{[]records.TreeSet{v4, short}, "A with TTL 60; AAAA with TTL 30"},
		{[]records.TreeSet{name, v4, short}, "CNAME at klb.h.example.com with TTL 300; A with TTL 60; AAAA with TTL 30"},
	} {
		if got := setsText(c.sets); got != c.want {
			t.Errorf("%v: %q, want %q", c.sets, got, c.want)
		}
	}
}
