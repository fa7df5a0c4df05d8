package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestRecordedZoneTakesNoRecordedCut: a Zone that comes below older NS records which are on record takes nothing from these, also once it is on
// record itself; nor does it step by step become something else than from nothing (rule 5.4, decision 13).
func TestRecordedZoneTakesNoRecordedCut(t *testing.T) {
	for _, rtype := range []string{"NS", "DNAME"} {
		w := sharedWorld()
		w.endpoints("victim/e", 1, endpoint("shop.example.org.", rtype, "ns.example.net."))
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		was := ask(s, "x.shop.example.org.", dns.TypeA)
		keep := func(keys ...string) {
			for _, key := range keys {
				if owner, ok := s.Owner(key); ok {
					w.acquire1(key, owner.Kind, owner.Name)
				}
			}
			in := w.objects()
			s = Compile(s, in, dnsHasZones, testTime)
			if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
				t.Errorf("%s: step by step it is not what it is from nothing: %s", rtype, differing(got, want))
			}
			if is := ask(s, "x.shop.example.org.", dns.TypeA); was != is {
				t.Errorf("%s: with %v on record it was %s and is %s", rtype, keys, was, is)
			}
		}
		keep(api.CutKey("shop.example.org."))
		w.zone("evil/z", "a.b.shop.example.org.", 5)
		keep()
		keep(api.CutKey("shop.example.org."), api.ZoneKey("a.b.shop.example.org."))
		if _, ok := w.acquired.Get(api.ZoneKey("a.b.shop.example.org.")); !ok {
			t.Errorf("%s: the Zone is not on record", rtype)
		}
	}
}

// TestRecordedCutMeetsOldData: neither older records that lead elsewhere in another way, nor another's older text, take from its name what is on record
// there as leading elsewhere (rule 5.4, decision 13).
func TestRecordedCutMeetsOldData(t *testing.T) {
	for _, c := range []struct{ victim, evil string }{{"DNAME", "NS"}, {"NS", "DNAME"}, {"NS", "TXT"}, {"DNAME", "TXT"}, {"NS", "A"}, {"DNAME", "A"}, {"NS", "CNAME"}, {"DNAME", "CNAME"}} {
		w := sharedWorld()
		w.endpoints("victim/e", 5, endpoint("shop.example.org.", c.victim, "ns.example.net."))
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		was := ask(s, "x.shop.example.org.", dns.TypeA)
		owner, ok := s.Owner(api.CutKey("shop.example.org."))
		if !ok {
			t.Fatalf("%s: nobody has the name", c.victim)
		}
		w.acquire1(api.CutKey("shop.example.org."), owner.Kind, owner.Name)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		data := map[string]string{"TXT": `"evil"`, "A": "192.0.2.66"}[c.evil]
		if data == "" {
			data = "ns.evil.example.net."
		}
		w.endpoints("evil/e", 1, endpoint("shop.example.org.", c.evil, data))
		in := w.objects()
		s = Compile(s, in, dnsHasZones, testTime)
		if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
			t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
		}
		if is := ask(s, "x.shop.example.org.", dns.TypeA); was != is {
			t.Errorf("%s beside an older %s: it was %s and is %s", c.victim, c.evil, was, is)
		}
	}
}

// TestOldAliasMovesOntoRecordedCut: nor does an older CNAME Record that is moved to the name (rule 5.4, decision 13).
func TestOldAliasMovesOntoRecordedCut(t *testing.T) {
	for _, rtype := range []string{"NS", "DNAME"} {
		w := sharedWorld()
		w.endpoints("victim/e", 5, endpoint("shop.example.org.", rtype, "ns.example.net."))
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquireKeys(s, api.CutKey("shop.example.org."))
		was := ask(s, "x.shop.example.org.", dns.TypeA)
		w.record("evil/r", "shop.example.org.", "CNAME", "lb.example.net.", 1)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, "x.shop.example.org.", dns.TypeA); was != is {
			t.Errorf("%s: it was %s and is %s", rtype, was, is)
		}
		if got := verdictText(s, api.KindRecord, "evil/r"); !strings.Contains(got, "lead elsewhere belong to DNSEndpoint victim/e") {
			t.Errorf("%s: the CNAME is told %s", rtype, got)
		}
	}
}

// TestOldCutMovesAboveRecordedCut: older NS and DNAME records that are moved above records on record which lead elsewhere do not take these away, as
// they take no Zone away (rule 5.4, decision 13).
func TestOldCutMovesAboveRecordedCut(t *testing.T) {
	for _, victim := range []string{"NS", "DNAME"} {
		for _, evil := range []string{"NS", "DNAME"} {
			w := sharedWorld()
			w.endpoints("victim/e", 5, endpoint("a.shop.example.org.", victim, "ns.example.net."))
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			w.acquireKeys(s, api.CutKey("a.shop.example.org."))
			s = Compile(s, w.objects(), dnsHasZones, testTime)
			was := outcomes(s, "x.a.shop.example.org.")
			w.record("evil/r", "shop.example.org.", evil, "ns.evil.net.", 1)
			s = Compile(s, w.objects(), dnsHasZones, testTime)
			if is := outcomes(s, "x.a.shop.example.org."); was != is {
				t.Errorf("%s below an older %s: it was %s and is %s", victim, evil, was, is)
			}
			e := w.acquired.Edit()
			e.Delete(api.CutKey("a.shop.example.org."))
			w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, api.CutKey("a.shop.example.org."))
			in := w.objects()
			s = Compile(s, in, dnsHasZones, testTime)
			if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
				t.Errorf("off record, step by step it is not what it is from nothing: %s", differing(got, want))
			}
			if is := outcomes(s, "x.a.shop.example.org."); was == is {
				t.Errorf("%s below an older %s, off record: it is still %s", victim, evil, is)
			}
		}
	}
}
