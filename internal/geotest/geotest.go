// Package geotest makes small databases in the MaxMind format, for tests and for
// the example that `make run` starts.
package geotest

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

//go:generate go run ./write ../../examples/geo.mmdb

// Network is one network and its known place; empty fields are unknown.
type Network struct {
	Prefix      netip.Prefix
	Continent   string // "EU"
	Country     string // "IE"
	Subdivision string // "CA", within the country
	AS          uint32
}

// Schema is the layout of a database.
type Schema uint8

// The schemas. All but Flat4 also hold IPv6 addresses. City, Country and ASN have the type names
// that other readers expect.
const (
	City    Schema = iota // like GeoLite2-City: country, continent, subdivisions, with names
	Country               // like GeoLite2-Country
	ASN                   // like GeoLite2-ASN: autonomous_system_number
	ISP                   // place and AS together, the AS number under traits
	Flat                  // only country_code, without any description
	Flat4                 // the same for IPv4 only
	Lite                  // country_code, continent_code, the country's name, and asn as "AS64500"
	Example               // like City, under another type name
	Other                 // none of the above: anonymous networks
)

var typeNames = map[Schema]string{
	City: "GeoLite2-City", Country: "GeoLite2-Country", ASN: "GeoLite2-ASN", ISP: "DBIP-ISP (compat=Enterprise)",
	Flat: "country ipvAll", Flat4: "country ipv4", Lite: "lite", Example: "Kuadrant-Example-City",
	Other: "GeoIP2-Anonymous-IP",
}

// Epoch is the build time in every database, 1 January 2026, so that the same networks give the
// same bytes.
const Epoch = 1767225600

// Encode returns a database of networks. A longer network takes precedence over a shorter one
// around it. Reserved networks are allowed.
func Encode(schema Schema, networks []Network) ([]byte, error) {
	opts := mmdbwriter.Options{
		BuildEpoch:              Epoch,
		DatabaseType:            typeNames[schema],
		IncludeReservedNetworks: true,
		RecordSize:              24,
	}
	switch schema {
	case Flat4:
		opts.IPVersion = 4
	case Flat:
	default:
		opts.Description = map[string]string{"en": "small database for tests and examples"}
		opts.Languages = []string{"de", "en"}
		opts.RecordSize = 28
	}
	tree, err := mmdbwriter.New(opts)
	if err != nil {
		return nil, fmt.Errorf("make database %q: %w", opts.DatabaseType, err)
	}
	networks = slices.SortedStableFunc(slices.Values(networks), func(a, b Network) int {
		return cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits())
	})
	for _, n := range networks {
		if opts.IPVersion == 4 && n.Prefix.Addr().Is6() {
			continue
		}
		a := n.Prefix.Addr()
		ipNet := &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(n.Prefix.Bits(), a.BitLen())}
		if err := tree.Insert(ipNet, schema.record(&n)); err != nil {
			return nil, fmt.Errorf("add network %s: %w", n.Prefix, err)
		}
	}
	var buf bytes.Buffer
	if _, err := tree.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("write database %q: %w", opts.DatabaseType, err)
	}
	return buf.Bytes(), nil
}

// record returns a network's data in the schema.
func (s Schema) record(n *Network) mmdbtype.DataType {
	text := func(s string) mmdbtype.String { return mmdbtype.String(s) }
	names := func(of string) mmdbtype.Map {
		return mmdbtype.Map{"de": text(of + " (de)"), "en": text(of + " (en)")}
	}
	m := mmdbtype.Map{}
	nested := func() {
		if n.Continent != "" {
			m["continent"] = mmdbtype.Map{"code": text(n.Continent), "names": names(n.Continent)}
		}
		if n.Country != "" {
			m["country"] = mmdbtype.Map{"iso_code": text(n.Country), "names": names(n.Country), "geoname_id": mmdbtype.Uint32(1)}
		}
	}
	subdivision := func() {
		if n.Subdivision != "" {
			first := mmdbtype.Map{"iso_code": text(n.Subdivision), "names": names(n.Subdivision)}
			m["subdivisions"] = mmdbtype.Slice{first, mmdbtype.Map{"iso_code": text("ZZZ")}}
		}
	}
	switch s {
	case City, Example:
		nested()
		subdivision()
		m["location"] = mmdbtype.Map{"latitude": mmdbtype.Float64(0), "longitude": mmdbtype.Float64(0)}
	case Country:
		nested()
	case ASN:
		m["autonomous_system_number"] = mmdbtype.Uint32(n.AS)
		m["autonomous_system_organization"] = text("Example Networks")
	case ISP:
		nested()
		subdivision()
		m["traits"] = mmdbtype.Map{"autonomous_system_number": mmdbtype.Uint32(n.AS), "isp": text("Example Networks")}
	case Flat, Flat4:
		m["country_code"] = text(n.Country)
	case Lite:
		m["country"], m["country_code"] = text("Country "+n.Country), text(n.Country)
		m["continent"], m["continent_code"] = text("Continent "+n.Continent), text(n.Continent)
		if n.AS != 0 {
			m["asn"] = text(fmt.Sprintf("AS%d", n.AS))
		}
	case Other:
		m["is_anonymous"] = mmdbtype.Bool(true)
	}
	return m
}

// numbered gives each network in a country an AS number: 64496, 64497 and so on.
func numbered(networks []Network) []Network {
	for i := range networks {
		if networks[i].Country != "" {
			networks[i].AS = 64496 + uint32(i)
		}
	}
	return networks
}

// Files are the paths of a set of test databases.
type Files struct {
	City, Country, ASN, Flat, Flat4, Lite string
}

// Write writes a database of each kind for Places and Systems into dir, and returns their paths.
func Write(t testing.TB, dir string) Files {
	t.Helper()
	write := func(name string, schema Schema, networks []Network) string {
		data, err := Encode(schema, networks)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return Files{
		City:    write("city.mmdb", City, Places()),
		Country: write("country.mmdb", Country, Places()),
		ASN:     write("asn.mmdb", ASN, Systems()),
		Flat:    write("flat.mmdb", Flat, Places()),
		Flat4:   write("flat4.mmdb", Flat4, Places()),
		Lite:    write("lite.mmdb", Lite, numbered(Places())),
	}
}
