package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var unreadOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, Publish: grantAll}

func ownerIn(cluster string, kind api.Kind, name string) api.Owner {
	return api.Owner{Cluster: cluster, Kind: kind, Name: name}
}

// TestUnreadNameAboveOneThatIsKeptBack: NXDOMAIN says that nothing is below a name either (RFC 8020), and
// resolvers ask for the names above first (RFC 9156). Where a name is kept back, those above it are
// empty non-terminals for all that is known: they are not denied (rule 7.4), and no wildcard covers them.
func TestUnreadNameAboveOneThatIsKeptBack(t *testing.T) {
	for _, key := range []string{"a.b.example.com.", "*.b.example.com.", api.ZoneKey("a.b.example.com.")} {
		for _, wild := range []bool{false, true} {
			w := newWorld("c", "d")
			if wild {
				w.gateway("a/p", "*.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
			}
			kind := api.KindDNSPolicy
			if key != "a.b.example.com." && key != "*.b.example.com." {
				kind = api.KindZone
			}
			w.acquireAs(key, ownerIn("d", kind, "x/p"))
			w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy, api.KindZone, api.KindRecord)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			if got := gives(s, "a.b.example.com.", dns.TypeA); got != "unlisted" {
				t.Fatalf("%s: the name itself is %q", key, got)
			}
			if got := gives(s, "b.example.com.", dns.TypeA); got != "unlisted" {
				t.Errorf("%s on record, its owner unread, wildcard %v: b.example.com is %q", key, wild, got)
			}
		}
	}
}

// TestUnreadReloadTransfersUnread: after a reload too, a zone is neither transferred nor proposed while an
// owner on record in it cannot be read.
func TestUnreadReloadTransfersUnread(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy)
	before := Compile(nil, w.objects(), unreadOptions, testTime)
	if before.listed("example.com.") {
		t.Fatal("before the reload it would be transferred")
	}
	after := *unreadOptions
	after.Denied = before.Denied()
	s := Compile(before, w.objects(), &after, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Errorf("app is %q", got)
	}
	if s.listed("example.com.") {
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
			if o, _ := w.acquired.Get("app.example.com."); o.Kind != api.KindZone {
				t.Fatalf("on record is %+v", o)
			}
			// A restart, where the Records cannot be read.
			w.setRecord(c.cluster, "team/r", nil)
			c.lack(w)
			s = Compile(nil, w.objects(), unreadOptions, testTime)
			if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
				t.Errorf("the Records of the owner on record cannot be read, and the name is answered with %q", got)
			}
			if o, _ := w.acquired.Get("app.example.com."); !s.Unread("app.example.com.", o) {
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
		if !s.listed("int.example.com.") {
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

// TestUnreadOwnerTXTOfKeptBack: the TXT that names an owner does not name somebody else (rule 5.8).
func TestUnreadOwnerTXTOfKeptBack(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "_own."}}}
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotListed, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), opt, testTime)
	name := ""
	for n := range s.zones[0].names.All() {
		if n != "app.example.com." && n != "example.com." && s.zones[0].tellsOwner(n) {
			name = n
		}
	}
	if name == "" {
		t.Skip("no such name")
	}
	if a := answerOf(s, name, dns.TypeTXT); len(a.Answer) > 0 {
		t.Errorf("%v", a.Answer)
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

// TestUnreadCorefileServersOfUnreadZone: the zone's own name servers and their addresses stand in the
// Corefile.
func TestUnreadCorefileServersOfUnreadZone(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}}}}
	w := newWorld("c", "d")
	w.acquireAs(api.ZoneKey("example.com."), ownerIn("d", api.KindZone, "dns/z"))
	w.lackOf(1, api.NotCounted, api.KindZone)
	s := Compile(nil, w.objects(), opt, testTime)
	for _, qtype := range []uint16{dns.TypeSOA, dns.TypeNS} {
		if got := gives(s, "example.com.", qtype); got == "unlisted" {
			t.Errorf("%s of the zone is %q", dns.TypeToString[qtype], got)
		}
	}
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
	if !s.Unread("app.example.com.", o) {
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

// TestUnreadRecordOnRecordAnswered: docs/write-back.md: a `zone:` line keeps all names back but those that have a line
// of their own. A Record has one, in a zone of the Corefile which has got a Zone since.
func TestUnreadRecordOnRecordAnswered(t *testing.T) {
	w := newWorld("c", "d")
	w.record("a/r", "app.example.com.", "A", "192.0.2.1", 1)
	w.gateway("b/p", "app.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66")
	o := ownerIn("c", api.KindRecord, "a/r")
	w.acquireAs("app.example.com.", o)
	w.acquireAs(api.ZoneKey("example.com."), ownerIn("d", api.KindZone, "dns/z"))
	w.lackOf(1, api.NotCounted, api.KindZone)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "192.0.2.1" {
		t.Errorf("a Record with a line of its own is %q", got)
	}
	kept := false
	for name := range s.Holdings("app.example.com.") {
		kept = kept || name == "app.example.com."
	}
	if !kept && !s.Unread("app.example.com.", o) {
		t.Error("its line is dropped")
	}
}
