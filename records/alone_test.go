package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestRecordedAlone: a host that its owner had alone keeps older data from coming later; where some stood beside it, that
// stays, also when the owner turns from addresses to a hostname or to a chain (rule 5.4, decisions 20 and 23).
func TestRecordedAlone(t *testing.T) {
	place := func(w *world, name string) {
		w.record("other/t", name, "TXT", `"text"`, 1)
		w.endpoints("other/e", 1, endpoint(name, "MX", "10 mx.example.net"))
	}
	const host = "app.example.org."
	for _, name := range []string{host, "x.klb.app.example.org."} {
		for _, strategy := range []api.Strategy{api.Simple, api.WeightedGeo} {
			for _, before := range []bool{false, true} {
				next := strategy
				if name != host {
					next = api.WeightedGeo // whose names below klb are its own
				}
				w := sharedWorld()
				w.gateway("shop/g", trimDot(host), strategy, 9, api.IPAddress, "192.0.2.1")
				if before {
					place(w, name)
				}
				s := Compile(nil, w.objects(), dnsHasZones, testTime)
				owner, ok := s.Owner(host)
				want := [2]bool{name != host || !before, strategy == api.WeightedGeo && (name == host || !before)}
				if !ok || [2]bool{owner.Alone, owner.Chain} != want {
					t.Errorf("%s, with data there before: %v: the owner is %+v, want alone, chain %v", name, before, owner, want)
				}
				e := w.acquired.Edit()
				e.Set(host, owner)
				w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, host)
				s = Compile(s, w.objects(), dnsHasZones, testTime)
				if again, _ := s.Owner(host); again != owner {
					t.Errorf("%s: once it is on record the owner is %+v, and was %+v", name, again, owner)
				}
				place(w, name)
				w.gateway("shop/g", trimDot(host), next, 9, api.HostnameAddress, "lb.example.net")
				s = Compile(s, w.objects(), dnsHasZones, testTime)
				for _, qtype := range []uint16{dns.TypeTXT, dns.TypeMX} {
					stands := strings.Contains(ask(s, name, qtype), "IN\t"+dns.TypeToString[qtype])
					if want := before || name != host && strategy == api.Simple; stands != want {
						t.Errorf("%s %s, there before: %v: it stands: %v", name, dns.TypeToString[qtype], before, stands)
					}
				}
				if got, want := dump(s), dump(Compile(nil, w.objects(), dnsHasZones, testTime)); got != want {
					t.Error(differing(got, want))
				}
			}
		}
	}
}

// TestOwnDataBesideRecordedHost: an object that has its host on record alone does not take its own texts away.
func TestOwnDataBesideRecordedHost(t *testing.T) {
	w := sharedWorld()
	w.endpoints("shop/e", 3, endpoint("app.example.org.", "A", "192.0.2.1"), endpoint("app.example.org.", "TXT", "mine"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	e := w.acquired.Edit()
	owner, _ := s.Owner("app.example.org.")
	if !owner.Alone {
		t.Error("its own text is another's")
	}
	e.Set("app.example.org.", owner)
	w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, "app.example.org.")
	w.endpoints("shop/e", 3, endpoint("app.example.org.", "CNAME", "lb.example.net"), endpoint("app.example.org.", "TXT", "mine"))
	for _, s := range []*Snapshot{Compile(s, w.objects(), dnsHasZones, testTime), Compile(nil, w.objects(), dnsHasZones, testTime)} {
		if got := ask(s, "app.example.org.", dns.TypeTXT); !strings.Contains(got, "mine") {
			t.Errorf("its own text is %s", got)
		}
	}
}
