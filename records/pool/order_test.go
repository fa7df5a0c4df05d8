package pool

import (
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
)

// TestRankGoesThroughOrder: rank, which is written out, asks the steps of an order, and a higher rank has the verdict of the
// first step that tells the two apart.
func TestRankGoesThroughOrder(t *testing.T) {
	p, b := &Pool{Default: 1}, &Builder{groups: make(map[string]Group)}
	for i, code := range []string{"IE", "US", "GEO-AS", ""} {
		p.Groups = append(p.Groups, b.group(code))
		p.Members = append(p.Members, Member{Group: int32(i), Weight: 1}, Member{Group: int32(i), Weight: 1, Priority: uint8(i)})
	}
	p.seal(false)
	clients := []*geo.Codes{nil, {}, geo.Client("IE"), geo.Client("US-CA"), geo.Client("JP")}
	r := rand.New(rand.NewPCG(1, 2))
	order := &orders[api.OrderGeo]
	places := func(m *Member, is Class, at *geo.Codes) (all [len(order)]uint8) {
		for i, s := range order {
			all[i] = s.Place(p, m, is, at)
		}
		return all
	}
	for range 4000 {
		first := uint8(r.IntN(len(orders)))
		p.Attributes.Values[api.Order], order = first, &orders[first]
		at := clients[r.IntN(len(clients))]
		m, o := &p.Members[r.IntN(len(p.Members))], &p.Members[r.IntN(len(p.Members))]
		is, oIs := Class(r.IntN(int(ForcedDown)+1)), Class(r.IntN(int(ForcedDown)+1))
		x, y := places(m, is, at), places(o, oIs, at)
		rx, ry := p.rank(m, is, at), p.rank(o, oIs, at)
		want, less := VerdictNotDrawn, false
		for i := range x {
			if x[i] != y[i] {
				want, less = order[i].Verdict(), x[i] < y[i]
				break
			}
		}
		if got := p.verdict(max(rx, ry), min(rx, ry)); got != want || (rx < ry) != less || (rx == ry) != (x == y) {
			t.Fatalf("places %v and %v have ranks %x and %x and the verdict %s, want %s", x, y, rx, ry, got, want)
		}
	}
}
