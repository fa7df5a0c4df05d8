package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOldHostTakesNoRecordedChain: a host and its wildcard, which have the same names below klb, are on record as those of two owners, one of them with
// the chain. The other one, which is older, does not take the chain, and with it the host, by becoming weightedGeo (rules 5.4 and 5.7, decision 23).
func TestOldHostTakesNoRecordedChain(t *testing.T) {
	for _, c := range [][2]string{{"*.h.example.org", "h.example.org"}, {"h.example.org", "*.h.example.org"}} {
		evil, victim := c[0], c[1]
		w := sharedWorld()
		w.gateway("evil/g", evil, api.Simple, 1, api.IPAddress, "192.0.2.66")
		w.gateway("victim/g", victim, api.WeightedGeo, 5, api.IPAddress, "192.0.2.1")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquireKeys(s, evil+".", victim+".")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if owner, _ := s.Owner(victim + "."); !owner.Chain || owner.Name != "victim/g" {
			t.Fatalf("the owner is %+v", owner)
		}
		was := ask(s, victim+".", dns.TypeA)
		w.gateway("evil/g", evil, api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, victim+".", dns.TypeA); was != is {
			t.Errorf("%s was %s and is %s: %s", victim, was, is, verdictText(s, api.KindDNSPolicy, "victim/g"))
		}
	}
}

// TestOldHostTakesNoRecordedNameBelowKlb: an older host that is on record without its chain does not take a name below klb.<host> which is on record as
// another's, by becoming weightedGeo: a part of it is another's (rules 5.4 and 5.7).
func TestOldHostTakesNoRecordedNameBelowKlb(t *testing.T) {
	const name = "x.klb.h.example.org."
	for kind, victim := range map[string]func(w *world){
		"DNSEndpoint": func(w *world) { w.endpoints("victim/e", 5, endpoint(name, "A", "192.0.2.1")) },
		"Record":      func(w *world) { w.record("victim/r", name, "A", "192.0.2.1", 5) },
		"DNSPolicy":   func(w *world) { w.gateway("victim/g", trimDot(name), api.Simple, 5, api.IPAddress, "192.0.2.1") },
	} {
		w := sharedWorld()
		victim(w)
		w.gateway("evil/g", "h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.66")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquireKeys(s, "h.example.org.", name)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		was := ask(s, name, dns.TypeA)
		w.gateway("evil/g", "h.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, name, dns.TypeA); was != is {
			t.Errorf("the %s's name was %s and is %s", kind, was, is)
		}
	}
}

// TestHostTakesNoRecordedCutBelowKlb: a younger host that is on record without its chain does not take older NS and DNAME records away that are on
// record, by becoming weightedGeo (rules 5.4 and 5.7, decisions 13 and 23: elsewhere it has its steered data on record and no more).
func TestHostTakesNoRecordedCutBelowKlb(t *testing.T) {
	for _, c := range []struct{ name, rtype string }{{"x.klb.h.example.org.", "NS"}, {"x.klb.h.example.org.", "DNAME"}, {"h.example.org.", "DNAME"}} {
		w := sharedWorld()
		w.record("victim/n", c.name, c.rtype, "ns.example.net.", 1)
		w.gateway("evil/g", "h.example.org", api.Simple, 5, api.IPAddress, "192.0.2.66")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquireKeys(s, "h.example.org.", api.CutKey(c.name))
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		was := ask(s, "a."+c.name, dns.TypeA)
		w.gateway("evil/g", "h.example.org", api.WeightedGeo, 5, api.IPAddress, "192.0.2.66")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, "a."+c.name, dns.TypeA); was != is {
			t.Errorf("%s at %s: below it there was %s and is %s: %s", c.rtype, c.name, was, is, verdictText(s, api.KindRecord, "victim/n"))
		}
	}
}

// TestZoneTakesNoNameBelowSimpleHost: a host that is on record, and is simple, does not count as the owner of what others have below klb.<host>: a younger
// Zone there does not take these (rule 5.4, decision 22).
func TestZoneTakesNoNameBelowSimpleHost(t *testing.T) {
	const name = "y.klb.h.example.org."
	w := sharedWorld()
	w.gateway("evil/g", "h.example.org", api.Simple, 5, api.IPAddress, "192.0.2.66")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "h.example.org.")
	w.endpoints("victim/e", 6, endpoint(name, "A", "192.0.2.1"))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, name, dns.TypeA)
	w.zone("evil/z", "klb.h.example.org.", 9)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, name, dns.TypeA); was != is {
		t.Errorf("the name was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "victim/e"))
	}
}

// TestLostAddressTakesNoText: an A record below klb.<host> that loses to the host takes no older text at its name away, which stands by its age where the
// host is on record without its chain (decision 23).
func TestLostAddressTakesNoText(t *testing.T) {
	const name = "x.klb.h.example.org."
	w := sharedWorld()
	w.record("victim/t", name, "TXT", `"mine"`, 1)
	w.gateway("shop/g", "h.example.org", api.WeightedGeo, 5, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "h.example.org.")
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, name, dns.TypeTXT)
	w.record("evil/a", name, "A", "192.0.2.66", 9)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, name, dns.TypeTXT); was != is {
		t.Errorf("the text was %s and is %s: %s", was, is, verdictText(s, api.KindRecord, "victim/t"))
	}
}

// TestPoolTakesNoOwnText: an object that has its host on record alone keeps its own text, older than the hostname of who shares the host with it later
// (decision 23).
func TestPoolTakesNoOwnText(t *testing.T) {
	w := sharedWorld()
	w.endpoints("shop/e", 1, rowOf("app.example.org.", "A", "192.0.2.1", "a", "", 1), endpoint("app.example.org.", "TXT", "mine"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "app.example.org.")
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, "app.example.org.", dns.TypeTXT)
	w.endpoints("shop/f", 3, rowOf("app.example.org.", "CNAME", "lb.example.net", "b", "", 1))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "app.example.org.", dns.TypeTXT); was != is {
		t.Errorf("its own text was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "shop/e"))
	}
}

// TestPooledChainIsKept: where the object on record shares its host with one that has a chain, an older object of another namespace that is moved below
// klb.<host> later does not take the chain (rules 5.4 and 5.6).
func TestPooledChainIsKept(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/a", 5, rowOf("h.example.org.", "A", "192.0.2.1", "a", "", 1))
	w.endpoints("victim/b", 5, chainOf("h.example.org.", "192.0.2.2")...)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "h.example.org.", "klb.h.example.org.", "one.klb.h.example.org.")
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, "one.klb.h.example.org.", dns.TypeA)
	w.endpoints("evil/e", 1, endpoint("one.klb.h.example.org.", "A", "192.0.2.66"))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "one.klb.h.example.org.", dns.TypeA); was != is {
		t.Errorf("the name was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "victim/b"))
	}
}

// TestPooledChainOutlastsCut: nor do older NS and DNAME records that are moved below klb.<host> then; where the object on record goes, its word for the
// others goes with it (rules 5.4 and 5.6, decisions 13 and 16).
func TestPooledChainOutlastsCut(t *testing.T) {
	for _, rtype := range []string{"NS", "DNAME"} {
		w := sharedWorld()
		w.endpoints("victim/a", 5, rowOf("h.example.org.", "A", "192.0.2.1", "a", "", 1))
		w.endpoints("victim/b", 5, chainOf("h.example.org.", "192.0.2.2")...)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquireKeys(s, "h.example.org.")
		was := ask(s, "one.klb.h.example.org.", dns.TypeA)
		step := func(stands bool) {
			t.Helper()
			in := w.objects()
			s = Compile(s, in, dnsHasZones, testTime)
			if is := ask(s, "one.klb.h.example.org.", dns.TypeA); (was == is) != stands {
				t.Errorf("%s: the name was %s and is %s", rtype, was, is)
			}
			if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
				t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
			}
		}
		w.record("evil/r", "klb.h.example.org.", rtype, "ns.example.net.", 1)
		step(true)
		w.setDNSEndpoint(0, "victim/a", nil)
		step(false)
		w.endpoints("victim/a", 5, rowOf("h.example.org.", "A", "192.0.2.1", "a", "", 1))
		step(true)
	}
}

// TestTextOfOwnNamespaceKeepsChain: a text of another object of the same namespace below klb.<host> leaves the host its chain on record, and stays when it
// is (decision 23).
func TestTextOfOwnNamespaceKeepsChain(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/t", 1, endpoint("x.klb.h.example.org.", "TXT", "mine"))
	w.gateway("victim/g", "h.example.org", api.WeightedGeo, 5, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if owner, _ := s.Owner("h.example.org."); !owner.Chain {
		t.Errorf("the owner is %+v", owner)
	}
	w.acquireKeys(s, "h.example.org.")
	was := ask(s, "x.klb.h.example.org.", dns.TypeTXT)
	w.record("evil/t", "y.klb.h.example.org.", "TXT", `"evil"`, 1)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "x.klb.h.example.org.", dns.TypeTXT); was != is {
		t.Errorf("its own text was %s and is %s", was, is)
	}
	w.setDNSEndpoint(0, "victim/t", nil) // the host has its chain again
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "y.klb.h.example.org.", dns.TypeTXT); is != "NXDOMAIN" {
		t.Errorf("another's older text is %s", is)
	}
}
