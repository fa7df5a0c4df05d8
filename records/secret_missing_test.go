package records

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func providerSecret(zones ...string) *api.Secret {
	return &api.Secret{Meta: api.Meta{Labels: map[string]string{"team": "a"}}, Provider: api.ProviderSecret{Zones: zones}}
}

// register puts it into the registry who owns what in a snapshot, as a writer does.
func (w *world) register(t *testing.T, s *Snapshot) {
	t.Helper()
	w.writeOwners(holdingsOf(t, s))
}

// TestMissingSecret: while the Secret under which the registry has a host does not exist, the host is served as before,
// and only a Secret that exists takes it away (rule 5.4, api.md, Providers).
func TestMissingSecret(t *testing.T) {
	byName := api.Provider{Kind: "Secret", Name: "s"}
	bySelector := api.Provider{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
	line := func(change func(*api.Owner)) *api.Owner {
		o := api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "n/p", UID: "u", Secret: "s"}
		change(&o)
		return &o
	}
	for _, c := range []struct {
		name     string
		provider api.Provider
		line     *api.Owner
		others   []string // Secrets of the namespace that are left, by name
		served   bool
	}{
		{"by name", byName, line(func(*api.Owner) {}), nil, true},
		{"by selector", bySelector, line(func(*api.Owner) {}), nil, true},
		{"by selector, and another is left that has not the host", bySelector, line(func(*api.Owner) {}), []string{"t"}, true},
		{"no registry", byName, nil, nil, false},
		{"of the policy before, of its namespace", byName, line(func(o *api.Owner) { o.Name, o.UID = "n/before", "v" }), nil, true},
		{"of another namespace", byName, line(func(o *api.Owner) { o.Name = "m/p" }), nil, false},
		{"of the namespace in another cluster", byName, line(func(o *api.Owner) { o.Cluster = "d" }), nil, true},
		{"of the first edition", byName, line(func(o *api.Owner) { o.Secret = "" }), nil, false},
		{"under another Secret", byName, line(func(o *api.Owner) { o.Secret = "other" }), nil, false},
		{"under a Secret that exists", bySelector, line(func(o *api.Owner) { o.Secret = "t" }), []string{"t"}, false},
	} {
		w := newWorld("c")
		w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com", "k.example.com"}, "192.0.2.1"))
		p := parentOf("gw", "u", api.Simple)
		p.Provider = c.provider
		w.setPolicy(0, "n/p", p)
		w.setSecret(0, "n/s", providerSecret("example.com."))
		for _, name := range c.others {
			w.setSecret(0, "n/"+name, providerSecret("k.example.com."))
		}
		s := Compile(nil, w.objects(), childOptions, testTime)
		if o, ok := s.Owner("app.example.com."); !ok || o.Secret != "s" {
			t.Fatalf("%s: with its Secret the host is of %+v", c.name, o)
		}
		lines := make(map[string]api.Owner)
		if c.line != nil {
			lines["app.example.com."] = *c.line
		}
		step := func(when string, served bool) {
			t.Helper()
			s = Compile(s, w.objects(), childOptions, testTime)
			if _, is := s.Owner("app.example.com."); is != served {
				t.Errorf("%s, %s: the host is served: %v, want %v", c.name, when, is, served)
			}
			if got, want := dump(s), dump(Compile(nil, w.objects(), childOptions, testTime)); got != want {
				t.Errorf("%s, %s: %s", c.name, when, differing(got, want))
			}
		}
		w.writeOwners(lines)
		step("with its line", true)
		w.setSecret(0, "n/s", nil)
		step("without its Secret", c.served)
		if _, is := s.Owner("k.example.com."); is && len(c.others) == 0 {
			t.Errorf("%s: a host that is not in the registry is served without a Secret", c.name)
		}
		if c.served {
			v := s.Verdict("c", ofPolicy("n/p"))
			i := slices.IndexFunc(v.Records, func(r api.RecordVerdict) bool { return r.Host == "app.example.com" })
			got := v.Records[i].Conditions[0]
			if got.Type != "ProviderAccessAvailable" || got.Status != api.ConditionFalse || got.Reason != "SecretNotFound" || !strings.Contains(got.Message, `secrets "s" not found`) {
				t.Errorf("%s: the condition is %+v", c.name, got)
			}
			if all := s.Children("c", ofPolicy("n/p")); all[0].Record.Provider.Name != "s" || all[0].Record.ZoneID != "example.com" || all[0].Name != "n/gw-l0" {
				t.Errorf("%s: the children are\n%s", c.name, tellAll(all))
			}
			if o, _ := s.Owner("app.example.com."); o.Secret != "s" {
				t.Errorf("%s: the line becomes %+v", c.name, o)
			}
		}
		w.writeOwners(nil)
		step("without its line", false)
		w.writeOwners(lines)
		step("with its line again", c.served)
		w.setSecret(0, "n/s", providerSecret("k.example.com."))
		step("with a Secret that does not have it", false)
	}
}

// TestMissingSecretNarrows: what a policy may not publish it may not with a line of the registry either (rule 5.1).
func TestMissingSecretNarrows(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	w.acquireAs("app.example.com.", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "n/p", Secret: "s"})
	opt := *childOptions
	opt.Publish = []Publish{{Domain: "example.com.", Namespaces: []string{"m"}}}
	if _, served := Compile(nil, w.objects(), &opt, testTime).Owner("app.example.com."); served {
		t.Error("a namespace that may not publish there does so through the registry")
	}
}

// TestZoneIsKept: the zoneID of a DNSRecord stays.
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
	w.setDNSRecord(0, "n/gw-l0", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofPolicy("n/p")); got[0].Record.ZoneID != "k.example.com" {
		t.Errorf("the child is to be made anew as\n%s", tellAll(got))
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
			Meta: api.Meta{Controlled: by != nil}, Controller: by, RootHost: "app.example.com.", ZoneID: "example.com", Endpoints: []api.Endpoint{apiEndpoint("app.example.com.", "A", "192.0.2.1")},
		})
		s = Compile(s, w.objects(), childOptions, testTime)
		if _, ok := s.Owner("app.example.com."); !ok {
			t.Errorf("with the controller %+v it is not served", by)
		}
	}
}
