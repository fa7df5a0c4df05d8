package pool

import (
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// TestRankGoesThroughOrder: rank, which is written out, asks the steps of order, and a higher rank has the verdict of the
// first step that tells the two apart.
func TestRankGoesThroughOrder(t *testing.T) {
	p, b := &Pool{Default: 1}, &Builder{groups: make(map[string]Group)}
	for i, code := range []string{"IE", "US", "GEO-AS", ""} {
		p.Groups = append(p.Groups, b.group(code))
		p.Members = append(p.Members, Member{Group: int32(i), Weight: 1})
	}
	p.seal(false)
	clients := []*geo.Codes{nil, {}, geo.Client("IE"), geo.Client("US-CA"), geo.Client("JP")}
	r := rand.New(rand.NewPCG(1, 2))
	places := func(m *Member, is Class, at *geo.Codes) (all [len(order)]uint8) {
		for i, s := range order {
			all[i] = s.Place(p, m, is, at)
		}
		return all
	}
	for range 2000 {
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
		if got := max(rx, ry).verdict(min(rx, ry)); got != want || (rx < ry) != less || (rx == ry) != (x == y) {
			t.Fatalf("places %v and %v have ranks %x and %x and the verdict %s, want %s", x, y, rx, ry, got, want)
		}
	}
}
