package geo

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

var somePlaces = []geotest.Network{
	{Continent: "EU", Country: "IE"},
	{Continent: "EU", Country: "DE"},
	{Continent: "EU", Country: "DE", Subdivision: "BE"},
	{Continent: "EU"},
	{Continent: "NA", Country: "US"},
	{Continent: "NA", Country: "US", Subdivision: "CA"},
	{},
}

// randomNetworks returns networks, each prefix once, with random content.
func randomNetworks(r *rand.Rand, count int) []geotest.Network {
	var all []geotest.Network
	seen := make(map[netip.Prefix]bool)
	for range count {
		n := somePlaces[r.IntN(len(somePlaces))]
		n.AS = uint32(r.IntN(4)) // 0 is not routed
		// Aliases of IPv4 cannot be written over, and all of IPv6 holds them.
		if n.Prefix = randomNetwork(r); n.Prefix.Addr().Is6() && n.Prefix.Bits() < 33 || seen[n.Prefix] {
			continue
		}
		seen[n.Prefix] = true
		all = append(all, n)
	}
	return all
}

// random is a random DB, and what it was made of.
type random struct {
	*DB
	schemas  []geotest.Schema
	networks [][]geotest.Network
	nets     map[netip.Prefix]string
	addrs    map[netip.Prefix]string // where to look: the networks of all files
}

func randomDB(t *testing.T, r *rand.Rand) *random {
	t.Helper()
	x := &random{addrs: make(map[netip.Prefix]string)}
	var files []string
	for range 1 + r.IntN(4) {
		schema := []geotest.Schema{
			geotest.City, geotest.Country, geotest.ASN, geotest.ISP, geotest.Flat, geotest.Flat4, geotest.Lite,
		}[r.IntN(7)]
		networks := randomNetworks(r, 1+r.IntN(30))
		data := encode(t, schema, networks)
		if _, err := newBase(data); err != nil {
			continue // by chance it holds nothing that we can use
		}
		files = append(files, writeFile(t, "db.mmdb", data))
		x.schemas, x.networks = append(x.schemas, schema), append(x.networks, networks)
		for _, n := range networks {
			x.addrs[n.Prefix] = ""
		}
	}
	nets := ""
	if r.IntN(2) == 0 {
		var text string
		x.nets, text = randomNets(r, 1+r.IntN(10))
		nets = writeFile(t, "nets", []byte(text))
		for p := range x.nets {
			x.addrs[p] = ""
		}
	}
	x.DB = open(t, files, nets)
	return x
}

// says is what a database of the schema says of a network, by the rules.
func says(schema geotest.Schema, n geotest.Network) Codes {
	var c Codes
	if n.Country != "" && schema != geotest.ASN {
		c[CodeCountry], c[CodeContinent] = n.Country, countries[n.Country].Continent
	}
	switch schema {
	case geotest.City, geotest.ISP:
		if n.Subdivision != "" {
			c[CodeSubdivision] = n.Country + "-" + n.Subdivision
		}
		fallthrough
	case geotest.Country, geotest.Lite:
		if n.Continent != "" {
			c[CodeContinent] = "GEO-" + n.Continent
		}
	}
	switch schema {
	case geotest.ASN, geotest.ISP, geotest.Lite:
		c[CodeAS] = map[uint32]string{1: "AS1", 2: "AS2", 3: "AS3"}[n.AS]
	}
	return c
}

// want is what is known of addr, network by network and without any search.
func (x *random) want(addr netip.Addr, need Need) *Codes {
	if code := longest(x.nets, addr); code != "" {
		return parse(code)
	}
	var all []*Codes
	for i, networks := range x.networks {
		if x.files[i].base.gives&need == 0 || x.schemas[i] == geotest.Flat4 && addr.Is6() {
			continue
		}
		found, length := Codes{}, -1
		for _, n := range networks {
			if n.Prefix.Contains(addr) && n.Prefix.Bits() > length {
				found, length = says(x.schemas[i], n), n.Prefix.Bits()
			}
		}
		all = append(all, &found)
	}
	return combine(all)
}

// TestLocateProperty compares a DB of random databases and networks with the
// rules, and checks that all of the network that Locate names has the same
// codes: its ends, and addresses at random.
func TestLocateProperty(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		x := randomDB(t, r)
		for range 200 {
			addr := randomAddr(r, x.addrs)
			need := Need(1 + r.IntN(3))
			codes, bits := x.Locate(addr, need)
			if want := x.want(addr, need); *codes != *want {
				t.Fatalf("seed %d: Locate(%s, %d) = %q, want %q", seed, addr, need, *codes, *want)
			}
			net := netip.PrefixFrom(addr, bits).Masked()
			for i := range 12 {
				other := randomIn(r, net)
				switch i {
				case 0:
					other = net.Addr()
				case 1:
					other = last(net)
				}
				got, n := x.Locate(other, need)
				if *got != *codes {
					t.Fatalf("seed %d: Locate(%s, %d) = %q for all of %s, but %s has %q", seed, addr, need, *codes, net, other, *got)
				}
				// Where no single network is larger, the two look-ups saw the same ones.
				if n < bits && !netip.PrefixFrom(other, n).Masked().Contains(addr) {
					t.Fatalf("seed %d: %s and %s lie in %s, but Locate says %d bits of the latter", seed, addr, other, net, n)
				}
			}
		}
	}
}

// Keys that share their places in the table push each other out, and never get
// each other's codes.
func TestCacheCollisions(t *testing.T) {
	var c cache
	codes := []*Codes{FromCodes("", "", "IE", ""), FromCodes("", "", "US", ""), FromCodes("", "", "DE", "")}
	var keys []cacheKey
	first := (&cacheKey{}).hash() &^ 1
	for i := uint32(0); len(keys) < len(codes); i++ {
		if k := (cacheKey{i}); k.hash()&^1 == first {
			keys = append(keys, k)
		}
	}
	for round := range 3 {
		for i := range keys {
			for range 2 {
				if got := c.get(&keys[i], codes[i:i+1]); *got != *codes[i] {
					t.Fatalf("round %d: key %d gives %q, want %q", round, i, *got, *codes[i])
				}
			}
		}
	}
	// A pair of keys has a place each.
	one, two := c.get(&keys[0], codes[:1]), c.get(&keys[1], codes[1:2])
	if c.get(&keys[0], codes[:1]) != one || c.get(&keys[1], codes[1:2]) != two {
		t.Error("two keys that share their places do not both stay")
	}
}
