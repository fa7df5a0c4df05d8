package kuadrant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// lines are what was logged, warnings and errors with a mark.
type lines []string

func (l *lines) Infof(format string, args ...any)    { *l = append(*l, fmt.Sprintf(format, args...)) }
func (l *lines) Warningf(format string, args ...any) { l.Infof("warning: "+format, args...) }

// take returns the lines, and forgets them.
func (l *lines) take() (all []string) {
	all, *l = *l, nil
	return all
}

// compiled decodes documents of Gateways and policies, as the sources do, compiles
// them after before, and returns the snapshot with what is logged of objects.
func compiled(t *testing.T, before *records.Snapshot, documents ...string) (*records.Snapshot, []string) {
	t.Helper()
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	for _, d := range documents {
		if strings.Contains(d, `"DNSPolicy"`) {
			p, err := api.DecodePolicy("c", []byte(d))
			if err != nil {
				t.Fatal(err)
			}
			policies.Set(p.Name, p)
			continue
		}
		g, err := api.DecodeGateway("c", []byte(d))
		if err != nil {
			t.Fatal(err)
		}
		gateways.Set(g.Name, g)
	}
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	snap := records.Compile(before, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))
	log := new(lines)
	newEventLog(log, nil).faults(before, snap)
	return snap, log.take()
}

func gatewayJSON(name, listeners, addresses string) string {
	return fmt.Sprintf(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"namespace": "ns", "name": %q},
"spec": {"listeners": [%s]}, "status": {"addresses": [%s]}}`, name, listeners, addresses)
}

func policyJSON(name, more string) string {
	return fmt.Sprintf(`{"apiVersion": "kuadrant.io/v1", "kind": "DNSPolicy", "metadata": {"namespace": "ns", "name": %q},
"spec": {"targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": %q}%s}}`, name, name, more)
}

// TestFaultsAreLogged: whatever keeps a policy from being served in full is said in
// one line, once, and nothing is said of policies that are (rule 8.1).
func TestFaultsAreLogged(t *testing.T) {
	const listener, address = `{"name": "l", "hostname": "a.example.com"}`, `{"value": "192.0.2.3"}`
	good := gatewayJSON("p", listener, address)
	for _, c := range []struct {
		name, gateway, policy string
		want                  []string // parts of the line; none for no line
	}{
		{"served", good, "", nil},
		{"malformed address", gatewayJSON("p", listener, `{"value": "192.0.2.300"}, `+address), "", []string{"warning: ", "enforced, but", `"192.0.2.300" is not an IP address`}},
		{"unreadable listener", gatewayJSON("p", `{"name": "x", "hostname": 12}, `+listener, address), "", []string{"enforced, but", "Gateway ns/p", "hostname"}},
		{"another provider", good, `, "providerRefs": [{"name": "x", "kind": "ExternalDNS"}]`, []string{"Enforced=Unknown", "ExternalDNS"}},
		{"no Gateway", gatewayJSON("other", listener, address), "", []string{"Accepted=False (TargetNotFound)", "p was not found"}},
		{"outside the zones", gatewayJSON("p", listener+`, {"name": "o", "hostname": "o.example.org"}`, address), "", []string{"partially enforced", "p-o", "o.example.org: Ready=False (NotServed)", "example.com"}},
		{"wrong geo code", good, `, "loadBalancing": {"weight": 1, "geo": "UK", "defaultGeo": true}`, []string{"a.example.com: GeoCodesAccepted=False (UnknownGeoCode)", "GB"}},
		{"two Gateways' hosts", gatewayJSON("p", `{"name": "l", "hostname": "x y"}, {"name": "m", "hostname": "b.example.org"}`, address), "", []string{"Enforced=False"}},
		{
			"several faults", gatewayJSON("p", listener+`, {"name": "o", "hostname": "o.example.org"},
				{"name": "x", "hostname": "x_y.example.com"}`, address),
			`, "loadBalancing": {"weight": 1, "geo": "UK", "defaultGeo": true}`,
			[]string{
				"; a.example.com: GeoCodesAccepted=False", "; o.example.org: Ready=False (NotServed)",
				"; x_y.example.com: Ready=False (InvalidHostname)",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents := []string{c.gateway, policyJSON("p", c.policy)}
			snap, lines := compiled(t, nil, documents...)
			if len(lines) != min(len(c.want), 1) {
				t.Fatalf("logged %q", lines)
			}
			for _, part := range c.want {
				if !strings.HasPrefix(strings.TrimPrefix(lines[0], "warning: "), "DNSPolicy ns/p in cluster c: ") || !strings.Contains(lines[0], part) {
					t.Errorf("logged %q, want %q in it", lines[0], part)
				}
			}
			snap, lines = compiled(t, snap, documents...)
			if len(lines) > 0 {
				t.Errorf("logged again: %q", lines)
			}
			// One host more changes the status, not the fault.
			more := strings.Replace(c.gateway, `]}, "status"`, `, {"name": "more", "hostname": "more.example.com"}]}, "status"`, 1)
			if c.want != nil && snap.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: "ns/p"}).TotalRecords > 0 {
				if _, lines = compiled(t, snap, more, documents[1]); len(lines) > 0 {
					t.Errorf("logged again for a host more: %q", lines)
				}
			}
		})
	}
}

// TestFaultsAreBounded: a list full of faults takes a bounded number of lines, of which each namespace has one before any has two,
// and a Gateway full of faults a bounded line.
func TestFaultsAreBounded(t *testing.T) {
	const address = `{"value": "192.0.2.3"}`
	documents := []string{gatewayJSON("victim", `{"name": "l", "hostname": "elsewhere.example.org"}`, address), policyJSON("victim", "")}
	for i := range 2 * maxLines {
		documents = append(documents, strings.Replace(policyJSON(fmt.Sprintf("p%02d", i), ""), `"ns"`, `"hostile"`, 1))
	}
	if _, lines := compiled(t, nil, documents...); len(lines) != maxLines || !strings.Contains(strings.Join(lines[:2], "\n"), "ns/victim") {
		t.Errorf("logged\n%s", strings.Join(lines, "\n"))
	}
	theirs := `, "providerRefs": [{"name": "x", "kind": "ExternalDNS"}]`
	if _, lines := compiled(t, nil, policyJSON("a", theirs), policyJSON("b", theirs)); len(lines) != 1 || !strings.HasSuffix(lines[0], "for 1 more object") {
		t.Errorf("logged of what others serve\n%s", strings.Join(lines, "\n"))
	}
	addresses := slices.Repeat([]string{`{"value": "not an address"}`}, 1000)
	_, lines := compiled(t, nil, policyJSON("p", ""), gatewayJSON("p", `{"name": "l", "hostname": "a.example.com"}`, strings.Join(addresses, ",")))
	if len(lines) != 1 || len(lines[0]) > maxText+100 {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

// TestTargetsAreSummedUp: of many targets that change at once some are logged, and how many
// more there were, also where nothing happens afterwards.
func TestTargetsAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(lines)
		s := newEventLog(log, nil)
		down := health.Value(0).After(health.Outcome{Reason: health.Timeout}, health.Terms{FailureThreshold: 1, SuccessThreshold: 1})
		for i := range maxLines + 7 {
			s.Found(&health.Target{Check: health.Check{Address: fmt.Sprintf("192.0.2.%d", i)}}, 0, down)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if all := log.take(); len(all) != maxLines+1 || !strings.HasPrefix(all[maxLines], "warning: 7 more targets changed state") {
			t.Errorf("%d lines, the last %q", len(all), all[len(all)-1])
		}
		s.Found(&health.Target{}, 0, down)
		if all := log.take(); len(all) != 1 {
			t.Errorf("logged %q", all)
		}
	})
}

// TestZonesOnce: what the Corefile leaves open of a zone is said once, when everything is listed that could say it: that
// every namespace may publish (rule 5.1), and that a name stands in for its servers (rule 6.8). After a reload it is said of what is new.
func TestZonesOnce(t *testing.T) {
	c := &api.Cluster{Name: "c", UID: "c"}
	zones := c.Zones.Edit()
	zones.Set("ns/z", &api.Zone{Meta: api.Meta{Name: "ns/z", Cluster: "c"}, DomainName: "object.example.", TTL: 360, Minimum: 60})
	c.Zones = zones.Map()
	opt := &records.Options{}
	for _, origin := range []string{"bare.example.", "object.example.", "named.example."} {
		opt.Zones = append(opt.Zones, records.ZoneOptions{Origin: origin, TTL: 60, LoadBalancedTTL: 300})
	}
	opt.Zones[2].Nameservers = []records.Nameserver{{Name: "ns.elsewhere.example."}}
	const open = "zone %q: any namespace may publish; restrict with `publish` or a Zone"
	const bare = "warning: zone %q: no `nameserver` is set; using ns.%s without an address, so resolvers cannot find it. Set `nameserver NAME ADDRESS`"
	closed, more := *opt, *opt
	closed.Publish = []records.Publish{{Domain: "bare.example.", Namespaces: []string{"ns"}}}
	more.Zones = append(slices.Clone(opt.Zones), records.ZoneOptions{Origin: "more.example.", TTL: 60, LoadBalancedTTL: 300})
	log := new(lines)
	s := newEventLog(log, func() {})
	var before *records.Snapshot
	for _, step := range []struct {
		zones, others api.Listing
		opt           *records.Options
		want          []string
	}{
		{api.NotListed, api.NotListed, opt, nil},
		{api.Listed, api.NotListed, opt, []string{fmt.Sprintf(open, "bare.example."), fmt.Sprintf(open, "named.example.")}},
		{api.Listed, api.Listed, opt, []string{fmt.Sprintf(bare, "bare.example.", "bare.example.")}},
		{api.Listed, api.Listed, opt, nil},
		{api.Listed, api.Listed, &closed, nil},
		{api.Listed, api.Listed, opt, []string{fmt.Sprintf(open, "bare.example.")}},
		{api.Listed, api.Listed, &more, []string{fmt.Sprintf(open, "more.example."), fmt.Sprintf(bare, "more.example.", "more.example.")}},
	} {
		now := *c
		for k := range now.Listings {
			now.Listings[k] = step.others
		}
		now.Listings[api.KindZone] = step.zones
		snap := records.Compile(before, api.Objects{Clusters: []*api.Cluster{&now}}, step.opt, time.Unix(1e9, 0))
		s.Published(before, snap, 0)
		got := slices.DeleteFunc(log.take(), func(line string) bool { return !strings.HasPrefix(strings.TrimPrefix(line, "warning: "), "zone ") })
		if !slices.Equal(got, step.want) {
			t.Errorf("%v: logged %q, want %q", step, got, step.want)
		}
		before = snap
	}
}

// TestIdle: what the Corefile selects, or reads, and that has no object is said once.
func TestIdle(t *testing.T) {
	cfg := &engine.Options{
		ZoneNamespaces: []string{"*", "dsn"},
		Selection:      source.Selection{Namespaces: []string{"ns", "shpo"}, Policies: labels.SelectorFromSet(labels.Set{"tier": "public"})},
	}
	cfg.Note("namespaces", "Corefile:3")
	log := new(lines)
	s := newEventLog(log, func() {})
	s.corefile = func() *engine.Options { return cfg }
	snap, _ := compiled(t, nil, gatewayJSON("p", `{"name": "l"}`, ""))
	log.take()
	s.idle(snap)
	s.idle(snap)
	cfg = &engine.Options{Manifests: []engine.Manifests{{Dir: "a", Cluster: "c"}, {Dir: "b", Cluster: "d"}}}
	s.idle(snap)
	want := []string{
		"warning: Corefile:3: namespaces shpo: this namespace has no object; check the name",
		"warning: : zone-namespaces dsn: this namespace has no object; check the name",
		"warning: : policies tier=public: no DNSPolicy has these labels; check them",
		"warning: : manifests b: no object was read from this directory; check the path",
	}
	if got := log.take(); !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}

// TestNews: what was read is said once, with a name to ask, and the last lines of the log are kept.
func TestNews(t *testing.T) {
	log := new(lines)
	n := &news{Logger: &errorLines{log}}
	s, dig := newEventLog(n, func() {}), "dig @127.0.0.1 -p 1053"
	s.ask.Store(&dig)
	const address = `{"value": "192.0.2.3"}`
	snap, _ := compiled(t, nil, gatewayJSON("p", `{"name": "l", "hostname": "a.example.com"}`, address), gatewayJSON("q", `{"name": "l", "hostname": "b.example.com"}`, address),
		policyJSON("p", `, "healthCheck": {"protocol": "HTTP", "port": 80, "path": "/"}`), policyJSON("q", ""))
	s.Published(nil, snap, 0)
	s.Published(snap, snap, 0)
	begins := slices.DeleteFunc(log.take(), func(line string) bool { return !strings.HasPrefix(line, "read ") })
	if want := []string{`read cluster "c": 4 names in 1 zone. Try: dig @127.0.0.1 -p 1053 b.example.com`}; !slices.Equal(begins, want) {
		t.Errorf("logged %q, want %q", begins, want)
	}
	if none, _ := compiled(t, nil); toAsk(none) != "example.com. SOA" {
		t.Errorf("without a name: ask %s", toAsk(none))
	}
	for i := range 2 * maxNews {
		n.Warningf("line %d", i)
	}
	if all := n.events(); len(all) != maxNews || all[0].Text != "line 99" || all[49].Text != "line 50" || !all[0].Warning {
		t.Errorf("%d lines are kept: %+v", len(all), all)
	}
	s.Fails("a.example.com", records.Failing{Whom: "all clients"})
	began := s.failing.of("a.example.com")
	s.Fails("a.example.com", records.Failing{Whom: "some clients"})
	if began.IsZero() || s.failing.of("a.example.com") != began {
		t.Error("the host fails since another time")
	}
	if s.Fails("a.example.com", records.Failing{}); !s.failing.of("a.example.com").IsZero() {
		t.Error("it still does")
	}
}

// errorLines takes errors too.
type errorLines struct{ *lines }

func (l *errorLines) Errorf(format string, args ...any) { l.Infof(format, args...) }
