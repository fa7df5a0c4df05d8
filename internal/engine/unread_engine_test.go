package engine

import (
	"maps"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

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
	k := &toRegister{snap: snap}
	now := k.Owners()
	for key, o := range owners.All() {
		if _, ok := now[key]; ok {
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
	for key, o := range (&toRegister{snap: snap}).Owners() {
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
	for key, o := range (&toRegister{snap: snap}).Owners() {
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
