package records

import (
	"math/rand/v2"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var (
	someZones = []struct{ domain, parent string }{
		{"example.com.", ""},
		{"a.example.com.", ""},
		{"a", "n1/z1"},
		{"klb.a", "n1/z1"},
		{"b", "n2/z2"},
		{"deep.example.com.", ""},
		{"sub", "n1/z3"},
		{"sub", "n1/missing"},
		{"elsewhere.org.", ""},
		{"klb.deep.example.com.", ""},
		{"a..b.", ""},
	}
	someOwners = []struct{ domain, parent string }{
		{"a.example.com.", ""},
		{"b.a.example.com.", ""},
		{"*.a.example.com.", ""},
		{"x.klb.a.example.com.", ""},
		{"klb.a.example.com.", ""},
		{"q.klb.deep.example.com.", ""},
		{"ns1.example.com.", ""},
		{"ns1.a.example.com.", ""},
		{"example.com.", ""},
		{"elsewhere.org.", ""},
		{"bad..example.com.", ""},
		{"@", "n1/z1"},
		{"a", "n1/z1"},
		{"ns1.a", "n1/z1"},
		{"@", "n1/z2"},
		{"ns1", "n1/z2"},
		{"b", "n2/z2"},
		{"@", "n1/z3"},
		{"deep", "n1/z1"},
	}
	someData = []struct{ rtype, data string }{
		{"A", "192.0.2.1"},
		{"A", "192.0.2.77"},
		{"AAAA", "2001:db8::77"},
		{"CNAME", "b.a"},
		{"CNAME", "lb.example.net."},
		{"NS", "ns1"},
		{"NS", "ns1.a.example.com."},
		{"NS", "ns.example.net."},
		{"DNAME", "a.example.com."},
		{"DNAME", "example.net."},
		{"TXT", `"text"`},
		{"MX", "10 a.example.com."},
		{"SRV", "0 0 80 b.a"},
		{"DS", "1 8 2 " + "00000000000000000000000000000000000000000000000000000000000000ff"},
		{"A", "nonsense"},
		{"SOA", "a. b. 1 2 3 4 5"},
		{"TYPE65280", `\# 2 0102`},
		{"HTTPS", "1 . alpn=h2"},
	}
)

// mutateZones changes one Zone or Record.
func (w *world) mutateZones(r *rand.Rand, cluster int) {
	if r.IntN(5) == 0 {
		name := pick(r, []string{"n1/z1", "n1/z2", "n1/z3", "n2/z2"})
		if r.IntN(4) == 0 {
			w.setZone(cluster, name, nil)
			return
		}
		w.setZone(cluster, name, randomZone(r))
		return
	}
	name := pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"r1", "r2", "r3", "r4", "r5", "r6"})
	if r.IntN(5) == 0 {
		w.setRecord(cluster, name, nil)
		return
	}
	w.setRecord(cluster, name, randomRecord(r))
}

func randomZone(r *rand.Rand) *api.Zone {
	of := pick(r, someZones)
	z := &api.Zone{
		DomainName: of.domain, Parent: of.parent,
		TTL: pick(r, []uint32{0, 360, 500}), Refresh: 86400, Retry: 7200, Expire: 3600000, Minimum: pick(r, []uint32{30, 360}),
		Mname: pick(r, []string{"", "", "master.example.net."}),
	}
	z.Delegations = []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	switch r.IntN(5) {
	case 0:
		z.Delegations = nil
	case 1:
		z.Delegations[0].Namespaces = []string{"n1"}
	case 2:
		z.Delegations[0].Records[0].Types = []string{"A", "NS"}
	}
	z.Created = int64(r.IntN(5))
	z.Deleting = r.IntN(15) == 0
	if r.IntN(15) == 0 {
		z.Invalid = "not acceptable"
	}
	return z
}

func randomRecord(r *rand.Rand) *api.Record {
	of, data := pick(r, someOwners), pick(r, someData)
	rec := &api.Record{
		DomainName: of.domain, Parent: of.parent, Type: data.rtype, RData: data.data, Class: "IN",
		TTL: pick(r, []int64{api.NoTTL, 0, 60}),
	}
	rec.Created = int64(r.IntN(5))
	rec.Deleting = r.IntN(15) == 0
	if r.IntN(15) == 0 {
		rec.Class = "CH"
	}
	return rec
}
