package records

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func providerSecret(zones ...string) *api.Secret {
	return &api.Secret{Meta: api.Meta{Labels: map[string]string{"team": "a"}}, Provider: api.ProviderSecret{Zones: zones}}
}

// TestGoneSecret: a Secret that is deleted changes nothing that is served while the policy's
// DNSRecord is there, and nobody gains anything by a DNSRecord that only looks like one.
func TestGoneSecret(t *testing.T) {
	byName := api.Provider{Kind: "Secret", Name: "s"}
	bySelector := api.Provider{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
	child := func(change func(*api.DNSRecord)) *api.DNSRecord {
		r := ownRecord("p", "u", "app.example.com.", "example.com")
		r.Provider = byName
		change(r)
		return r
	}
	for _, c := range []struct {
		name     string
		provider api.Provider
		child    *api.DNSRecord
		others   []string // Secrets of the namespace that are left, by name
		served   bool
	}{
		{"by name", byName, child(func(*api.DNSRecord) {}), nil, true},
		{"by selector", bySelector, child(func(*api.DNSRecord) {}), nil, true},
		{"by selector, and another is left that has not the host", bySelector, child(func(*api.DNSRecord) {}), []string{"t"}, true},
		{"no child", byName, nil, nil, false},
		{"of another policy", byName, child(func(r *api.DNSRecord) { r.Controller.UID = "v" }), nil, false},
		{"of nobody", byName, child(func(r *api.DNSRecord) { r.Controller = nil }), nil, false},
		{"not ours", byName, child(func(r *api.DNSRecord) { r.Labels = nil }), nil, false},
		{"for another host", byName, child(func(r *api.DNSRecord) { r.RootHost = "b.example.com." }), nil, false},
		{"for another Secret", byName, child(func(r *api.DNSRecord) { r.Provider.Name = "other" }), nil, false},
		{"for a Secret that is there", bySelector, child(func(r *api.DNSRecord) { r.Provider.Name = "t" }), []string{"t"}, false},
		{"in a zone that is not served", byName, child(func(r *api.DNSRecord) { r.ZoneID = "example.net" }), nil, false},
		{"in a zone that the host is not in", byName, child(func(r *api.DNSRecord) { r.ZoneID = "k.example.com" }), nil, false},
	} {
		w := newWorld("c")
		w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
		p := parentOf("gw", "u", api.Simple)
		p.Provider = c.provider
		w.setPolicy(0, "n/p", p)
		w.setSecret(0, "n/s", providerSecret("example.com."))
		for _, name := range c.others {
			w.setSecret(0, "n/"+name, providerSecret("k.example.com."))
		}
		s := Compile(nil, w.objects(), childOptions, testTime)
		if _, ok := s.Owner("app.example.com."); !ok {
			t.Fatalf("%s: with its Secret the host is not served", c.name)
		}
		if c.child != nil {
			w.setDNSRecord(0, "n/gw-l0", c.child)
			s = Compile(s, w.objects(), childOptions, testTime)
		}
		w.setSecret(0, "n/s", nil)
		s = Compile(s, w.objects(), childOptions, testTime)
		if _, served := s.Owner("app.example.com."); served != c.served {
			t.Errorf("%s: without its Secret the host is served: %v, want %v", c.name, served, c.served)
			continue
		}
		if !c.served {
			continue
		}
		v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"})
		if v.TotalRecords != 1 || len(v.Records) != 1 || len(v.Records[0].Conditions) != 1 {
			t.Fatalf("%s: the verdict is %+v", c.name, v)
		}
		if got := v.Records[0].Conditions[0]; got.Type != "ProviderAccessAvailable" || got.Status != api.ConditionFalse || got.Reason != "SecretNotFound" || !strings.Contains(got.Message, `secrets "s" not found`) {
			t.Errorf("%s: the condition is %+v", c.name, got)
		}
		if all := s.Children("c", ofPolicy("n/p")); len(all) != 1 || all[0].Record.Provider.Name != "s" || all[0].Record.ZoneID != "example.com" || all[0].Name != "n/gw-l0" {
			t.Errorf("%s: the children are\n%s", c.name, tellAll(all))
		}
		w.setDNSRecord(0, "n/gw-l0", nil)
		s = Compile(s, w.objects(), childOptions, testTime)
		if _, served := s.Owner("app.example.com."); served {
			t.Errorf("%s: without Secret and child the host is served", c.name)
		}
		w.setDNSRecord(0, "n/gw-l0", c.child)
		s = Compile(s, w.objects(), childOptions, testTime)
		if _, served := s.Owner("app.example.com."); !served {
			t.Errorf("%s: with its child back, the host is not served", c.name)
		}
	}
}

// TestMemoryNarrows: what a policy may not publish it may not with a child either (rule 5.1).
func TestMemoryNarrows(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	r := ownRecord("p", "u", "app.example.com.", "example.com")
	r.Provider = p.Provider
	w.setDNSRecord(0, "n/gw-l0", r)
	opt := *childOptions
	opt.Publish = []Publish{{"example.com.", []string{"m"}}}
	if _, served := Compile(nil, w.objects(), &opt, testTime).Owner("app.example.com."); served {
		t.Error("a namespace that may not publish there does so through a DNSRecord")
	}
}

// TestZoneIsKept: the zoneID of a DNSRecord stays, and the policy says that its provider has
// another zone now.
func TestZoneIsKept(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.k.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	w.setSecret(0, "n/s", providerSecret("example.com."))
	s := Compile(nil, w.objects(), childOptions, testTime)
	w.writeChildren(s, 0, ofPolicy("n/p"))
	s = Compile(s, w.objects(), childOptions, testTime)
	if len(s.Renewed()) != 0 {
		t.Errorf("a child that says nothing new renews %v", s.Renewed())
	}
	w.setSecret(0, "n/s", providerSecret("k.example.com.", "example.com."))
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofPolicy("n/p")); got[0].Record.ZoneID != "example.com" {
		t.Errorf("the child is to be\n%s", tellAll(got))
	}
	v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"})
	if v.TotalRecords != 1 || len(v.Records) != 1 || len(v.Records[0].Conditions) != 2 || v.Records[0].Conditions[1].Reason != "ZoneKept" ||
		!strings.Contains(v.Records[0].Conditions[1].Message, "DNSRecord gw-l0 keeps its zoneID example.com") {
		t.Errorf("the verdict is %+v", v)
	}
	w.setDNSRecord(0, "n/gw-l0", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofPolicy("n/p")); got[0].Record.ZoneID != "k.example.com" {
		t.Errorf("the child is to be made anew as\n%s", tellAll(got))
	}
	if v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}); len(v.Records[0].Conditions) != 1 {
		t.Errorf("the verdict is still %+v", v)
	}
}

// TestElsewhere: a policy with a provider of another kind has DNSRecords for that controller,
// and says what that says of them.
func TestElsewhere(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.net", "b.example.net"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.WeightedGeo)
	p.Provider = api.Provider{Kind: "ExternalDNS", Name: "theirs"}
	w.setPolicy(0, "n/p", p)
	s := Compile(nil, w.objects(), childOptions, testTime)
	all := s.Children("c", ofPolicy("n/p"))
	if len(all) != 2 || all[0].Record.Provider != (api.ProviderRef{Kind: "ExternalDNS", Name: "theirs"}) || all[0].Record.ZoneID != "" || len(all[0].Record.Endpoints) != 4 {
		t.Fatalf("the children are\n%s", tellAll(all))
	}
	enforced := func() string {
		c := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}).Conditions[1]
		return c.Status.String() + " " + c.Message
	}
	say := func(name string, ready *api.Condition) {
		r, _ := w.clusters[0].DNSRecords.Get(name)
		next := *r
		next.Ready = ready
		w.setDNSRecord(0, name, &next)
		s = Compile(s, w.objects(), childOptions, testTime)
		if len(s.Renewed()) > 0 {
			t.Errorf("what another controller says renews %v", s.Renewed())
		}
	}
	w.writeChildren(s, 0, ofPolicy("n/p"))
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := enforced(); got != "Unknown DNSPolicy is left to the controller of its provider kind ExternalDNS" {
		t.Errorf("before anybody has said anything: %s", got)
	}
	good, bad := &api.Condition{Type: "Ready", Status: api.ConditionTrue}, &api.Condition{Type: "Ready", Status: api.ConditionFalse, Reason: "no reason", Message: "no zone"}
	for _, c := range []struct {
		a, b *api.Condition
		want string
	}{
		{good, nil, "Unknown DNSPolicy is left to the controller of its provider kind ExternalDNS"},
		{good, good, "True DNSPolicy has been successfully enforced"},
		{good, bad, "True DNSPolicy has been partially enforced. Not ready DNSRecords are: gw-l1 "},
		{bad, bad, "False DNSPolicy has encountered some issues: gw-l0: no zone"},
	} {
		say("n/gw-l0", c.a)
		say("n/gw-l1", c.b)
		if got := enforced(); got != c.want {
			t.Errorf("it says %q, want %q", got, c.want)
		}
	}
}

// TestRecordLosesController: a DNSRecord that is nobody's child gains or loses its controller: no
// panic (rule 8.4).
func TestRecordLosesController(t *testing.T) {
	w := newWorld("c")
	var s *Snapshot
	for _, by := range []*api.Controller{nil, {Kind: "DNSPolicy", Name: "p", UID: "u"}, nil, {Kind: "Other", Name: "o", UID: "v"}, nil} {
		w.setDNSRecord(0, "n/r", &api.DNSRecord{
			Meta: api.Meta{Controlled: by != nil}, Controller: by, RootHost: "app.example.com.", ZoneID: "example.com", Endpoints: []api.Endpoint{endpoint("app.example.com.", "A", "192.0.2.1")},
		})
		s = Compile(s, w.objects(), childOptions, testTime)
		if _, ok := s.Owner("app.example.com."); !ok {
			t.Errorf("with the controller %+v it is not served", by)
		}
	}
}
