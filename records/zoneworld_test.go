package records

import (
	"math/rand/v2"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
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
		{"_x.a.example.com.", ""},
		{"*._y._x.a.example.com.", ""},
		{"_x.example.com.", ""},
		{"_x", "n1/z1"},
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

// mutateZones changes one Zone, Record, DNSRecord or DNSEndpoint.
func (w *world) mutateZones(r *rand.Rand, cluster int) {
	if r.IntN(4) == 0 {
		w.mutateEndpoints(r, cluster)
		return
	}
	if r.IntN(5) == 0 {
		name := pick(r, []string{"n1/z1", "n1/z2", "n1/z3", "n2/z2", "n3/z4"})
		if r.IntN(4) == 0 {
			w.setZone(cluster, name, nil)
			return
		}
		w.setZone(cluster, name, randomZone(r))
		return
	}
	name := pick(r, []string{"n1/", "n2/", "n3/"}) + pick(r, []string{"r1", "r2", "r3", "r4", "r5", "r6"})
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

// mutateEndpoints changes one DNSRecord or DNSEndpoint.
func (w *world) mutateEndpoints(r *rand.Rand, cluster int) {
	name := pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"e1", "e2", "e3"})
	gone := r.IntN(5) == 0
	if r.IntN(2) == 0 {
		var e *api.DNSEndpoint
		if !gone {
			e = &api.DNSEndpoint{Endpoints: randomEndpoints(r)}
			e.Created, e.Deleting = int64(r.IntN(5)), r.IntN(15) == 0
		}
		w.setDNSEndpoint(cluster, name, e)
		return
	}
	var rec *api.DNSRecord
	if !gone {
		rec = &api.DNSRecord{RootHost: pick(r, []string{"a.example.com.", "*.a.example.com.", "deep.example.com.", "example.com.", "bad..", "elsewhere.org."}), Endpoints: randomEndpoints(r)}
		rec.Created, rec.Deleting = int64(r.IntN(5)), r.IntN(15) == 0
		switch r.IntN(6) {
		case 0:
		case 1:
			rec.ZoneID = "example.com"
		case 2:
			rec.Labels = map[string]string{api.LabelZoneName: "a.example.com"}
		default:
			rec.Labels = map[string]string{api.LabelZoneName: "example.com"}
		}
		if r.IntN(3) == 0 {
			rec.HealthCheck = pick(r, someChecks)
		}
	}
	w.setDNSRecord(cluster, name, rec)
}

func randomEndpoints(r *rand.Rand) (all []api.Endpoint) {
	h := pick(r, []string{"a.example.com.", "b.a.example.com.", "deep.example.com.", "example.com.", "*.a.example.com."})
	b := rdata.Base(h)
	if r.IntN(3) == 0 { // a chain of rule 2.3
		all = append(all, api.Endpoint{DNSName: h, Type: "CNAME", Targets: []string{"klb." + b}, TTL: 300, Weight: api.NoWeight})
		for _, code := range []string{"IE", "US"}[:1+r.IntN(2)] {
			g := endpoint.GeoLabel(code) + ".klb." + b
			all = append(all,
				api.Endpoint{DNSName: "klb." + b, Type: "CNAME", Targets: []string{g}, SetID: code, Geo: code, Weight: api.NoWeight},
				api.Endpoint{DNSName: "klb." + b, Type: "CNAME", Targets: []string{g}, SetID: "default", Geo: "*", Weight: api.NoWeight})
			leaf := pick(r, []string{"one", "two"}) + ".klb." + b
			all = append(all,
				api.Endpoint{DNSName: g, Type: "CNAME", Targets: []string{leaf}, SetID: leaf, Weight: int64(r.IntN(3))},
				api.Endpoint{DNSName: leaf, Type: "A", Targets: []string{"192.0.2.1", pick(r, []string{"192.0.2.2", "nonsense"})}, TTL: 30, Weight: api.NoWeight})
		}
	}
	for range r.IntN(3) {
		data := pick(r, someData)
		ep := api.Endpoint{DNSName: pick(r, []string{h, b, "txt." + b, "klb." + b, "_x." + b, "elsewhere.org."}), Type: data.rtype, Targets: []string{data.data}, TTL: int64(r.IntN(2) * 60), Weight: api.NoWeight}
		if data.rtype == "CNAME" {
			ep.Targets = []string{pick(r, []string{"lb.example.net", "b.a.example.com", h})}
		}
		if r.IntN(2) == 0 {
			ep.SetID, ep.Weight = pick(r, []string{"s1", "s2"}), int64(r.IntN(3))
		}
		if r.IntN(4) == 0 {
			ep.Geo = pick(r, someCodes)
		}
		all = append(all, ep)
	}
	return all
}

// acquire notes that an object, which may not be there, has acquired a host.
func (w *world) acquire(r *rand.Rand) {
	host := pick(r, []string{"a.example.com.", "*.a.example.com.", "b.a.example.com.", "deep.example.com.", "example.com.", "klb.a.example.com.", api.ZoneKey("a.example.com."), api.ZoneKey("b.a.example.com.")})
	e := w.acquired.Edit()
	if r.IntN(3) == 0 {
		e.Delete(host)
	} else {
		e.Set(host, api.Owner{
			Cluster: pick(r, []string{"c1", "c2"}), Kind: pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSRecord, api.KindDNSEndpoint}),
			Name: pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"g1", "g2", "z1", "z2", "e1", "e2"}),
		})
	}
	w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, host)
}
