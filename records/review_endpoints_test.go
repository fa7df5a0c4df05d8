package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// openZone says one zone of the Corefile in which everybody may publish.
func openZone() *Options {
	return &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.net."}}}}}
}

// BenchmarkGeoRowsAtOneName compiles endpoints of one namespace that share a name, each for
// clients of another network: what one more object costs must not grow with those before it
// (rule 8.4).
func BenchmarkGeoRowsAtOneName(b *testing.B) {
	for _, objects := range []int{2, 4, 8, 16} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) {
			w := newWorld("c1")
			for o := range objects {
				e := new(api.DNSEndpoint)
				for i := range 1000 {
					id := o*1000 + i
					e.Endpoints = append(e.Endpoints, api.Endpoint{
						DNSName: "a.example.com.", Type: "CNAME", Targets: []string{fmt.Sprintf("l%d.example.net", id)},
						SetID: fmt.Sprint(id), Weight: api.NoWeight, Geo: fmt.Sprintf("AS%d", id+1),
					})
				}
				w.setDNSEndpoint(0, fmt.Sprintf("ns1/x%d", o), e)
			}
			for b.Loop() {
				Compile(nil, w.objects(), openZone(), testTime)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*objects), "µs/object")
		})
	}
}
