package inspect

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Place is where clients are, with a network to represent them.
type Place struct {
	Network netip.Prefix `json:"network"`
	// Codes are the network's geo codes, most specific first; empty if unknown.
	Codes []string `json:"codes"`
}

// ClientOf returns the place of an address, a network or a geo code; the error is a *RequestError.
func (v *View) ClientOf(text string) (Place, error) {
	network, err := parseClient(text, v.Locator)
	if err != nil {
		return Place{}, err
	}
	of := Place{Network: network}
	if v.Locator != nil {
		codes, _ := v.Locator.Locate(network.Addr(), geo.NeedPlace|geo.NeedAS)
		of.Codes = known(codes)
	}
	return of, nil
}

// finder finds a network with a geo code in upper case. A *geo.DB is one.
type finder interface {
	Find(code string) (network netip.Prefix, ok bool)
}

// Clients returns one place of every country, and one of each further code of groups of the zone's
// names: these clients see every choice by geography. zone is "" for all zones. space is the geo
// databases'; nil for none.
func (v *View) Clients(space *geo.Space, zone string) ([]Place, error) {
	zones, err := v.zonesOf(zone)
	if err != nil || space == nil {
		return nil, err
	}
	wanted := make(map[string]bool)
	for _, z := range zones {
		for n := range v.Snapshot.Names(z, "", nil) {
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

// larger reports whether the network of p is better to ask for than that of q, which may be nil: IPv4
// is, as most servers know more about it.
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
