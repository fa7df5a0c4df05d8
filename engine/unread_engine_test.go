package engine

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// ownersOnRecord is what is kept of owners, who are policies.
func ownersOnRecord(generation uint64, owners map[string]api.Owner) controller.Kept {
	edit := tree.Map[api.Owner]{}.Edit()
	kept := controller.Kept{Generation: generation, Known: true}
	for name, o := range owners {
		edit.Set(name, o)
		kept.OwnersChanged = append(kept.OwnersChanged, name)
	}
	kept.Owners = edit.Map()
	return kept
}

// TestUnreadStateOfClusterWithKindForbidden: a cluster that a Secret names, of which one kind may not be
// listed. A server that starts from its state goes on from there when all the others have been listed.
func TestUnreadStateOfClusterWithKindForbidden(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		all := []*source.Remote{secretOf("east", "e")}
		main := &fakeSource{name: "local", place: "api"}
		first, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show(all)
		s.feed("east").show(hosts{"e": "192.0.2.11"}, api.KindRecord)
		first.expect("before", "a=192.0.2.1", "e=192.0.2.11", "no=NXDOMAIN")
		first.e.Stop()

		main = &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		main.show(hosts{"a": "192.0.2.1"})
		s.show(all)
		s.feed("east").show(hosts{"e": "192.0.2.12"}, api.KindRecord)
		r.expect("all has been listed that may be", "a=192.0.2.1", "e=192.0.2.12", "no=NXDOMAIN")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		r.stale("a day after all has been listed that may be", false)
		if r.e.SaysOf(r.e.Snapshot(), "east") == nil {
			t.Error("nothing is written to east for ever")
		}
	})
}

// TestUnreadForgetsUnusableSecrets: a reload while the API server is away, and a restart from the state on disk, do not forget that a
// Secret that is wrong names a cluster: hosts that are on record as its are not given away.
func TestUnreadForgetsUnusableSecrets(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			owners := map[string]api.Owner{
				"a.example.com.": {Cluster: "east", Kind: api.KindDNSPolicy, Name: "other/x"},
				"w.example.com.": {Cluster: "east", Kind: api.KindDNSPolicy, Name: "other/w"},
			}
			next := func(before *remembering) (*remembering, *fakeSecrets, *fakeSource) {
				s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
				main := &fakeSource{name: "local", place: "api"}
				return beginWith(t, dir, before, func(e *Engine, to *settings) { keepsFirst(e, to); to.secrets = s.config() }, main), s, main
			}
			right := []string{"a=SERVFAIL", "b=192.0.2.2", "w=SERVFAIL", "no=NXDOMAIN"}
			first, s, main := next(nil)
			first.e.TakeKept(ownersOnRecord(1, owners))
			main.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
			s.show([]*source.Remote{faulty("east", "it has no key kubeconfig")})
			wait(clusterPatience + time.Second)
			first.expect("the Secret is wrong", right...)
			before := first
			if dir != "" {
				first.e.Stop()
				before = nil
			}
			r, _, _ := next(before)
			r.expect("anew", right...)
			time.Sleep(time.Hour)
			r.expect("an hour later, and the API server is away", right...)
		})
	}
}

// TestUnreadReloadForgetsListedNamespaces: a source may list some namespaces alone. That the owner on record
// is gone is known before a reload and after it.
func TestUnreadReloadForgetsListedNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners := map[string]api.Owner{"a.example.com.": {Cluster: "c", Kind: api.KindDNSPolicy, Name: "ns/gone"}}
		expect := keepsFirst
		f := &fakeSource{name: "c", place: "api"}
		first := beginWith(t, "", nil, expect, f)
		first.e.TakeKept(ownersOnRecord(1, owners))
		f.showIn(hosts{"a": "192.0.2.1"}, "ns")
		first.expect("before", "a=192.0.2.1")
		f = &fakeSource{name: "c", place: "api"}
		second := beginWith(t, "", first, expect, f)
		second.expect("at once after a reload", "a=192.0.2.1")
		second.e.TakeKept(ownersOnRecord(1, owners))
		f.showIn(hosts{"a": "192.0.2.1"}, "ns")
		second.expect("after the reload, when as much has been listed", "a=192.0.2.1")
		kept := &keeps{snap: second.e.Snapshot()}
		if gone, _ := kept.Gone("a.example.com.", owners["a.example.com."]); !gone {
			t.Error("the line of an owner who is gone stays for ever")
		}
	})
}

// clustersFor returns clusters of which everything is listed.
func clustersFor(names ...string) (all []*api.Cluster) {
	for _, name := range names {
		c := &api.Cluster{Name: name, UID: name}
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		all = append(all, c)
	}
	return all
}

func putIn[T any](m *tree.Map[*T], name string, o *T) {
	e := m.Edit()
	e.Set(name, o)
	*m = e.Map()
}

// dropped returns the keys on record that a writer would drop.
func dropped(snap *records.Snapshot, owners tree.Map[api.Owner]) (keys []string) {
	k := &keeps{snap: snap}
	holdings := k.Holdings()
	for key, o := range owners.All() {
		if _, ok := holdings[key]; ok {
			continue
		}
		if gone, _ := k.Gone(key, o); gone {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestUnreadKeptBackLosesItsLine: a Zone, and NS records of a DNSEndpoint, are there, served, and on record.
// The Zone above them cannot be read. Their own lines are not dropped for that.
func TestUnreadKeptBackLosesItsLine(t *testing.T) {
	all := clustersFor("east", "local")
	east, local := all[0], all[1]
	meta := func(name string) api.Meta { return api.Meta{Name: name, Cluster: "local", Created: 1} }
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}}
	putIn(&east.Zones, "dns/top", &api.Zone{Meta: api.Meta{Name: "dns/top", Cluster: "east", Created: 1}, DomainName: "example.com.", TTL: 360, Minimum: 60, Delegations: everything})
	putIn(&local.Zones, "team/sub", &api.Zone{Meta: meta("team/sub"), DomainName: "sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
	putIn(&local.DNSEndpoints, "team/ns", &api.DNSEndpoint{Meta: meta("team/ns"), Endpoints: []api.Endpoint{
		{DNSName: "cut.example.com.", Type: "NS", Targets: []string{"ns.example.net"}, Weight: api.NoWeight},
	}})
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	snap := records.Compile(nil, api.Objects{Clusters: all}, opt, time.Unix(1e9, 0))
	edit := tree.Map[api.Owner]{}.Edit()
	for key, o := range (&keeps{snap: snap}).Holdings() {
		edit.Set(key, o)
	}
	owners := edit.Map()
	for _, key := range []string{api.ZoneKey("example.com."), api.ZoneKey("sub.example.com.")} {
		if _, ok := owners.Get(key); !ok {
			t.Fatalf("%s is not on record", key)
		}
	}
	if lost := dropped(records.Compile(nil, api.Objects{Clusters: all, Acquired: owners}, opt, time.Unix(1e9, 0)), owners); len(lost) > 0 {
		t.Fatalf("all is listed, and dropped are %q", lost)
	}
	// A restart while the Zones of east cannot be listed.
	away := clustersFor("east")[0]
	away.Listings[api.KindZone] = api.NotListed
	if lost := dropped(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{away, local}, Acquired: owners}, opt, time.Unix(1e9, 0)), owners); len(lost) > 0 {
		t.Errorf("dropped are the lines of what is there, and is served: %q", lost)
	}
}

// TestUnreadOwnerWhoseZoneIsUnread: whether a policy may publish says the Zone above it. While that cannot be
// read, it is not known that the policy has lost its host, and its line stays.
func TestUnreadOwnerWhoseZoneIsUnread(t *testing.T) {
	all := clustersFor("local")
	local := all[0]
	meta := func(name string) api.Meta { return api.Meta{Name: name, Cluster: "local", Created: 1} }
	putIn(&local.Zones, "dns/top", &api.Zone{Meta: meta("dns/top"), DomainName: "example.com.", TTL: 360, Minimum: 60, Delegations: []api.Delegation{{Namespaces: []string{"shop"}, Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	putIn(&local.Gateways, "shop/p", &api.Gateway{Meta: meta("shop/p"), Listeners: []api.Listener{{Name: "l", Hostname: "www.example.com", AttachedRoutes: 1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}}})
	putIn(&local.Policies, "shop/p", &api.DNSPolicy{Meta: meta("shop/p"), Target: api.Target{Name: "p"}})
	opt := &records.Options{
		Zones:   []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}},
		Publish: []records.Publish{{Domain: "example.com.", Namespaces: []string{"ops"}}}, ZoneNamespaces: []string{"dns"},
	}
	snap := records.Compile(nil, api.Objects{Clusters: all}, opt, time.Unix(1e9, 0))
	edit := tree.Map[api.Owner]{}.Edit()
	for key, o := range (&keeps{snap: snap}).Holdings() {
		edit.Set(key, o)
	}
	owners := edit.Map()
	if o, ok := owners.Get("www.example.com."); !ok || o.Name != "shop/p" {
		t.Fatalf("on record is %+v of %+v, told %+v", o, maps.Collect(owners.All()), *snap.Verdict("local", api.Ref{Kind: api.KindDNSPolicy, Name: "shop/p"}))
	}
	unlisted := *local // a restart without the right on Zones
	unlisted.Listings[api.KindZone] = api.NotListed
	unlisted.Share(api.KindZone, new(api.Cluster))
	snap = records.Compile(nil, api.Objects{Clusters: []*api.Cluster{&unlisted}, Acquired: owners}, opt, time.Unix(1e9, 0))
	if lost := dropped(snap, owners); len(lost) > 0 {
		t.Errorf("Zones cannot be listed, and dropped are the lines of %q", lost)
	}
}

// TestUnreadSecretsRefused: a start at which the Secrets that name clusters may not be read. docs/write-back.md: while
// it is not known whether the owner is there, because a right is missing, the name is SERVFAIL.
func TestUnreadSecretsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeSecrets{t: t, feeds: make(map[string]*fakeSource)}
		main := &fakeSource{name: "local", place: "api"}
		r := beginWith(t, "", nil, func(e *Engine, to *settings) { keepsFirst(e, to); to.secrets = s.config() }, main)
		r.e.TakeKept(ownersOnRecord(1, map[string]api.Owner{"a.example.com.": {Cluster: "east", Kind: api.KindDNSPolicy, Name: "other/x"}}))
		main.show(hosts{"a": "192.0.2.1"})
		r.expect("the Secrets are not listed", "a=SERVFAIL")
		s.show(nil)
		r.expect("the Secrets may not be listed", "a=SERVFAIL", "no=NXDOMAIN")
	})
}
