package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestCutsAboveZones: NS records and DNAMEs lose to an older Zone of another namespace that lies below them, whoever wrote them, while
// it is served; its own namespace may write them (decision 13).
func TestCutsAboveZones(t *testing.T) {
	for _, c := range []struct {
		what, by string
		zone     int64 // the day of the Zone; the records are of day 5
		stands   bool
	}{
		{"younger than another's Zone", "evil", 1, false},
		{"older than another's Zone", "evil", 9, true},
		{"younger than a Zone of its own namespace", "victim", 1, true},
		{"of who delegates the Zone, younger", "dns", 1, false},
		{"of who delegates the Zone, older", "dns", 9, true},
	} {
		for _, rtype := range []string{"NS", "DNAME"} {
			for _, kind := range []api.Kind{api.KindRecord, api.KindDNSEndpoint} {
				w := sharedWorld()
				put := func() { w.zone("victim/z", "a.b.shop.example.org.", c.zone) }
				put()
				switch kind {
				case api.KindRecord:
					w.record(c.by+"/r", "shop.example.org.", rtype, "ns.example.net.", 5)
				default:
					w.endpoints(c.by+"/r", 5, endpoint("shop.example.org.", rtype, "ns.example.net."))
				}
				var s *Snapshot
				step := func(when string, stands bool) {
					t.Helper()
					in := w.objects()
					s = Compile(s, in, dnsHasZones, testTime)
					if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
						t.Errorf("%v %s %s, %s: step by step it is not what it is from nothing: %s", kind, rtype, c.what, when, differing(got, want))
					}
					got := ask(s, "x.shop.example.org.", dns.TypeA)
					if is := strings.Contains(got, "referral") || strings.Contains(got, "DNAME"); is != stands {
						t.Errorf("%v %s %s, %s: below it is %s", kind, rtype, c.what, when, got)
					}
					said := strings.Contains(verdictText(s, kind, c.by+"/r"), "would hide a.b.shop.example.org, which belongs to Zone victim/z")
					if said == stands {
						t.Errorf("%v %s %s, %s: the verdict is %s", kind, rtype, c.what, when, verdictText(s, kind, c.by+"/r"))
					}
				}
				step("at first", c.stands)
				w.setZone(0, "victim/z", nil)
				step("without the Zone", true)
				put()
				step("with the Zone again", c.stands)
			}
		}
	}
}

// TestSignedCut: a DS record at a cut is answered beside it, and so is not hidden by it, whoever has it (RFC 4035 §3.1.4.1).
func TestSignedCut(t *testing.T) {
	w := sharedWorld()
	w.endpoints("team/e", 1, endpoint("sub.example.org.", "DS", "1 13 2 49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DE0B2D6F8E2A2E5B6B3B6C0F1A"))
	w.record("team/ns", "sub.example.org.", "NS", "ns.example.net.", 5)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "x.sub.example.org.", dns.TypeA); !strings.Contains(got, "referral") {
		t.Errorf("below the cut it is %s", got)
	}
}

// TestCutsAndAge: a host that is made again with another age, or that comes to be on record, is held against the records that hide it
// anew; its addresses are none of their concern (rule 5.4).
func TestCutsAndAge(t *testing.T) {
	for _, cut := range []string{"shop.example.org."} {
		w := sharedWorld()
		w.record("dns/ns", cut, "NS", "ns.example.net.", 5)
		var s *Snapshot
		step := func(what string, created int64, address, want string) {
			t.Helper()
			w.gateway("team/g", "a.shop.example.org", api.WeightedGeo, created, api.IPAddress, address)
			s = Compile(s, w.objects(), dnsHasZones, testTime)
			if got := ask(s, "a.shop.example.org.", dns.TypeA); !strings.Contains(got, want) || want == "" && strings.Contains(got, "192.0.2.") {
				t.Errorf("%s, with a cut at %s: %s", what, cut, got)
			}
		}
		step("younger", 9, "192.0.2.1", "")
		step("older", 1, "192.0.2.1", "192.0.2.1")
		step("with another address", 1, "192.0.2.2", "192.0.2.2")
		step("younger again", 9, "192.0.2.2", "")
		w.acquireAs("a.shop.example.org.", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "team/g", Chain: true})
		step("on record", 9, "192.0.2.2", "192.0.2.2")
		w.acquire1(api.CutKey(cut), api.KindZone, "dns/z")
		step("both on record", 9, "192.0.2.2", "192.0.2.2")
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
		w.record(name+"r", host, hiding[0], hiding[1], created)
	case k < 4:
		w.record(name+"r", host, "TXT", `"x"`, created)
	case k < 6 && gone:
		w.setDNSEndpoint(0, name+"e", nil)
	case k < 6:
		w.endpoints(name+"e", created, pick(r, []api.Endpoint{endpoint(host, hiding[0], hiding[1]), endpoint(host, "MX", "1 mx.example.net."), endpoint(host, "A", "192.0.2.1")}),
			endpoint(pick(r, names), "TXT", `"y"`))
	case k < 8 && gone:
		w.setPolicy(0, name+"g", nil)
	case k < 8:
		w.gateway(name+"g", trimDot(host), pick(r, []api.Strategy{api.Simple, api.WeightedGeo}), created, api.IPAddress, pick(r, []string{"192.0.2.7", "192.0.2.8"}))
	default:
		key := pick(r, []string{host, api.CutKey(host)})
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

// BenchmarkTextBelowCut changes a TXT of one DNSEndpoint below a cut, beside 20,000 Records and as many hosts of others.
func BenchmarkTextBelowCut(b *testing.B) {
	w := sharedWorld()
	for i := range 20000 {
		w.record(fmt.Sprintf("dns/r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1", 0)
		w.gateway(fmt.Sprintf("dns/g%d", i), fmt.Sprintf("g%d.example.org", i), api.Simple, 0, api.IPAddress, "192.0.2.1")
	}
	w.record("dns/ns", "sub.example.org.", "NS", "ns.example.net.", 0)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	for i := 0; b.Loop(); i++ {
		w.endpoints("evil/e", 9, endpoint("x.sub.example.org.", "TXT", fmt.Sprintf(`"%d"`, i)))
		s = Compile(s, w.objects(), dnsHasZones, testTime)
	}
}
