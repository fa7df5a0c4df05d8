package geo

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"
)

// realDatabase returns the path of a real country database: that of the
// environment variable KUADRANT_GEODB, or what `make geodb` fetches.
func realDatabase(t testing.TB) string {
	t.Helper()
	path := os.Getenv("KUADRANT_GEODB")
	if path != "" {
		return path
	}
	path = filepath.Join("..", "build", "geodb", "geo-whois-asn-country.mmdb")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("there is no %s: make geodb fetches it", path)
	}
	return path
}

// oddities are the codes of the real database that are no country's today.
var oddities = map[string]string{
	"AN": "the Netherlands Antilles, dissolved in 2010",
}

// TestRealDatabase walks through a real database of a million networks. Each
// code is a country's, and both ends of each network have it, with the network's
// length.
func TestRealDatabase(t *testing.T) {
	path := realDatabase(t)
	d := open(t, []string{path}, "")
	r, err := maxminddb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	count, odd := 0, 0
	for res := range r.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if count++; count%everyNth != 0 {
			continue
		}
		var flat struct {
			Code string `maxminddb:"country_code"`
		}
		if err := res.Decode(&flat); err != nil {
			t.Fatal(err)
		}
		var want Codes
		switch {
		case flat.Code == "":
		case Check(flat.Code) == nil:
			want[CodeCountry], want[CodeContinent] = flat.Code, countries[flat.Code].Continent
		case oddities[flat.Code] == "":
			t.Errorf("%s has the code %q, which is neither a country's nor a known oddity", res.Prefix(), flat.Code)
		default:
			odd++
		}
		net := res.Prefix()
		for _, addr := range []netip.Addr{net.Addr(), last(net)} {
			if addr.Is4In6() {
				continue // it is located as IPv4
			}
			codes, bits := d.Locate(addr, NeedPlace)
			length := net.Bits()
			if !addr.Is4() {
				length = max(length, familyBits(addr))
			}
			if *codes != want || bits != length {
				t.Fatalf("Locate(%s) = %q, %d, want %q, %d", addr, *codes, bits, want, length)
			}
		}
	}
	t.Logf("%d networks, 1 in %d looked at, %d of these with an oddity", count, everyNth, odd)
	if count < 100_000 {
		t.Errorf("the database has only %d networks", count)
	}
}
