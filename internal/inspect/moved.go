package inspect

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// places is the world as far as names need it: the codes of clients, and their number.
type places struct {
	all    []geo.Place
	v4, v6 float64 // in all
	of     string  // Moved.Of
	// merged has the places as names distinguish them, by the codes that matter to a name.
	merged map[string][]geo.Place
}

// newPlaces returns the places of a space; of all countries for a nil or empty one.
func newPlaces(s *geo.Space) *places {
	p := &places{merged: make(map[string][]geo.Place)}
	if s != nil && s.V4+s.V6 > 0 {
		p.all, p.v4, p.v6, p.of = s.Places, s.V4, s.V6, "addresses"
		return p
	}
	p.of = "countries"
	for _, c := range geo.Countries() {
		p.all = append(p.all, geo.Place{Codes: geo.Codes{geo.CodeCountry: c.Code, geo.CodeContinent: c.Continent}, V4: 1, V6: 1})
	}
	p.v4, p.v6 = float64(len(p.all)), float64(len(p.all))
	return p
}

// toldApartBy returns the places with only the given codes; places that become equal are merged.
func (p *places) toldApartBy(codes map[string]bool) []geo.Place {
	names := make([]string, 0, len(codes))
	for c := range codes {
		names = append(names, c)
	}
	slices.Sort(names)
	key := strings.Join(names, " ")
	if list, ok := p.merged[key]; ok {
		return list
	}
	by := make(map[geo.Codes]*geo.Place)
	var order []geo.Codes
	for i := range p.all {
		kept := p.all[i].Codes
		for j := range kept {
			if !codes[kept[j]] {
				kept[j] = ""
			}
		}
		one := by[kept]
		if one == nil {
			one = &geo.Place{Codes: kept}
			by[kept], order = one, append(order, kept)
		}
		one.V4, one.V6 = one.V4+p.all[i].V4, one.V6+p.all[i].V6
	}
	list := make([]geo.Place, len(order))
	for i, c := range order {
		list[i] = *by[c]
	}
	p.merged[key] = list
	return list
}

// part returns an amount of the address space as a part of the whole.
func part(amount, all float64) float64 {
	if all == 0 {
		return 0
	}
	return amount / all
}

// moved returns the part of a name's clients that get other addresses than before; nil for none. A
// client with one of several at random moves by the difference of the odds; of IPv4 and IPv6, the
// family that moves more clients of a place counts.
func (c *comparison) moved(name string, was, is *records.Tree) *Moved {
	codes := make(map[string]bool)
	for _, t := range [...]*records.Tree{was, is} {
		for _, g := range t.Groups {
			codes[g.Geo] = true
		}
	}
	before, after := newSide(c.before, was), newSide(c.after, is)
	var v4, v6 float64
	for _, p := range c.places.toldApartBy(codes) {
		d := movedAt(name, before, after, &p.Codes)
		v4, v6 = v4+d*p.V4, v6+d*p.V6
	}
	if v4+v6 == 0 {
		return nil
	}
	return &Moved{IPv4: part(v4, c.places.v4), IPv6: part(v6, c.places.v6), Of: c.places.of}
}

// movedAt returns the part of the clients at a place that get other addresses. The first addresses of a family add to
// the others.
func movedAt(name string, was, is *side, codes *geo.Codes) (d float64) {
	types := [...]uint16{dns.TypeA, dns.TypeAAAA}
	var before [len(types)]map[string]float64
	for i, rtype := range types {
		before[i] = was.odds(name, rtype, codes)
	}
	for i, rtype := range types {
		if len(before[i]) > 0 || len(before[1-i]) == 0 {
			d = max(d, distance(before[i], is.odds(name, rtype, codes)))
		}
	}
	return d
}

// side is a name in one of two snapshots.
type side struct {
	snapshot *records.Snapshot
	tree     *records.Tree
	members  map[string]memberAt // as membersByKey has them
}

func newSide(s *records.Snapshot, t *records.Tree) *side {
	members, _ := membersByKey(t)
	return &side{s, t, members}
}

// odds returns the probability of each address for a client at a place, as far as the name itself
// decides it.
func (s *side) odds(name string, rtype uint16, codes *geo.Codes) map[string]float64 {
	all := make(map[string]float64)
	if len(s.tree.Groups) == 0 {
		share(all, s.tree.Addrs, 1, rtype)
		if len(s.tree.Addrs) == 0 {
			shareRecords(all, s.tree.Records, rtype)
		}
		return all
	}
	var a records.Answer
	x := s.snapshot.Explain(s.snapshot.Zone(name), &records.Query{
		Name: name, Owner: name, Type: rtype, Client: netip.IPv4Unspecified(), Locator: (*place)(codes),
	}, &a)
	choice := chosen(x)
	if choice == nil {
		return all
	}
	for i := range choice.Members {
		if m := &choice.Members[i]; m.Share > 0 {
			share(all, s.members[m.Member+" "+m.Geo].Addresses, m.Share, rtype)
		}
	}
	return all
}

// share adds to the odds of the addresses of the best class, for a type.
func share(odds map[string]float64, addresses []records.AddressState, whole float64, rtype uint16) {
	best := bestOf(addresses, rtype)
	for _, a := range best {
		odds[a] += whole / float64(len(best))
	}
}

// shareRecords adds to the odds of addresses in Records, in the form of zone files, and of a CNAME's
// target among them.
func shareRecords(odds map[string]float64, all []string, rtype uint16) {
	var data []string
	for _, text := range all {
		rr, err := dns.NewRR(text)
		if err != nil || rr == nil || rr.Header().Rrtype != rtype && rr.Header().Rrtype != dns.TypeCNAME {
			continue
		}
		data = append(data, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	for _, d := range data {
		odds[d] += 1 / float64(len(data))
	}
}

// distance returns the part of the draws that differ between two sets of odds (total variation
// distance).
func distance(a, b map[string]float64) (sum float64) {
	for k, p := range a {
		sum += max(0, p-b[k])
	}
	up := 0.0
	for k, p := range b {
		up += max(0, p-a[k])
	}
	if d := max(sum, up); d > 1e-9 { // less comes from rounding
		return min(d, 1)
	}
	return 0
}
