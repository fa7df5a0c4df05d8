package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestYoungerTenantChangesNothing: whatever a tenant whose policies are younger
// publishes, probes or names, the names of another are answered as before, and from
// the same cells (rules 5.3 to 5.7 and 4.10).
func TestYoungerTenantChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}, ProbesOff: seed%4 == 0}
		w := newWorld("c1", "c2")
		tenant := func(namespace string, age int64, n int) {
			for range n {
				c, bare := r.IntN(2), pick(r, someGateways)
				name := namespace + "/" + bare
				switch r.IntN(5) {
				case 0:
					w.setProbe(c, name, randomProbe(r))
				case 1:
					w.setSecret(c, namespace+"/headers", randomSecret(r))
				case 2:
					p := w.randomPolicy(r)
					p.Created = age
					w.setPolicy(c, fmt.Sprintf("%s/p%d", namespace, r.IntN(6)), p)
				default:
					w.setGateway(c, name, w.randomGateway(r))
				}
			}
		}
		answers := func(s *Snapshot, names map[string]bool) map[string]string {
			all := make(map[string]string)
			for _, z := range s.zones {
				for name, n := range z.names.All() {
					if o := n.steered.owner; names == nil && (o == nil || o.policy.Namespace() != "victim") || names != nil && !names[name] || z.chainHost(name) != "" || strings.HasPrefix(name, rdata.Wildcard) {
						continue
					}
					for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} {
						q := Query{Name: name, Owner: name, Type: qtype, Random: 7}
						var a Answer
						n.steered.answer(&q, qtype, &a) // what stands at the name itself
						all[fmt.Sprint(name, qtype)] = fmt.Sprint(a.Answer, a.Class)
					}
				}
			}
			return all
		}
		tenant("victim", 0, 30)
		s := Compile(nil, w.objects(), opt, testTime)
		names := make(map[string]bool)
		for _, z := range s.zones {
			for name, n := range z.names.All() {
				if n.steered.owner != nil {
					names[name] = true
				}
			}
		}
		before := answers(s, nil)
		for range 10 {
			tenant("hostile", 5, 10)
			s = Compile(s, w.objects(), opt, testTime)
			after := answers(s, names)
			for q, want := range before {
				if after[q] != want {
					t.Fatalf("seed %d: %s was answered %s, now %s", seed, q, want, after[q])
				}
			}
		}
	}
}
