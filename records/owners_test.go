package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// contends is rule 5.7 as it is written, for two claims.
func contends(a, b *claim) bool {
	inside := func(a, b *claim) bool {
		return a.steers() && rdata.IsSubdomain(klbLabel+rdata.Base(a.host), rdata.Base(b.host))
	}
	return a.host == b.host || inside(a, b) || inside(b, a) ||
		rdata.Base(a.host) == rdata.Base(b.host) && a.steers() && b.steers()
}

// TestOwners compares resolveOwners with each claim held against all winners
// before it.
func TestOwners(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hosts := []string{
		"h.", "*.h.", "klb.h.", "*.klb.h.", "x.klb.h.", "klb.x.klb.h.", "klb.klb.h.", "y.klb.x.klb.h.", "xklb.h.", "x.klb.klb.h.",
	}
	lostAll := 0
	for range 3000 {
		var claims []*claim
		for i := range 1 + r.IntN(12) {
			p := &api.DNSPolicy{Meta: api.Meta{
				Name:    fmt.Sprintf("ns%d/p%d", r.IntN(2), r.IntN(3)),
				Cluster: fmt.Sprintf("c%d", r.IntN(3)),
			}, Strategy: pick(r, []api.Strategy{api.Simple, api.WeightedGeo, api.WeightedGeo})}
			c := &claim{by: &p.Meta, kind: api.KindDNSPolicy, policy: p, host: pick(r, hosts), listener: fmt.Sprint(i)}
			switch r.IntN(6) {
			case 0:
				c.kind, c.policy = api.KindRecord, nil
			case 1:
				c.kind, c.steering = api.KindDNSRecord, r.IntN(2) == 0
				c.weighed = c.steering || r.IntN(2) == 0
			}
			claims = append(claims, c)
		}
		var won []*claim
		var lost []loss
		for _, c := range claims {
			i := slices.IndexFunc(won, func(w *claim) bool { return contends(w, c) && !share(w, c) })
			if i < 0 {
				won = append(won, c)
			} else {
				lost = append(lost, loss{c, won[i], false})
			}
		}
		gotWon, gotLost := resolveOwners(claims, steeringBases)
		if !slices.Equal(gotWon, won) || !slices.Equal(gotLost, lost) {
			t.Fatalf("claims %s\nwon %s\nwant %s\nlost %d, want %d", show(claims), show(gotWon), show(won), len(gotLost), len(lost))
		}
		lostAll += len(lost)
	}
	if lostAll == 0 {
		t.Error("no claim lost")
	}
}

func show(claims []*claim) (s string) {
	for _, c := range claims {
		s += fmt.Sprintf(" %s/%s:%s(%v)", c.policy.Cluster, c.policy.Name, c.host, c.policy.Strategy)
	}
	return s
}
