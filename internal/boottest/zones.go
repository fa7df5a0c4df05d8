package boottest

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// epochs numbers clusters, none of which continues another.
var epochs atomic.Uint64

// ZoneObjects are the objects of one cluster that a test changes.
type ZoneObjects struct {
	Cluster api.Cluster
	Changed map[api.Ref]bool
	epoch   uint64
}

// NewZoneObjects returns a fully listed cluster without objects.
func NewZoneObjects() *ZoneObjects {
	o := &ZoneObjects{Cluster: api.Cluster{Name: "c", UID: "c"}, Changed: make(map[api.Ref]bool), epoch: epochs.Add(1)}
	for k := range o.Cluster.Listings {
		o.Cluster.Listings[k] = api.Listed
	}
	return o
}

// everyName delegates all names: the zone's own and those of zones below it.
func everyName() []api.Delegation {
	return []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
}

// Zone adds or replaces a Zone, named after the first label of its domain.
func (o *ZoneObjects) Zone(domain string) {
	z := &api.Zone{
		Meta:       api.Meta{Name: "dns/" + strings.ReplaceAll(domain, ".", "-"), Cluster: "c"},
		DomainName: domain, TTL: 300, Refresh: 86400, Retry: 7200, Expire: 3600000, Minimum: 300, Delegations: everyName(),
	}
	edit := o.Cluster.Zones.Edit()
	edit.Set(z.Name, z)
	o.Cluster.Zones = edit.Map()
	o.Changed[api.Ref{Kind: api.KindZone, Name: z.Name}] = true
}

// Record adds or replaces a Record; without data it removes it.
func (o *ZoneObjects) Record(name, owner, rtype, data string) {
	name = "dns/" + name
	edit := o.Cluster.Records.Edit()
	if data == "" {
		edit.Delete(name)
	} else {
		edit.Set(name, &api.Record{
			Meta: api.Meta{Name: name, Cluster: "c"}, DomainName: owner, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data,
		})
	}
	o.Cluster.Records = edit.Map()
	o.Changed[api.Ref{Kind: api.KindRecord, Name: name}] = true
}

// TTL sets a Record's TTL.
func (o *ZoneObjects) TTL(name string, ttl int64) {
	name = "dns/" + name
	edit := o.Cluster.Records.Edit()
	was, _ := edit.Get(name)
	rec := *was
	rec.TTL = ttl
	edit.Set(name, &rec)
	o.Cluster.Records = edit.Map()
}

// Published returns the current objects, with what has changed.
func (o *ZoneObjects) Published() *api.Cluster {
	c := o.Cluster
	c.Epoch, c.Changed = o.epoch, slices.Collect(maps.Keys(o.Changed))
	o.Changed = make(map[api.Ref]bool)
	return &c
}

// Fill adds the fixture of most cases: an apex, hosts, a wildcard, an alias, a deep name.
func (o *ZoneObjects) Fill() {
	o.Zone("example.org.")
	for name, r := range map[string][3]string{
		"apex-ns": {"example.org.", "NS", "ns.example.org."}, "ns-a": {"ns.example.org.", "A", "192.0.2.53"},
		"www-a": {"www.example.org.", "A", "192.0.2.1"}, "www-a2": {"www.example.org.", "A", "192.0.2.2"},
		"alias": {"alias.example.org.", "CNAME", "www.example.org."}, "wild": {"*.w.example.org.", "A", "192.0.2.9"},
		"deep": {"a.ent.example.org.", "A", "192.0.2.7"}, "txt": {"www.example.org.", "TXT", `"two" "strings"`},
		"mx": {"example.org.", "MX", "10 mail.example.org."},
	} {
		o.Record(name, r[0], r[1], r[2])
	}
}
