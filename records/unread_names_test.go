package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadReloadTransfersUnread: after a reload too, a zone is neither transferred nor proposed while an
// owner on record in it cannot be read.
func TestUnreadReloadTransfersUnread(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy)
	before := Compile(nil, w.objects(), unreadOptions, testTime)
	if before.Lists(before.Zone("example.com.")) {
		t.Fatal("before the reload it would be transferred")
	}
	after := *unreadOptions
	after.Denied = before.Denied()
	s := Compile(before, w.objects(), &after, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Errorf("app is %q", got)
	}
	if s.Lists(s.Zone("example.com.")) {
		t.Error("after a reload the zone is transferred and proposed, with the data of somebody else at app.example.com")
	}
}

// TestUnreadRecordsOfAZoneElsewhere: Records of a Zone are of one owner, the Zone (rule 5.3). Whether they are
// there tells the listing of their own namespace and cluster, not that of the Zone's.
func TestUnreadRecordsOfAZoneElsewhere(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster int
		lack    func(*world)
	}{
		{"another namespace", 0, func(w *world) {
			w.lackOf(0, api.NotListed, api.KindRecord)
			w.clusters[0].ListedIn[api.KindRecord] = []string{"dns"}
		}},
		{"another cluster", 1, func(w *world) { w.lackOf(1, api.NotListed, api.KindRecord) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			w.zone("dns/z", "example.com.", 1, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
			r := &api.Record{Meta: api.Meta{Created: 1}, DomainName: "app.example.com.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: "192.0.2.1"}
			w.setRecord(c.cluster, "team/r", r)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			if got := gives(s, "app.example.com.", dns.TypeA); got != "192.0.2.1" {
				t.Fatalf("the Record is not served: %q", got)
			}
			w.gateway("evil/p", "app.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66")
			s = Compile(nil, w.objects(), unreadOptions, testTime)
			w.acquireAll(s, "app.example.com.")
			if o, _ := w.acquired.Get("app.example.com."); o.Kind != api.KindRecord {
				t.Fatalf("on record is %+v", o)
			}
			// A restart, where the Records cannot be read.
			w.setRecord(c.cluster, "team/r", nil)
			c.lack(w)
			s = Compile(nil, w.objects(), unreadOptions, testTime)
			if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
				t.Errorf("the Records of the owner on record cannot be read, and the name is answered with %q", got)
			}
			o, _ := w.acquired.Get("app.example.com.")
			if gone, _ := s.Gone("app.example.com.", o); gone {
				t.Error("the owner counts as gone: its line is dropped, and the newcomer put on record")
			}
		})
	}
}

// TestUnreadUnservedWithoutZones: where Zones of a cluster could not be listed it is not known that
// none names a zone: its serial stays.
func TestUnreadUnservedWithoutZones(t *testing.T) {
	w := newWorld("c", "d")
	w.keep(true)
	w.acquireAs(api.ZoneKey("there.example.com."), ownerIn("d", api.KindZone, "dns/there"))
	w.lackOf(1, api.NotCounted, api.KindZone)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if s.Unserved("there.example.com.") {
		t.Error("the Zones of d could not be listed, and there.example.com counts as no zone: its serial is dropped")
	}
}

// TestUnreadZoneBesideTheCorefiles: a Zone does not decide on what lies in a deeper zone of the Corefile
// (rule 5.1): that it cannot be read keeps nothing back there.
func TestUnreadZoneBesideTheCorefiles(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "int.example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	for _, key := range []string{api.ZoneKey("example.com."), "*.example.com."} {
		w := newWorld("c", "d")
		w.gateway("a/p", "app.int.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
		kind := api.KindDNSPolicy
		if key != "*.example.com." {
			kind = api.KindZone
		}
		w.acquireAs(key, ownerIn("d", kind, "dns/z"))
		w.lackOf(1, api.NotCounted, api.KindZone, api.KindDNSPolicy)
		s := Compile(nil, w.objects(), opt, testTime)
		for name, want := range map[string]string{"app.int.example.com.": "192.0.2.1", "no.int.example.com.": "NXDOMAIN"} {
			if got := gives(s, name, dns.TypeA); got != want {
				t.Errorf("%s unread: %s is %q, want %q", key, name, got, want)
			}
		}
		if !s.Lists(s.Zone("int.example.com.")) {
			t.Error("int is not transferred")
		}
	}
}

// TestUnreadWildcardThatCannotCover: a wildcard on record covers nothing below a name that exists
// (RFC 4592 §2.2.1).
func TestUnreadWildcardThatCannotCover(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.acquireAs("*.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotCounted, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "x.app.example.com.", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("x.app is %q, and no wildcard above app can cover it", got)
	}
}

// TestUnreadAdditionalOfKeptBack: additional data are none of others' either.
func TestUnreadAdditionalOfKeptBack(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.record("a/r", "mail.example.com.", "MX", "10 app.example.com.", 1)
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotListed, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Fatalf("app is %q", got)
	}
	if a := answerOf(s, "mail.example.com.", dns.TypeMX); len(a.Extra) > 0 {
		t.Errorf("additional data of a name that is kept back: %v", a.Extra)
	}
}

// TestUnreadAwaitedPools: whether a cluster of which nothing is known pools changes what is told of who wants
// its names: step by step as from nothing.
func TestUnreadAwaitedPools(t *testing.T) {
	w := newWorld("c")
	w.gateway("a/p", "app.example.com", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
	w.acquireAs("app.example.com.", ownerIn("x", api.KindDNSPolicy, "a/q"))
	w.awaited = []*api.Cluster{{Name: "x"}}
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	w.awaited = []*api.Cluster{{Name: "x", Pools: api.PoolsIn()}}
	s = w.step(t, s, unreadOptions)
	w.awaited = []*api.Cluster{{Name: "x"}}
	w.step(t, s, unreadOptions)
}

// TestUnreadMissingKind: a kind that has only just not been found may be there: it does not undo what was
// known before (api.Missing), and what is on record was.
func TestUnreadMissingKind(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	o := ownerIn("d", api.KindDNSPolicy, "b/p")
	w.acquireAs("app.example.com.", o)
	w.lackOf(1, api.Missing, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Errorf("app is %q", got)
	}
	if gone, _ := s.Gone("app.example.com.", o); gone {
		t.Error("the owner counts as gone, and its line is dropped for good")
	}
}

// TestUnreadChildOfKeptBack: the DNSRecord of a host that is SERVFAIL does not say that it is published.
func TestUnreadChildOfKeptBack(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.setPolicy(0, "a/p", &api.DNSPolicy{Meta: api.Meta{Created: 1, UID: "u"}, Target: api.Target{Name: "p"}})
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: "a/p"}
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	w.writeChildren(s, 0, ref)
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotListed, api.KindDNSPolicy)
	s = w.step(t, s, unreadOptions)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Fatalf("app is %q", got)
	}
	for name := range s.in.Clusters[0].DNSRecords.All() {
		v, rows := s.RecordStatus("c", name)
		if v == nil {
			t.Fatalf("nothing is said of %s", name)
		}
		for _, c := range v.Conditions {
			if c.Type == "Ready" && c.Status == api.ConditionTrue {
				t.Errorf("%s is SERVFAIL, and its DNSRecord says %+v with %+v", "app.example.com", c, rows)
			}
		}
	}
}

// TestTransferWithoutWaitingHosts: a host waits for its provider's Secret, which could not be read yet:
// it is SERVFAIL here. A zone that lacks it must neither be transferred nor be kept with a serial: each
// secondary would say NXDOMAIN (rules 6.7, 7.4).
func TestTransferWithoutWaitingHosts(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	in := w.objects()
	in.Keeper = "c"
	for _, c := range in.Clusters {
		c.Listings[api.KindSecret] = api.NotListed
	}
	s := Compile(nil, in, childOptions, testTime)
	if _, served := s.Owner("app.example.com."); served || !s.Waits("c", ofPolicy("n/p")) {
		t.Fatal("nothing waits")
	}
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Error("the host is denied")
	}
	z := s.Zone("app.example.com.")
	if s.Lists(z) {
		t.Error("the zone is transferred, without the host")
	}
	if proposal, ok := z.Proposed(); ok {
		t.Errorf("the zone is to be kept as %+v, without the host", proposal.Kept)
	}
}

// TestChildrenOfWaitingHosts: a policy has a DNSRecord, and a server that starts could not read its
// provider's Secret yet. What is not among Children is deleted: the DNSRecord must be among them, as
// nothing says that it should go: or what it should have is not settled.
func TestChildrenOfWaitingHosts(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	r := ownRecord("p", "u", "app.example.com.", "example.com")
	r.Provider = p.Provider
	w.setDNSRecord(0, "n/gw-l0", r)
	in := w.objects()
	in.Clusters[0].Listings[api.KindSecret] = api.NotListed
	s := Compile(nil, in, childOptions, testTime)
	if !s.Waits("c", ofPolicy("n/p")) {
		t.Fatal("nothing waits")
	}
	policy := api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}
	if got, there := s.Children("c", policy), s.Existing("c", policy); len(got) < len(there) && !s.Waits("c", policy) {
		t.Errorf("of %v there are to be %d, and it is not said that more may come", there, len(got))
	}
	in.Clusters[0].Listings[api.KindSecret] = api.Listed
	if s = Compile(nil, in, childOptions, testTime); s.Waits("c", policy) {
		t.Error("it waits for Secrets that are listed")
	}
}
