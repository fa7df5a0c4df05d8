package kuadrant

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestLongestZones: whatever the length of a Zone's name, every reply about it can be
// read by a client. What the server makes up for a zone, such as hostmaster.<zone>
// (rule 6.8), has room in 255 octets or is not there (rule 8.4).
func TestLongestZones(t *testing.T) {
	k := newPlugin(t, "kuadrant example.org", "")
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.org.", TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL}}}
	labels := strings.Repeat(strings.Repeat("a", 63)+".", 3)
	for n := 20; n <= 63; n++ {
		origin := labels + strings.Repeat("b", n) + ".example.org."
		zone, err := api.DecodeZone("c", fmt.Appendf(nil, `{"metadata": {"namespace": "dns", "name": "z"}, "spec": {"domainName": %q}}`, origin))
		if err != nil || zone.Invalid != "" {
			t.Fatalf("%v, %+v", err, zone)
		}
		cluster := &api.Cluster{Name: "c", UID: "c"}
		for kind := range cluster.Listings {
			cluster.Listings[kind] = api.Listed
		}
		zones := cluster.Zones.Edit()
		zones.Set(zone.Name, zone)
		cluster.Zones = zones.Map()
		k.engine.Publish(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{cluster}}, opt, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		name := origin
		if len(origin) > 254 { // no query can hold it
			name = origin[strings.IndexByte(origin, '.')+1:]
		}
		for _, qtype := range []uint16{dns.TypeSOA, dns.TypeNS, dns.TypeA, dns.TypeDS} {
			rec := dnstest.NewRecorder(&test.ResponseWriter{})
			if _, err := k.ServeDNS(context.Background(), rec, question(name, qtype)); err != nil || rec.Msg == nil {
				t.Fatalf("zone of %d octets, %s: %v, no reply", len(origin)+1, dns.TypeToString[qtype], err)
			}
			wire, err := rec.Msg.Pack()
			if err == nil {
				err = new(dns.Msg).Unpack(wire)
			}
			if err != nil {
				t.Errorf("zone of %d octets, %s: %v", len(origin)+1, dns.TypeToString[qtype], err)
			}
		}
	}
}
