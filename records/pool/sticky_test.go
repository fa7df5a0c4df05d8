package pool

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestStickyShares: of a million client networks each member has its share to one percent; one that is down moves its own clients alone;
// and a weight of 11 in place of 10 moves less than 6 % of all, to that member alone (rule 9.2).
func TestStickyShares(t *testing.T) {
	const clients = 1_000_000
	weights := []uint64{1, 2, 3, 4, 10}
	total := uint64(0)
	p := &Pool{Default: None, Groups: []Group{{level: -1}}}
	p.Attributes.Values[api.Sticky] = api.StickyClient
	for i, w := range weights {
		total += w
		p.Members = append(p.Members, Member{ID: string(rune('a' + i)), Weight: w, Gateway: new(health.Cell)})
	}
	p.seal(false)
	p.Aliases = true
	choose := func() (all []uint8) {
		all = make([]uint8, clients)
		at := make(map[*Member]uint8)
		for i := range p.Members {
			at[&p.Members[i]] = uint8(i)
		}
		for i := range all {
			var octets [4]byte
			binary.BigEndian.PutUint32(octets[:], uint32(i)<<8)
			network, _ := Network(netip.AddrFrom4(octets), 24)
			m, _ := p.choose(&Ask{Network: network, Random: uint64(i)}, None, nil)
			all[i] = at[m]
		}
		return all
	}
	moved := func(before, after []uint8) (from, to [5]int) {
		for i := range before {
			if before[i] != after[i] {
				from[before[i]]++
				to[after[i]]++
			}
		}
		return from, to
	}
	first := choose()
	var shares [5]int
	for _, m := range first {
		shares[m]++
	}
	for i, w := range weights {
		want := float64(w) / float64(total)
		if got := float64(shares[i]) / clients; math.Abs(got/want-1) > 0.01 {
			t.Errorf("the member of weight %d has %.4f of the clients, want %.4f", w, got, want)
		}
	}
	p.Members[2].Gateway.Override(health.ForceDown)
	if from, to := moved(first, choose()); from != [5]int{2: shares[2]} || to[2] > 0 {
		t.Errorf("the third member is down: clients moved from %v to %v, of %v", from, to, shares)
	}
	p.Members[2].Gateway.Override(health.NoOverride)
	p.Members[4].Weight = 11
	if from, to := moved(first, choose()); from[4] > 0 || to[4]*100 >= 6*clients || to != [5]int{4: to[4]} {
		t.Errorf("weight 11 in place of 10: clients moved from %v to %v", from, to)
	}
}
