package records

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestListings checks, for random worlds, that what is listed is what is answered with: every name
// that has data, with its types, and every address that a member may be answered with.
func TestListings(t *testing.T) {
	names, conflicts, troubles := 0, 0, 0
	for seed := range uint64(300) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}}
		r := rand.New(rand.NewPCG(seed, 79))
		w := newWorld("c1", "c2")
		for range 30 {
			w.pair(r)
			w.mutateHealth(r)
			w.mutateZones(r, r.IntN(2))
			w.mutateEndpoints(r, r.IntN(2))
		}
		snap := Compile(nil, w.objects(), opt, testTime)
		findAll(snap, seed)
		for _, z := range snap.Zones() {
			listed := make(map[string]bool, z.Listed())
			for n := range snap.Names(z, "", "") {
				names++
				listed[dns.Fqdn(n.Name)] = true
				checkListed(t, snap, z, &n)
			}
			if len(listed) != z.Listed() {
				t.Errorf("%s: %d names are counted, and %d are listed", z.Origin(), z.Listed(), len(listed))
			}
			for name, n := range z.names.All() {
				if tree, ok := snap.Tree(name); ok && !beginsAt(tree) {
					t.Errorf("no answer of %s begins at it: %+v", name, tree.Groups)
				}
				if n.hasData() && !n.cut && !listed[name] {
					t.Errorf("%s has data, and is not listed", name)
				}
			}
		}
		conflicts += checkConflicts(t, snap)
		for tr := range snap.Troubles() {
			troubles++
			kind, _ := api.ParseKind(tr.Kind)
			reason, why := snap.Verdict(tr.Cluster, api.Ref{Kind: kind, Name: tr.Name}).Problem()
			if tr.Reason != reason || tr.Why != why {
				t.Errorf("%+v: its verdict says %s: %s", tr, reason, why)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if names < 1000 || conflicts < 50 || troubles < 50 {
		t.Errorf("%d names, %d conflicts and %d troubles are too few to tell", names, conflicts, troubles)
	}
}

// beginsAt tells whether the RRsets of some member begin at the name of the tree, or there is none.
func beginsAt(t *Tree) bool {
	none := true
	for _, g := range t.Groups {
		for _, m := range g.Members {
			if len(m.Sets) > 0 && m.Sets[0].Name == t.Name {
				return true
			}
			none = none && len(m.Sets) == 0
		}
	}
	return none
}

// checkListed compares what is listed of a name with its tree, and with answers.
func checkListed(t *testing.T, snap *Snapshot, z *Zone, n *NameState) {
	t.Helper()
	name := dns.Fqdn(n.Name)
	tree, ok := snap.Tree(name)
	if !ok {
		t.Fatalf("%s is listed, and has no tree", name)
	}
	var counts Counts
	members := 0
	for _, g := range tree.Groups {
		members += len(g.Members)
		for _, m := range g.Members {
			for _, a := range m.Addresses {
				counts.add(classNamed(t, a.Class))
			}
		}
	}
	for _, a := range tree.Addrs {
		counts.add(classNamed(t, a.Class))
	}
	if counts != n.Addresses || members != n.Members {
		t.Errorf("%s is listed with %d members and %+v, and its tree has %d and %+v", name, n.Members, n.Addresses, members, counts)
	}
	for _, rtype := range [...]uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeMX, dns.TypeNS} {
		q := Query{Name: name, Owner: name, Type: rtype}
		var a Answer
		x := snap.Explain(z, &q, &a)
		if (n.Hidden != "") != (x.Steps[0].At != n.Name) && !a.Referral {
			t.Errorf("%s is listed as hidden by %q, and %s is answered from %s", name, n.Hidden, dns.Type(rtype), x.Steps[0].At)
		}
		if slices.Contains(n.Types, "CNAME") && !slices.Contains(n.Types, dns.Type(rtype).String()) || a.Referral || n.Hidden != "" || len(a.Answer) > 0 && isCNAME(a.Answer[0]) || a.Rcode != dns.RcodeSuccess || len(x.Steps) > 1 {
			continue // or a hostname at a name that is flat leads elsewhere
		}
		// A hostname at a name that is flat may lead to no such data.
		if got := len(a.Answer) > 0; got != slices.Contains(n.Types, dns.Type(rtype).String()) && (got || n.Answer == "") && !z.Delegates(name) {
			t.Errorf("%s is listed with types %v, and for %s the answer is %v", name, n.Types, dns.Type(rtype), a.Answer)
		}
	}
}

func classNamed(t *testing.T, name string) Class {
	t.Helper()
	for c := WeightedUp; c <= ForcedDown; c++ {
		if c.String() == name {
			return c
		}
	}
	t.Fatalf("there is no class %q", name)
	return 0
}

// checkConflicts compares the conflicts with how many the zones count.
func checkConflicts(t *testing.T, snap *Snapshot) (n int) {
	t.Helper()
	byZone := make(map[string]int)
	for c := range snap.Conflicts() {
		n++
		byZone[c.Zone]++
		if c.Why == "" || c.Loser.Name == "" {
			t.Errorf("a conflict says nothing: %+v", c)
		}
	}
	for _, z := range snap.Zones() {
		if got := byZone[trimDot(z.origin)]; got != z.Conflicts() {
			t.Errorf("%s counts %d conflicts, and %d are listed", z.origin, z.Conflicts(), got)
		}
	}
	return n
}
