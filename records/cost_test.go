package records

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// octets returns how many octets a compile of w from nothing allocates.
func octets(w *world) uint64 {
	in := w.objects()
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	Compile(nil, in, dnsHasZones, testTime)
	runtime.ReadMemStats(&to)
	return to.TotalAlloc - from.TotalAlloc
}

// cutsBelowKlb has n NS Records below klb.<host>, and n claims on the host.
func cutsBelowKlb(n int) *world {
	w := sharedWorld()
	for i := range n {
		w.gateway(fmt.Sprintf("evil/g%d", i), "h.example.org", api.WeightedGeo, 2, api.IPAddress, "192.0.2.66")
		w.record(fmt.Sprintf("evil/n%d", i), fmt.Sprintf("n%d.klb.h.example.org.", i), "NS", "ns.example.net.", 3)
	}
	return w
}

// TestCutsBelowKlbAndHosts: NS Records below klb.<host> and claims on the host cost what the number of both does, not what their
// product does (rule 8.4).
func TestCutsBelowKlbAndHosts(t *testing.T) {
	few, many := octets(cutsBelowKlb(200)), octets(cutsBelowKlb(1600))
	if many > 8*few*3/2 {
		t.Errorf("200 of each take %d octets, 1600 of each %d", few, many)
	}
}

// endpointsOf is a DNSEndpoint with a name for each of 1,000 records of a type.
func endpointsOf(rtype, data string) (all []api.Endpoint) {
	for i := range 1000 {
		all = append(all, apiEndpoint(fmt.Sprintf("n%d.evil.example.org.", i), rtype, data))
	}
	return all
}

// BenchmarkEndpointCuts changes one DNSEndpoint with 1,000 names, beside 20,000 Records of others: what NS records cost
// grows with the number of the Records, what TXT records cost does not (rule 8.4).
func BenchmarkEndpointCuts(b *testing.B) {
	for _, of := range [][3]string{{"TXT", `"0"`, `"1"`}, {"NS", "ns0.example.net", "ns1.example.net"}} {
		b.Run(of[0], func(b *testing.B) {
			w := sharedWorld()
			for i := range 20000 {
				w.record(fmt.Sprintf("dns/r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1", 0)
			}
			w.endpoints("evil/e", 9, endpointsOf(of[0], of[1])...)
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			for i := 0; b.Loop(); i++ {
				w.endpoints("evil/e", 9, endpointsOf(of[0], of[1+(i+1)%2])...)
				s = Compile(s, w.objects(), dnsHasZones, testTime)
			}
		})
	}
}

// BenchmarkZonesBelowKlb changes one Zone beside 500 others and 500 policies of one Gateway that has its host 64 times: where the Zones
// lie below klb.<host>, it costs what the product does (rule 8.4).
func BenchmarkZonesBelowKlb(b *testing.B) {
	for _, of := range []string{"elsewhere", "klb.h"} {
		b.Run(of, func(b *testing.B) {
			w := sharedWorld()
			g := &api.Gateway{Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}}}
			for i := range 64 {
				g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint("l", i), Hostname: "h.example.org", AttachedRoutes: 1})
			}
			w.setGateway(0, "evil/g", g)
			for i := range 500 {
				w.setPolicy(0, fmt.Sprintf("evil/p%d", i), &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: api.WeightedGeo})
				w.zone(fmt.Sprintf("evil/z%d", i), fmt.Sprintf("z%d.%s.example.org.", i, of), 3)
			}
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			for i := 0; b.Loop(); i++ {
				w.zone("evil/y", fmt.Sprintf("y%d.example.org.", i%2), 3)
				s = Compile(s, w.objects(), dnsHasZones, testTime)
			}
		})
	}
}

// BenchmarkCutsBelowKlb changes an address of a host with 1,000 claims, beside 1,000 NS Records below klb.<host>, or elsewhere.
func BenchmarkCutsBelowKlb(b *testing.B) {
	for _, of := range []string{"elsewhere", "klb.h"} {
		b.Run(of, func(b *testing.B) {
			w := sharedWorld()
			for i := range 1000 {
				w.gateway(fmt.Sprintf("evil/g%d", i), "h.example.org", api.WeightedGeo, 2, api.IPAddress, "192.0.2.66")
				w.record(fmt.Sprintf("evil/n%d", i), fmt.Sprintf("n%d.%s.example.org.", i, of), "NS", "ns.example.net.", 3)
			}
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			for i := 0; b.Loop(); i++ {
				w.gateway("evil/g0", "h.example.org", api.WeightedGeo, 2, api.IPAddress, fmt.Sprintf("192.0.2.%d", 67+i%2))
				s = Compile(s, w.objects(), dnsHasZones, testTime)
			}
		})
	}
}

// BenchmarkHostsBelowKlb changes an address of one of 1,000 hosts below klb.<host> with as many Records below their own klb names,
// which is one group: beside as many Records elsewhere.
func BenchmarkHostsBelowKlb(b *testing.B) {
	for _, of := range []string{"elsewhere.%d", "klb.h%d.klb.h"} {
		b.Run(of, func(b *testing.B) {
			w := sharedWorld()
			for i := range 1000 {
				w.gateway(fmt.Sprintf("evil/g%d", i), fmt.Sprintf("h%d.klb.h.example.org", i), api.WeightedGeo, 2, api.IPAddress, "192.0.2.66")
				w.record(fmt.Sprintf("evil/n%d", i), fmt.Sprintf("x."+of+".example.org.", i), "TXT", `"x"`, 3)
			}
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			for i := 0; b.Loop(); i++ {
				w.gateway("evil/g0", "h0.klb.h.example.org", api.WeightedGeo, 2, api.IPAddress, fmt.Sprintf("192.0.2.%d", 67+i%2))
				s = Compile(s, w.objects(), dnsHasZones, testTime)
			}
		})
	}
}
