package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// TestAcquired: an older object that moves its host onto a name which another one has
// acquired does not take it; it does where the acquirer and its namespace are gone, and where nothing is on
// record age alone decides (rule 5.4).
func TestAcquired(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner api.Owner // on record
		want  string
	}{
		{"nothing on record", api.Owner{}, "a/old"},
		{"the younger has acquired it", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "b/young"}, "b/young"},
		{"with its UID", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "b/young", UID: "u2"}, "b/young"},
		{"an object of its name that is gone had", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "b/young", UID: "u9"}, "b/young"},
		{"an object that is gone had", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "x/gone"}, "a/old"},
		{"one of another kind had", api.Owner{Cluster: "c", Kind: api.KindDNSRecord, Name: "b/young"}, "b/young"},
		{"the older has acquired it", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "a/old"}, "a/old"},
	} {
		w := newWorld("c")
		old, young := &api.DNSPolicy{}, &api.DNSPolicy{}
		old.Created, old.UID = 1, "u1"
		young.Created, young.UID = 2, "u2"
		w.publish("a/old", "app.example.com", old, "192.0.2.1")
		w.publish("b/young", "app.example.com", young, "192.0.2.2")
		if c.owner != (api.Owner{}) {
			e := tree.Map[api.Owner]{}.Edit()
			e.Set("app.example.com.", c.owner)
			w.acquired = e.Map()
		}
		s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}, testTime)
		if got, ok := s.Owner("app.example.com."); !ok || got.Name != c.want || got.Kind != api.KindDNSPolicy || got.UID == "" {
			t.Errorf("%s: the owner is %+v, want %s", c.name, got, c.want)
		}
	}
}

// TestRecordsAcquire: a line of the first edition, which names the Zone of Records, keeps their name; a new one names the
// oldest Record.
func TestRecordsAcquire(t *testing.T) {
	w := newWorld("c")
	zone := &api.Zone{DomainName: "example.com.", Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}}
	w.setZone(0, "dns/z", zone)
	rec := &api.Record{DomainName: "app.example.com.", Type: "A", Class: "IN", RData: "192.0.2.9", TTL: api.NoTTL}
	rec.Created = 5
	w.setRecord(0, "b/r", rec)
	p := &api.DNSPolicy{}
	p.Created = 1
	w.publish("a/old", "app.example.com", p, "192.0.2.1")
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}
	s := Compile(nil, w.objects(), opt, testTime)
	if got, _ := s.Owner("app.example.com."); got.Name != "a/old" {
		t.Errorf("by age the owner is %+v, want a/old", got)
	}
	e := w.acquired.Edit()
	e.Set("app.example.com.", api.Owner{Cluster: "c", Kind: api.KindZone, Name: "dns/z"})
	w.acquired, w.acquiredChanged = e.Map(), []string{"app.example.com."}
	s = Compile(s, w.objects(), opt, testTime)
	if got, _ := s.Owner("app.example.com."); got.Kind != api.KindRecord || got.Name != "b/r" {
		t.Errorf("the owner is %+v, want Record b/r", got)
	}
	if v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "a/old"}); v.TotalRecords != 0 {
		t.Errorf("the policy that lost publishes %d hosts", v.TotalRecords)
	}
}
