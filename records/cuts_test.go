package records

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestSignedCut: a DS record at a cut is answered beside it, and so is not hidden by it, whoever has it (RFC 4035 §3.1.4.1).
func TestSignedCut(t *testing.T) {
	w := sharedWorld()
	w.endpoints("team/e", 1, apiEndpoint("sub.example.org.", "DS", "1 13 2 49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DE0B2D6F8E2A2E5B6B3B6C0F1A"))
	w.record("dns/ns", "sub.example.org.", "NS", "ns.example.net.", 5)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "x.sub.example.org.", dns.TypeA); !strings.Contains(got, "referral") {
		t.Errorf("below the cut it is %s", got)
	}
}

// cutWorld changes something of a world in which NS records and DNAMEs, hosts, other data and Zones lie below each other, at and below
// klb, with few ages, and something of what is on record.
func (w *world) cutWorld(r *rand.Rand) {
	names := []string{"a.example.org.", "b.a.example.org.", "klb.a.example.org.", "x.klb.a.example.org.", "c.x.klb.a.example.org.", "c.b.a.example.org.", "*.b.a.example.org."}
	name, host := pick(r, []string{"n1", "n2", "n3"})+"/"+pick(r, []string{"p", "q"}), pick(r, names)
	created, gone := int64(r.IntN(4)), r.IntN(4) == 0
	hiding := pick(r, [][2]string{{"NS", "ns.example.net."}, {"DNAME", "d.example.net."}, {"NS", "ns2.example.net."}})
	switch k := r.IntN(10); {
	case k == 0 && gone:
		w.setZone(0, name+"z", nil)
	case k == 0:
		w.zone(name+"z", rdata.Base(host), created, api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}})
	case k < 4 && gone:
		w.setRecord(0, name+"r", nil)
	case k < 3:
		w.record("dns/"+name[3:]+"r", host, hiding[0], hiding[1], created)
	case k < 4:
		w.record(name+"r", host, "TXT", `"x"`, created)
	case k < 6 && gone:
		w.setDNSEndpoint(0, name+"e", nil)
	case k < 6:
		w.endpoints(name+"e", created, pick(r, []api.Endpoint{apiEndpoint(host, hiding[0], hiding[1]), apiEndpoint(host, "MX", "1 mx.example.net."), apiEndpoint(host, "A", "192.0.2.1")}),
			apiEndpoint(pick(r, names), "TXT", `"y"`))
	case k < 8 && gone:
		w.setPolicy(0, name+"g", nil)
	case k < 8:
		w.gateway(name+"g", trimDot(host), pick(r, []api.Strategy{api.Simple, api.WeightedGeo}), created, api.IPAddress, pick(r, []string{"192.0.2.7", "192.0.2.8"}))
	default:
		key := pick(r, []string{host, api.ZoneKey(host)})
		if !gone {
			kind := pick(r, []string{"z", "r", "e", "g"})
			owner := name + kind
			if kind == "z" {
				owner = "dns/z"
			}
			w.acquire1(key, map[string]api.Kind{"z": api.KindZone, "r": api.KindRecord, "e": api.KindDNSEndpoint, "g": api.KindDNSPolicy}[kind], owner)
			return
		}
		e := w.acquired.Edit()
		e.Delete(key)
		w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, key)
	}
}

// TestIncrementalCuts: what is compiled step by step is what is compiled from nothing.
func TestIncrementalCuts(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 40) {
		r := rand.New(rand.NewPCG(seed, 13))
		w := sharedWorld()
		var s *Snapshot
		for step := range 80 {
			for range 1 + r.IntN(2) {
				w.cutWorld(r)
			}
			in := w.objects()
			s = Compile(s, in, dnsHasZones, testTime)
			if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
				t.Errorf("seed %d step %d: step by step it is not what it is from nothing: %s", seed, step, differing(got, want))
				break
			}
		}
	}
}
