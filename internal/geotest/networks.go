package geotest

import "net/netip"

// ExampleNetworks returns the networks in examples/geo.mmdb: documentation networks (RFC 5737, RFC
// 3849), and networks of 127.0.0.0/8 and 10.0.0.0/8, from which a machine without a network can
// query.
func ExampleNetworks() []Network {
	return []Network{
		place("127.0.100.0/24", "EU", "IE", ""),
		place("10.89.100.0/24", "EU", "IE", ""),
		place("192.0.2.0/24", "EU", "IE", ""),
		place("127.0.200.0/24", "NA", "US", ""),
		place("10.89.200.0/24", "NA", "US", ""),
		place("198.51.100.0/24", "NA", "US", ""),
		place("198.51.100.128/25", "NA", "US", "CA"),
		place("203.0.113.0/24", "EU", "DE", ""),
		place("2001:db8:100::/48", "EU", "IE", ""),
		place("2001:db8:200::/48", "NA", "US", ""),
	}
}

// Places returns the networks of the place databases that Write makes: ExampleNetworks, with longer
// ones inside and a few elsewhere.
func Places() []Network {
	return append(
		ExampleNetworks(),
		place("203.0.113.64/26", "EU", "DE", "BE"),
		place("203.0.113.100/32", "EU", "AT", "9"),
		place("198.51.100.192/27", "NA", "US", "NY"),
		place("2001:db8::/34", "EU", "", ""), // only a continent, around 2001:db8:100::/48 and :200::/48
		place("2001:db8:300::/40", "EU", "DE", "BY"),
		place("2001:db8:300:1::/64", "AS", "JP", "13"),
		place("2001:db8:300:1::1/128", "AS", "KR", ""),
	)
}

// Systems returns the networks of the AS database that Write makes. Their boundaries differ from
// those of Places.
func Systems() []Network {
	return []Network{
		system("127.0.100.0/25", 64496),
		system("10.89.100.0/24", 0), // not routed
		system("192.0.2.0/25", 64500),
		system("192.0.2.128/25", 64501),
		system("198.51.100.0/22", 64510),
		system("203.0.113.0/28", 64511),
		system("2001:db8:100::/44", 64500),
		system("2001:db8:200::/52", 4200000000),
	}
}

func place(prefix, continent, country, subdivision string) Network {
	return Network{
		Prefix: netip.MustParsePrefix(prefix), Continent: continent, Country: country, Subdivision: subdivision,
	}
}

func system(prefix string, as uint32) Network {
	return Network{Prefix: netip.MustParsePrefix(prefix).Masked(), AS: as}
}
