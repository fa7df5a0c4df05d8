package objects

import (
	"bytes"
	"fmt"
)

// ZoneFile returns Zone as a file in master format (RFC 1035 §5) for the plugin
// file: what the kuadrant plugin serves for the hosts 0 to simple-1 of Simple,
// and for the chained hosts after them, of Steered, as a client in Europe gets it.
func ZoneFile(simple, chained int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "$ORIGIN %s\n", Zone)
	fmt.Fprintf(&b, "@ 3600 IN SOA ns.%[1]s hostmaster.%[1]s 2026010100 3600 600 1209600 60\n", Zone)
	fmt.Fprintf(&b, "@ 3600 IN NS ns.%s\n", Zone)
	for i := range simple {
		o := Simple(i)
		fmt.Fprintf(&b, "%s 60 IN A %s\n", o.Host, o.Address)
	}
	for i := simple; i < simple+chained; i++ {
		o := Steered(i, Zone)[0]
		// The leaf has a label of the right length; which one does not matter.
		fmt.Fprintf(&b, "%[1]s 300 IN CNAME klb.%[1]s\n"+
			"klb.%[1]s 300 IN CNAME geo-eu.klb.%[1]s\n"+
			"geo-eu.klb.%[1]s 60 IN CNAME 2q5hyv-a8xcra.klb.%[1]s\n"+
			"2q5hyv-a8xcra.klb.%[1]s 60 IN A %[2]s\n", o.Host, o.Address)
	}
	return b.Bytes()
}
