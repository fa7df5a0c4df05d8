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
	existing := s.Existing(of.Cluster, of.Policy)
	slices.SortFunc(existing, func(a, b api.Ref) int { return compareText(fmt.Sprint(a), fmt.Sprint(b)) })
	return tellAll(s.Children(of.Cluster, of.Policy)) + fmt.Sprint(existing)
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

// allParents returns every policy that is, or may have been.
func allParents(w *world) (all []ParentRef) {
	for _, c := range w.clusters {
		for _, ns := range []string{"n1/", "n2/"} {
			for _, name := range someGateways {
				all = append(all, ParentRef{c.Name, ns + name})
			}
		}
	}
	return all
}

// TestChildrenFollowed: whoever asks again for the children that ChildrenChanged names knows
// all, step by step as from nothing, while somebody writes them; what should be written does not
// differ for it, once it is, and no two policies have one name.
func TestChildrenFollowed(t *testing.T) {
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
				if snap != nil && r.IntN(3) == 0 {
					w.writeChildren(snap, i, pick(r, allParents(w)).Policy)
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
				for _, c := range snap.Children(of.Cluster, of.Policy) {
					key := of.Cluster + " " + c.Kind.String() + " " + c.Name
					if other, twice := names[key]; twice {
						t.Fatalf("seed %d step %d: %v and %v both want %s", seed, step, other, of, key)
					}
					names[key] = of
				}
			}
		}
		w.settleChildren(t, snap, opt)
	}
}

// mutateProvided changes a policy to one with providers, or a Secret.
func (w *world) mutateProvided(r *rand.Rand, cluster int) {
	if r.IntN(2) == 0 {
		s := randomSecret(r)
		if s != nil {
			s.Labels = map[string]string{"team": "a"}
		}
		w.setSecret(cluster, "n1/"+pick(r, []string{"provider", "other"}), s)
		return
	}
	p := w.randomPolicy(r)
	p.Deleting, p.Invalid = false, ""
	p.Provider = pick(r, []api.Provider{{Name: "provider", Kind: "Secret"}, {Kind: "ExternalDNS", Name: "x"}, {Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}})
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
					w.writeChildren(s, i, of.Policy)
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
