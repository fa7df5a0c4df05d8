package records

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestUnreadMoreNameAboveAHostThatWaits: the names above a host on record whose policy waits for Secrets are no more
// denied than those above one whose owner cannot be read (decision 32: it is the same case; RFC 8020, RFC 9156).
func TestUnreadMoreNameAboveAHostThatWaits(t *testing.T) {
	for _, wild := range []bool{false, true} {
		w := newWorld("c")
		w.publish("b/p", "a.b.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
		if wild {
			w.gateway("a/p", "*.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
		}
		w.acquireAs("a.b.example.com.", ownerIn("c", api.KindDNSPolicy, "b/p"))
		w.lackOf(0, api.NotListed, api.KindSecret)
		s := Compile(nil, w.objects(), unreadOptions, testTime)
		if got := gives(s, "a.b.example.com.", dns.TypeA); got != "unlisted" {
			t.Fatalf("wildcard %v: the host itself is %q", wild, got)
		}
		if got := gives(s, "b.example.com.", dns.TypeA); got != "unlisted" {
			t.Errorf("wildcard %v: b.example.com, above a host on record that waits for its Secret, is %q", wild, got)
		}
	}
}

// TestUnreadMoreNoDataAboveStays: a name that exists has the types that it has, whatever waits below it: the apex
// does not become SERVFAIL for a host that waits, or that cannot be read.
func TestUnreadMoreNoDataAboveStays(t *testing.T) {
	w := newWorld("c", "d")
	w.publish("b/p", "a.b.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}}, "192.0.2.2")
	w.gateway("b/q", "c.b.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.acquireAs("x.b.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(0, api.NotListed, api.KindSecret)
	w.lackOf(1, api.NotCounted, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	for _, name := range []string{"example.com.", "b.example.com.", "c.b.example.com."} {
		if got := gives(s, name, dns.TypeAAAA); got != "" {
			t.Errorf("AAAA of %s is %q, want no data", name, got)
		}
	}
	for _, name := range []string{"a.b.example.com.", "x.b.example.com."} {
		if got := gives(s, name, dns.TypeA); got != "unlisted" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestUnreadMoreOtherTypesBesideAStandIn: at a name whose owner on record cannot be read, types that the stand-in has not are
// denied: the owner may have them, or a CNAME (rule 7.4). Without a stand-in they are SERVFAIL.
func TestUnreadMoreOtherTypesBesideAStandIn(t *testing.T) {
	for _, kind := range []api.Kind{api.KindDNSEndpoint, api.KindZone, api.KindDNSPolicy} {
		for _, standsIn := range []bool{false, true} {
			w := newWorld("c", "d")
			if standsIn {
				w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
			}
			w.acquireAs("app.example.com.", ownerIn("d", kind, "b/e"))
			w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy, api.KindDNSEndpoint, api.KindZone, api.KindRecord)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
				t.Fatalf("%v: A is %q", kind, got)
			}
			if got := gives(s, "app.example.com.", dns.TypeTXT); got != "unlisted" {
				t.Errorf("owner on record a %v that cannot be read, somebody else stands in: %v: TXT is %q (NODATA)", kind, standsIn, got)
			}
		}
	}
}

func elsewhereWorld(t *testing.T, opt *Options, probe func(*api.HealthCheckProbe)) (*world, *Snapshot) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.net"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.WeightedGeo)
	p.Provider = api.Provider{Kind: "ExternalDNS", Name: "theirs"}
	p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/"}
	w.setPolicy(0, "n/p", p)
	pr := &api.HealthCheckProbe{Address: "192.0.2.1", Host: "", Check: api.HealthCheck{Protocol: api.TCP, Port: 81}, Healthy: api.ConditionTrue}
	probe(pr)
	w.setProbe(0, "n/mine", pr)
	return w, w.step(t, nil, opt)
}

func toldOf(s *Snapshot, of api.Ref) bool {
	return slices.ContainsFunc(s.ChildrenChanged(), func(p ParentRef) bool { return p.Of == of }) ||
		slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref == of })
}

func elsewhereSays(s *Snapshot) string {
	return fmt.Sprintf("%+v %s", s.StatusNow("c", "n/p").Conditions, tellAll(s.Children("c", ofPolicy("n/p"))))
}

// TestElsewhereMoreProbesOff: with `probes off` the status of a probe that joins says how a target is (rule 4.1); whoever
// writes must be told when that changes what the policy and its DNSRecord say.
func TestElsewhereMoreProbesOff(t *testing.T) {
	opt := &Options{Zones: childOptions.Zones, ProbesOff: true}
	for _, host := range []string{"", "app.example.net"} {
		w, s := elsewhereWorld(t, opt, func(p *api.HealthCheckProbe) { p.Host = host })
		was := elsewhereSays(s)
		w.setProbe(0, "n/mine", &api.HealthCheckProbe{Address: "192.0.2.1", Host: host, Check: api.HealthCheck{Protocol: api.TCP, Port: 81}, Healthy: api.ConditionFalse})
		s = w.step(t, s, opt)
		if is := elsewhereSays(s); is != was && !toldOf(s, ofPolicy("n/p")) {
			t.Errorf("probe about %q: nobody is told: it said\n%s\nand says\n%s\nchanged %v", host, was, is, s.ChildrenChanged())
		} else if is == was {
			t.Logf("probe about %q: the same: %s", host, is)
		}
	}
}

// TestElsewhereMoreJoined: a user's probe joins the checks of what another controller publishes in its namespace, whether
// or not somebody else has it checked (rule 4.10).
func TestElsewhereMoreJoined(t *testing.T) {
	_, s := elsewhereWorld(t, childOptions, func(*api.HealthCheckProbe) {})
	n := 0
	for _, target := range s.Checks().All() {
		if target.Port == 81 {
			n++
		}
	}
	allowed, a := elsewhereWorld(t, &Options{Zones: childOptions.Zones, ProbeAllow: mustPrefixes("192.0.2.0/24")}, func(*api.HealthCheckProbe) {})
	_ = allowed
	for _, target := range a.Checks().All() {
		target.Cell.Set(health.Down)
		if target.Port != 81 {
			target.Cell.Set(health.Up)
		}
	}
	t.Logf("with the probe checked for another reason: %s", elsewhereSays(a))
	if n == 0 {
		t.Error("the probe is not checked, though it counts where somebody else has it checked")
	}
}

// TestElsewhereMoreOverride: the operator's word on a target of another controller's host is known to concern something.
func TestElsewhereMoreOverride(t *testing.T) {
	w, s := elsewhereWorld(t, childOptions, func(p *api.HealthCheckProbe) { p.Address = "192.0.2.9" })
	was := elsewhereSays(s)
	o, err := api.ParseOverrides("overrides", []byte("target 192.0.2.1 down\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.overrides = o
	s = w.step(t, s, childOptions)
	is := elsewhereSays(s)
	if is == was {
		t.Skip("the word counts for nothing")
	}
	if !toldOf(s, ofPolicy("n/p")) {
		t.Errorf("nobody is told: %s, %s", was, is)
	}
	if unmet := s.Unmet(); len(unmet) > 0 {
		t.Errorf("it makes the policy say %s, and is logged as concerning nothing: %v", is, unmet)
	}
}

// TestUnreadMoreUnservedBesideAnInvalidZone: one Zone with a name that is none does not keep the serials of all
// zones that are gone for ever.
func TestUnreadMoreUnservedBesideAnInvalidZone(t *testing.T) {
	w := newWorld("c", "d")
	w.keep(true)
	w.setZone(0, "team/bad", &api.Zone{Meta: api.Meta{Created: 1}, DomainName: "a..b."})
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if !s.Unserved("gone.example.com.") {
		t.Errorf("all has been read, and the serial of gone.example.com stays for as long as any namespace has a Zone with an invalid name: %+v",
			*s.Verdict("c", api.Ref{Kind: api.KindZone, Name: "team/bad"}))
	}
}

// TestUnreadMoreCNAMEOfAStandIn: a CNAME answers queries of every type, and resolvers go by it for addresses too: where the
// owner on record of a name cannot be read, somebody else's CNAME is given for no type.
func TestUnreadMoreCNAMEOfAStandIn(t *testing.T) {
	for _, c := range []struct {
		name string
		has  func(*world)
	}{
		{"a policy with a hostname", func(w *world) {
			w.gateway("evil/p", "app.example.com", api.Simple, 1, api.HostnameAddress, "lb.evil.net")
		}},
		{"a policy with weights", func(w *world) {
			w.gateway("evil/p", "app.example.com", api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
		}},
		{"a DNSEndpoint", func(w *world) { w.endpoints("evil/e", 1, endpoint("app.example.com.", "CNAME", "lb.evil.net")) }},
		{"a Record", func(w *world) { w.record("evil/r", "app.example.com.", "CNAME", "lb.evil.net.", 1) }},
		{"a wildcard", func(w *world) {
			w.gateway("evil/p", "*.example.com", api.Simple, 1, api.HostnameAddress, "lb.evil.net")
		}},
	} {
		w := newWorld("c", "d")
		c.has(w)
		w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
		w.lackOf(1, api.NotListed, api.KindGateway, api.KindDNSPolicy)
		s := Compile(nil, w.objects(), unreadOptions, testTime)
		for _, qtype := range []uint16{dns.TypeA, dns.TypeHTTPS, dns.TypeTXT} {
			if got := gives(s, "app.example.com.", qtype); got != "unlisted" {
				t.Errorf("%s stands in: %s is %q", c.name, dns.TypeToString[qtype], got)
			}
		}
	}
}

// TestUnreadMoreGlueOfKeptBack: the addresses beside a referral are none of others' either.
func TestUnreadMoreGlueOfKeptBack(t *testing.T) {
	for _, c := range []struct {
		name string
		has  func(*world)
	}{
		{"a policy", func(w *world) { w.gateway("evil/p", "app.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66") }},
		{"a Record", func(w *world) { w.record("evil/r", "app.example.com.", "A", "192.0.2.66", 2) }},
		{"a DNSEndpoint", func(w *world) { w.endpoints("evil/e", 2, endpoint("app.example.com.", "A", "192.0.2.66")) }},
	} {
		w := newWorld("c", "d")
		w.record("a/ns", "cut.example.com.", "NS", "app.example.com.", 1)
		c.has(w)
		w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
		w.lackOf(1, api.NotListed, api.KindGateway, api.KindDNSPolicy)
		s := Compile(nil, w.objects(), unreadOptions, testTime)
		if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
			t.Fatalf("%s: app is %q", c.name, got)
		}
		if a := answerOf(s, "x.cut.example.com.", dns.TypeA); !a.Referral || len(a.Extra) > 0 {
			t.Errorf("%s: referral %v with %v, of a name that is kept back", c.name, a.Referral, a.Extra)
		}
	}
}

// TestUnreadMoreReloadTransfersWaiting: after a reload a zone is neither transferred nor proposed while the policy that has a host
// of it on record waits for Secrets, and somebody else stands in: queries for the host are SERVFAIL.
func TestUnreadMoreReloadTransfersWaiting(t *testing.T) {
	w := newWorld("c")
	w.publish("b/p", "app.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
	w.setSecret(0, "b/s", &api.Secret{Provider: api.ProviderSecret{Zones: []string{"example.com."}}})
	w.acquireAs("app.example.com.", ownerIn("c", api.KindDNSPolicy, "b/p"))
	w.publish("a/p", "app.example.com", &api.DNSPolicy{Meta: api.Meta{Created: 1}}, "192.0.2.66")
	before := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(before, "app.example.com.", dns.TypeA); got != "192.0.2.2" {
		t.Fatalf("before: %q", got)
	}
	after := *unreadOptions
	after.Denied = before.Denied()
	w.setSecret(0, "b/s", nil)
	w.lackOf(0, api.NotListed, api.KindSecret)
	s := Compile(before, w.objects(), &after, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Fatalf("app is %q", got)
	}
	if s.listed("example.com.") {
		t.Errorf("after a reload the zone is transferred and proposed, with the data of somebody else at app.example.com (Denied %v)", after.Denied)
	}
}

// TestUnreadMoreToldBesideADNAME: a host is new, and answered, as the DNAME at it is there, of a Zone, and on record. That Records of another
// cluster cannot be read does not have the host's policy told that it is SERVFAIL.
func TestUnreadMoreToldBesideADNAME(t *testing.T) {
	w := newWorld("c", "d")
	w.zone("dns/z", "example.com.", 1, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	w.record("dns/dname", "app.example.com.", "DNAME", "example.net.", 2)
	w.gateway("a/p", "app.example.com", api.Simple, 3, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	for key, o := range s.SiteHoldings() {
		w.acquireAs(key, o)
	}
	w.lackOf(1, api.NotListed, api.KindRecord)
	s = Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "192.0.2.1" {
		t.Fatalf("app is %q", got)
	}
	if v := s.Verdict("c", ofPolicy("a/p")); v.TotalRecords != 1 {
		t.Errorf("app is answered, and its policy says %+v", *v)
	}
	if _, kept := maps.Collect(s.Holdings("app.example.com."))["app.example.com."]; !kept {
		t.Error("app is answered, and never on record")
	}
}
