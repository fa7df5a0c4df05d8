package inspect

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Place is where clients are, with one network that stands for them.
type Place struct {
	Network netip.Prefix `json:"network"`
	// Codes are what is known of the network, most specific first; empty for nothing.
	Codes []string `json:"codes"`
}

// ClientOf returns the place of a network, or an address; the error is a *RequestError.
func (v *View) ClientOf(text string) (Place, error) {
	addr, err := ParseClient(text)
	if err != nil {
		return Place{}, err
	}
	if !addr.IsValid() {
		return Place{}, wrong("from", "write an address or a network")
	}
	of := Place{Network: netip.PrefixFrom(addr, addr.BitLen())}
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		of.Network = p.Masked()
		if from := of.Network.Addr(); from.Is4In6() && p.Bits() >= 96 {
			of.Network = netip.PrefixFrom(from.Unmap(), p.Bits()-96)
		}
	}
	if v.Locator != nil {
		codes, _ := v.Locator.Locate(addr, geo.NeedPlace|geo.NeedAS)
		of.Codes = known(codes)
	}
	return of, nil
}

// Clients returns one place of every country, and one of each code that groups of the zone's names
// have besides: that many clients see all that is chosen by geography. zone is "" for all zones.
// space is that of the geo databases; nil for none.
func (v *View) Clients(space *geo.Space, zone string) ([]Place, error) {
	zones, err := v.zonesOf(zone)
	if err != nil || space == nil {
		return nil, err
	}
	wanted := make(map[string]bool)
	for _, z := range zones {
		for n := range v.Snapshot.Names(z, "", "") {
			if n.Members == 0 {
				continue
			}
			if t, ok := v.Snapshot.Tree(n.Name + "."); ok {
				for _, g := range t.Groups {
					wanted[strings.ToUpper(g.Geo)] = true
				}
			}
		}
	}
	best := make(map[string]*geo.Place)
	for i := range space.Places {
		p := &space.Places[i]
		for at, code := range p.Codes {
			if code != "" && (at == geo.CodeCountry || wanted[code]) && larger(p, best[code]) {
				best[code] = p
			}
		}
	}
	var all []Place
	for _, p := range best {
		if of := (Place{Network: p.Network, Codes: known(&p.Codes)}); !slices.ContainsFunc(all,
			func(o Place) bool { return o.Network == of.Network }) {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Network.Addr().BitLen(), b.Network.Addr().BitLen()), a.Network.Addr().Compare(b.Network.Addr()))
	})
	return all, nil
}

// larger reports whether the network of p is a better one to ask for than that of q, which may be nil:
// IPv4 is, as most servers know more of it.
func larger(p, q *geo.Place) bool {
	if q == nil {
		return true
	}
	a, b := p.Network.Addr().BitLen(), q.Network.Addr().BitLen()
	return cmp.Or(cmp.Compare(a, b), cmp.Compare(p.Network.Bits(), q.Network.Bits())) < 0
}

// known returns the codes that are not "".
func known(codes *geo.Codes) []string {
	all := []string{}
	for _, c := range codes {
		if c != "" {
			all = append(all, c)
		}
	}
	return all
}
