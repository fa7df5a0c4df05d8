package geo

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// BenchmarkLocate measures look-ups of random addresses, most of which are known:
// in the small test databases, in a real country database, and in 100,000
// networks of a file.
func BenchmarkLocate(b *testing.B) {
	files := geotest.Write(b, b.TempDir())
	inSmall := func(r *rand.Rand) netip.Addr {
		places := geotest.Places()
		return randomIn(r, places[r.IntN(len(places))].Prefix)
	}
	anyOf := func(prefix string) func(*rand.Rand) netip.Addr {
		return func(r *rand.Rand) netip.Addr { return randomIn(r, netip.MustParsePrefix(prefix)) }
	}
	var nets strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&nets, "10.%d.%d.%d/28 %s\n", i>>12, i>>4&255, i&15<<4, someCodes[i%len(someCodes)])
	}
	for _, bm := range []struct {
		name  string
		files func(b *testing.B) []string
		nets  string
		need  Need
		addr  func(*rand.Rand) netip.Addr
	}{
		{"country/small", fixed(files.Country), "", NeedPlace, inSmall},
		{"country/real/IPv4", real, "", NeedPlace, anyOf("0.0.0.0/0")},
		{"country/real/IPv6", real, "", NeedPlace, anyOf("2a00::/12")},
		{"city+AS/small", fixed(files.City, files.ASN), "", NeedPlace | NeedAS, inSmall},
		{"nets/100000", fixed(), nets.String(), NeedPlace, anyOf("10.0.0.0/11")},
		{"nets+country/miss", fixed(files.Country), nets.String(), NeedPlace, inSmall},
	} {
		b.Run(bm.name, func(b *testing.B) {
			path := ""
			if bm.nets != "" {
				path = writeFile(b, "nets", []byte(bm.nets))
			}
			d := open(b, bm.files(b), path)
			r := rand.New(rand.NewPCG(7, 8))
			addrs := make([]netip.Addr, 1<<12)
			for i := range addrs {
				addrs[i] = bm.addr(r)
				d.Locate(addrs[i], bm.need)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				d.Locate(addrs[i%len(addrs)], bm.need)
			}
		})
	}
}

func fixed(files ...string) func(*testing.B) []string {
	return func(*testing.B) []string { return files }
}

func real(b *testing.B) []string { return []string{realDatabase(b)} }
