package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// childrenOf writes down what a policy's children are and should be.
func childrenOf(s *Snapshot, of ParentRef) string {
	existing := s.Existing(of.Cluster, of.Of)
	slices.SortFunc(existing, func(a, b api.Ref) int { return compareText(fmt.Sprint(a), fmt.Sprint(b)) })
	return tellAll(s.Children(of.Cluster, of.Of)) + fmt.Sprint(existing)
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// someUserRecords are DNSRecords that users write: some have names of policies' children, and those
// of zoneworld_test.go.
var someUserRecords = []string{"g1", "g1-l0", "g2-l1", "e1", "e2", "e3", "e1-192"}

// allParents returns every policy and DNSRecord that is, or may have been.
func allParents(w *world) (all []ParentRef) {
	for _, c := range w.clusters {
		for _, ns := range []string{"n1/", "n2/"} {
			for _, name := range someGateways {
				all = append(all, ParentRef{c.Name, ofPolicy(ns + name)})
			}
			for _, name := range someUserRecords {
				all = append(all, ParentRef{c.Name, ofRecord(ns + name)})
			}
		}
	}
	return all
}

// TestChildrenFollowed: whoever asks again for the children that ChildrenChanged names knows
// all, step by step as from nothing, while somebody writes them; what should be written does not
// differ for it, once it is, and no two objects want one name that one of them has.
func TestChildrenFollowed(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 60) {
		w, opt := randomWorld(seed)
		r := rand.New(rand.NewPCG(seed, 9))
		var snap *Snapshot
		known := make(map[ParentRef]string)
		for step := range 40 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			for i := range w.clusters {
				if r.IntN(3) == 0 {
					w.mutateProvided(r, i)
				}
				if r.IntN(2) == 0 {
					w.mutateUserRecord(r, i)
				}
				if snap != nil && r.IntN(3) == 0 {
					w.writeChildren(snap, i, pick(r, allParents(w)).Of)
				}
				if snap != nil && r.IntN(3) == 0 {
					w.takeName(r, i, snap)
				}
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, snap.in, opt, testTime)
			changed := snap.ChildrenChanged()
			if changed == nil {
				changed = allParents(w)
			}
			for _, of := range changed {
				known[of] = childrenOf(snap, of)
			}
			names := make(map[string]ParentRef)
			for _, of := range allParents(w) {
				want := childrenOf(whole, of)
				if got := childrenOf(snap, of); got != want {
					t.Fatalf("seed %d step %d: children of %v step by step\n%s\nfrom nothing\n%s", seed, step, of, got, want)
				}
				if known[of] != want {
					t.Fatalf("seed %d step %d: nobody told that the children of %v are\n%s\nand not\n%s", seed, step, of, want, known[of])
				}
				for _, c := range snap.Children(of.Cluster, of.Of) {
					key := of.Cluster + " " + c.Kind.String() + " " + c.Name
					if other, twice := names[key]; twice && hasChild(snap, other, c) {
						t.Fatalf("seed %d step %d: %v and %v both want %s", seed, step, other, of, key)
					}
					names[key] = of
				}
			}
		}
		w.settleChildren(t, snap, opt)
	}
}

// hasChild tells whether an object has a child of the kind and name of c already.
func hasChild(s *Snapshot, of ParentRef, c api.Child) bool {
	return s.parentObject(of.Cluster, of.Of).has(c.Kind, c.Name)
}

// takeName puts a probe where an object wants to have one: a user's, or what seems to be another
// object's.
func (w *world) takeName(r *rand.Rand, cluster int, s *Snapshot) {
	of := pick(r, allParents(w))
	for _, c := range s.Children(w.clusters[cluster].Name, of.Of) {
		if c.Kind != api.KindProbe || r.IntN(2) == 0 {
			continue
		}
		p := randomProbe(r)
		if r.IntN(3) > 0 {
			other := pick(r, allParents(w)).Of
			p.Labels, p.Controlled = map[string]string{api.LabelManagedBy: api.ManagedBy}, true
			p.Controller = &api.Controller{Kind: other.Kind.String(), Name: bareOf(other.Name), UID: pick(r, []string{"u1", "r1"})}
		}
		w.setProbe(cluster, c.Name, p)
	}
}

// mutateUserRecord changes a DNSRecord that a user, or another controller, has written, or a probe
// that stands for one, or seems to.
func (w *world) mutateUserRecord(r *rand.Rand, cluster int) {
	name := pick(r, []string{"n1/", "n1/", "n2/"}) + pick(r, someUserRecords)
	if r.IntN(4) == 0 {
		p := randomProbe(r)
		switch r.IntN(4) {
		case 0:
			p = nil
		case 1: // a user's own
		default:
			p.Labels, p.Controlled = map[string]string{api.LabelManagedBy: api.ManagedBy}, true
			p.Controller = &api.Controller{Kind: "DNSRecord", Name: pick(r, someUserRecords), UID: pick(r, []string{"u1", "r1", "r2"})}
		}
		w.setProbe(cluster, name+pick(r, []string{"-192-0-2-1", "-0-2-1", "-lb-example-net"}), p)
		return
	}
	if r.IntN(6) == 0 {
		w.setDNSRecord(cluster, name, nil)
		return
	}
	rec := &api.DNSRecord{
		Meta: api.Meta{UID: pick(r, []string{"r1", "r1", "r2"}), Created: int64(r.IntN(5)), Deleting: r.IntN(12) == 0}, RootHost: pick(r, []string{"a.example.com.", "*.a.example.com.", "example.com."}),
		ZoneID: pick(r, []string{"example.com", "example.com", "example.com", "a.example.com", ""}), HealthCheck: pick(r, append(someChecks[:3:3], nil)),
	}
	switch r.IntN(12) {
	case 0:
		rec.CheckInvalid = "not usable"
	case 1:
		rec.Provider.Kind = "ExternalDNS"
		rec.Labels = map[string]string{api.LabelZoneName: "example.com"}
	case 2:
		rec.Controlled, rec.Controller = true, &api.Controller{Kind: "DNSPolicy", Name: "g1", UID: "u1"}
	}
	host := pick(r, []string{"a.example.com.", "b.a.example.com.", "*.a.example.com.", "example.com."})
	rec.Endpoints = append(rec.Endpoints, apiEndpoint(host, "A", pick(r, []string{"192.0.2.1", "192.0.2.2"}), "192.0.2.3"))
	if r.IntN(2) == 0 {
		rec.Endpoints = append(rec.Endpoints, apiEndpoint("b.a.example.com.", "A", "192.0.2.1"))
	}
	switch r.IntN(4) {
	case 0:
		rec.Endpoints = chainOf("a.example.com.", "192.0.2.1")
	case 1:
		rec.Endpoints = []api.Endpoint{apiEndpoint(host, "CNAME", "lb.example.net")}
	}
	w.setDNSRecord(cluster, name, rec)
}

// mutateProvided changes a policy to one with providers, or a Secret.
func (w *world) mutateProvided(r *rand.Rand, cluster int) {
	if r.IntN(2) == 0 {
		s := randomSecret(r)
		if s != nil {
			s.Labels = pick(r, []map[string]string{{"team": "a"}, {"team": "a", api.LabelDefaultProvider: api.DefaultProviderOn}})
		}
		w.setSecret(cluster, "n1/"+pick(r, []string{"provider", "other"}), s)
		return
	}
	p := w.randomPolicy(r)
	p.Deleting, p.Invalid = false, ""
	p.Provider = pick(r, []api.Provider{{}, {Name: "provider", Kind: "Secret"}, {Kind: "ExternalDNS", Name: "x"}, {Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}})
	w.setPolicy(cluster, "n1/"+pick(r, someGateways), p)
}

// settleChildren writes all children until nothing is left to do, which must be soon.
func (w *world) settleChildren(t *testing.T, s *Snapshot, opt *Options) {
	t.Helper()
	const rounds = 4
	before := ""
	for range rounds {
		now := ""
		for i, c := range w.clusters {
			for _, of := range allParents(w) {
				if of.Cluster == c.Name {
					w.writeChildren(s, i, of.Of)
				}
			}
		}
		s = Compile(s, w.objects(), opt, testTime)
		for _, of := range allParents(w) {
			now += childrenOf(s, of)
		}
		if now == before {
			return
		}
		before = now
	}
	t.Fatalf("the children have not come to rest:\n%s", before)
}
