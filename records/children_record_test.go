package records

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// userRecord is a DNSRecord that a user has written, with a check and some endpoints.
func userRecord(endpoints ...api.Endpoint) *api.DNSRecord {
	check := *statusCheck
	return &api.DNSRecord{Meta: api.Meta{UID: "u-r"}, RootHost: "app.example.com.", ZoneID: "example.com", HealthCheck: &check, Endpoints: endpoints}
}

// TestRecordProbes: a user's DNSRecord with a check has a probe for each target that is checked for
// it, and nothing else (api.md, Written back).
func TestRecordProbes(t *testing.T) {
	const h = "app.example.com."
	addresses := func() *api.DNSRecord { return userRecord(apiEndpoint(h, "A", "192.0.2.1", "192.0.2.2")) }
	changed := func(change func(r *api.DNSRecord)) *api.DNSRecord {
		r := addresses()
		change(r)
		return r
	}
	both := []string{"n/r-192-0-2-1 192.0.2.1 app.example.com", "n/r-192-0-2-2 192.0.2.2 app.example.com"}
	for _, c := range []struct {
		name   string
		record *api.DNSRecord
		want   []string
	}{
		{"addresses", addresses(), both},
		{"by its label", changed(func(r *api.DNSRecord) {
			r.ZoneID, r.Labels = "", map[string]string{api.LabelZoneName: "example.com"}
		}), both},
		{"an IPv6 address and a hostname", userRecord(apiEndpoint(h, "AAAA", "2001:db8::"), apiEndpoint("www."+h, "CNAME", "lb_1.example.net")), []string{
			"n/r-2001-db8--0 2001:db8:: app.example.com", "n/r-lb-1-example-net lb_1.example.net www.app.example.com",
		}},
		{"a chain", userRecord(chainOf(h, "192.0.2.1")...), both[:1]},
		{"one address of two hosts", userRecord(apiEndpoint(h, "A", "192.0.2.1"), apiEndpoint("b."+h, "A", "192.0.2.1")), []string{
			both[0], "n/r-192-0-2-1-" + endpoint.Hash("DNSRecord/r/192.0.2.1/b.app.example.com") + " 192.0.2.1 b.app.example.com",
		}},
		{"two hosts that ask for one", func() *api.DNSRecord {
			r := userRecord(apiEndpoint(h, "A", "192.0.2.1"), apiEndpoint("b."+h, "A", "192.0.2.1"))
			r.HealthCheck.Host = "check.example.net"
			return r
		}(), []string{"n/r-192-0-2-1 192.0.2.1 check.example.net"}},
		{"a wildcard without a host to ask for", userRecord(apiEndpoint("*."+h, "A", "192.0.2.1")), nil},
		{"other types", userRecord(apiEndpoint(h, "TXT", "192.0.2.1")), nil},
		{"no check", changed(func(r *api.DNSRecord) { r.HealthCheck = nil }), nil},
		{"a check that cannot be used", changed(func(r *api.DNSRecord) { r.CheckInvalid = "no such port" }), nil},
		{"going", changed(func(r *api.DNSRecord) { r.Deleting = true }), nil},
		{"another server's", changed(func(r *api.DNSRecord) { r.ZoneID = "" }), nil},
		{"in a zone that is not served", changed(func(r *api.DNSRecord) { r.ZoneID = "example.net" }), nil},
		{"another controller's", changed(func(r *api.DNSRecord) {
			r.Controlled, r.Controller = true, &api.Controller{Kind: "DNSPolicy", Name: "p", UID: "u"}
		}), nil},
		{"of another provider", changed(func(r *api.DNSRecord) {
			r.Provider.Kind, r.Labels = "ExternalDNS", map[string]string{api.LabelZoneName: "example.com"}
		}), nil},
		{"one of our own", changed(func(r *api.DNSRecord) { r.Labels = map[string]string{api.LabelManagedBy: api.ManagedBy} }), nil},
	} {
		for _, off := range []bool{false, true} {
			w, opt := newWorld("c"), *childOptions
			opt.ProbesOff = off
			w.setDNSRecord(0, "n/r", c.record)
			s := Compile(nil, w.objects(), &opt, testTime)
			var got []string
			for _, child := range s.Children("c", ofRecord("n/r")) {
				got = append(got, fmt.Sprintf("%s %s %s", child.Name, child.Probe.Address, child.Probe.Host))
				if child.Kind != api.KindProbe || child.Record != nil || child.Replace || child.Labels[api.LabelManagedBy] != "kuadrant-coredns" ||
					child.Owner != (api.ChildOwner{Kind: api.KindDNSRecord, Name: "n/r", UID: "u-r"}) {
					t.Errorf("%s: the child is %+v", c.name, child)
				}
				check := *c.record.HealthCheck
				check.Host = child.Probe.Host
				if fmt.Sprint(child.Probe.Check) != fmt.Sprint(check) {
					t.Errorf("%s: the check is %+v, want %+v", c.name, child.Probe.Check, check)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, probes off %v: the probes are %q, want %q", c.name, off, got, c.want)
			}
		}
	}
}

// TestLostRecordProbes: a host that is another object's has no probes; once it is free, it has.
func TestLostRecordProbes(t *testing.T) {
	w := newWorld("c")
	r := userRecord(apiEndpoint("app.example.com.", "A", "192.0.2.1"))
	r.Created = 2
	w.setDNSRecord(0, "n/r", r)
	w.setGateway(0, "m/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.9"))
	older := parentOf("gw", "u", api.Simple)
	older.Created = 1
	w.setPolicy(0, "m/p", older)
	s := Compile(nil, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofRecord("n/r")); len(got) > 0 {
		t.Errorf("what is served of another's host is\n%s", tellAll(got))
	}
	w.setPolicy(0, "m/p", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofRecord("n/r")); len(got) != 1 || !slices.Contains(s.ChildrenChanged(), ParentRef{"c", ofRecord("n/r")}) {
		t.Errorf("once the host is free, ChildrenChanged is %v, and it has\n%s", s.ChildrenChanged(), tellAll(got))
	}
}

// TestRecordProbeNames: a probe keeps the name that it has, and takes none that is another's.
func TestRecordProbeNames(t *testing.T) {
	const plain = "n/a-l0-192-0-2-1"
	hashed := plain + "-" + endpoint.Hash("DNSRecord/a-l0/192.0.2.1/app.example.com")
	own := func(kind, name, uid string) *api.HealthCheckProbe {
		return &api.HealthCheckProbe{
			Meta:       api.Meta{Labels: map[string]string{api.LabelManagedBy: api.ManagedBy}, Controlled: true},
			Controller: &api.Controller{Kind: kind, Name: name, UID: uid}, Address: "192.0.2.1", Host: "app.example.com", Check: *statusCheck,
		}
	}
	for _, c := range []struct {
		name string
		make func(w *world)
		want string
	}{
		{"free", func(*world) {}, plain},
		{"a user's probe", func(w *world) {
			w.setProbe(0, plain, &api.HealthCheckProbe{Address: "192.0.2.1", Check: *statusCheck})
		}, hashed},
		{"another controller's", func(w *world) {
			p := own("DNSRecord", "a-l0", "u-r")
			p.Labels = nil
			w.setProbe(0, plain, p)
		}, hashed},
		{"of an object of another kind", func(w *world) { w.setProbe(0, plain, own("Gateway", "a", "u-g")) }, hashed},
		{"its own", func(w *world) { w.setProbe(0, plain, own("DNSRecord", "a-l0", "u-r")) }, plain},
		{"that of a DNSRecord of its name before", func(w *world) { w.setProbe(0, plain, own("DNSRecord", "a-l0", "u-before")) }, plain + " replace"},
		{"that of a policy which wants it", func(w *world) {
			w.setGateway(0, "n/a", gatewayOf([]string{"more.example.com"}, "192.0.2.1"))
			p := parentOf("a", "u-p", api.Simple)
			p.HealthCheck = statusCheck
			w.setPolicy(0, "n/p", p)
			w.setProbe(0, plain, own("DNSPolicy", "p", "u-p"))
		}, hashed},
		{"that of a policy which wants it no more", func(w *world) {
			w.setPolicy(0, "n/p", parentOf("a", "u-p", api.Simple))
			w.setProbe(0, plain, own("DNSPolicy", "p", "u-p"))
		}, plain + " replace"},
		{"once another's, and free since", func(w *world) { w.setProbe(0, hashed, own("DNSRecord", "a-l0", "u-r")) }, hashed},
	} {
		w := newWorld("c")
		w.setDNSRecord(0, "n/a-l0", userRecord(apiEndpoint("app.example.com.", "A", "192.0.2.1")))
		c.make(w)
		s := Compile(nil, w.objects(), childOptions, testTime)
		all := s.Children("c", ofRecord("n/a-l0"))
		if len(all) != 1 {
			t.Errorf("%s: the children are\n%s", c.name, tellAll(all))
			continue
		}
		got := all[0].Name
		if all[0].Replace {
			got += " replace"
		}
		if got != c.want {
			t.Errorf("%s: the probe is %s, want %s", c.name, got, c.want)
		}
	}
	long := strings.Repeat("x", 250)
	w := newWorld("c")
	w.setDNSRecord(0, "n/"+long, userRecord(apiEndpoint("app.example.com.", "A", "192.0.2.1")))
	all := Compile(nil, w.objects(), childOptions, testTime).Children("c", ofRecord("n/"+long))
	if want := "n/" + long[:240] + "-" + endpoint.Hash("DNSRecord/"+long+"/192.0.2.1/app.example.com"); len(all) != 1 || all[0].Name != want {
		t.Errorf("too long: the children are\n%s, want %s", tellAll(all), want)
	}
}

// TestRivalRecords: of a policy and a DNSRecord that want one name, the one without it is told when the
// other wants it no more.
func TestRivalRecords(t *testing.T) {
	const plain = "n/a-l0-example-net"
	policy, record := ofPolicy("n/p"), ofRecord("n/a")
	for _, c := range []struct{ has, gets api.Ref }{{policy, record}, {record, policy}} {
		w := newWorld("c")
		w.setGateway(0, "n/a", gatewayOf([]string{"more.example.com"}, "example.net"))
		set := func(of api.Ref, check *api.HealthCheck) {
			if of == record {
				r := userRecord(apiEndpoint("app.example.com.", "CNAME", "l0.example.net"))
				r.HealthCheck = check
				w.setDNSRecord(0, of.Name, r)
				return
			}
			p := parentOf("a", "u", api.Simple)
			p.HealthCheck = check
			w.setPolicy(0, of.Name, p)
		}
		set(c.has, statusCheck)
		s := Compile(nil, w.objects(), childOptions, testTime)
		w.writeChildren(s, 0, c.has)
		set(c.gets, statusCheck)
		s = Compile(s, w.objects(), childOptions, testTime)
		named := func(replace bool) bool {
			return slices.ContainsFunc(s.Children("c", c.gets), func(child api.Child) bool {
				return child.Kind == api.KindProbe && child.Name == plain && child.Replace == replace
			})
		}
		if named(false) || named(true) {
			t.Errorf("%v takes the name that %v has", c.gets, c.has)
		}
		set(c.has, nil)
		s = Compile(s, w.objects(), childOptions, testTime)
		if !named(true) || !slices.Contains(s.ChildrenChanged(), ParentRef{"c", c.gets}) {
			t.Errorf("%v wants its probe no more; ChildrenChanged is %v, and %v has\n%s", c.has, s.ChildrenChanged(), c.gets, tellAll(s.Children("c", c.gets)))
		}
	}
}

// TestManyRecordProbes: one DNSRecord has 1,000 probes at the most, those of its first targets.
func TestManyRecordProbes(t *testing.T) {
	w := newWorld("c")
	var all []api.Endpoint
	for i := range 5 {
		ep := apiEndpoint(fmt.Sprintf("h%d.app.example.com.", i), "A")
		for j := range 300 {
			ep.Targets = append(ep.Targets, netip.AddrFrom4([4]byte{10, byte(i), byte(j / 256), byte(j)}).String())
		}
		all = append(all, ep)
	}
	w.setDNSRecord(0, "n/r", userRecord(all...))
	s := Compile(nil, w.objects(), childOptions, testTime)
	names := make(map[string]bool)
	for _, c := range s.Children("c", ofRecord("n/r")) {
		names[c.Name] = true
	}
	if n := s.Checks().Len(); len(names) != 1000 || n != 1500 || !names["n/r-10-0-0-0"] || names["n/r-10-4-1-43"] {
		t.Errorf("of %d targets %d have probes, want 1000 of 1500, the first ones", n, len(names))
	}
	// Who is told of what has changed looks at all children of each object that is named.
	w.writeChildren(s, 0, ofRecord("n/r"))
	s = Compile(s, w.objects(), childOptions, testTime)
	if told := s.ChildrenChanged(); !slices.Equal(told, []ParentRef{{"c", ofRecord("n/r")}}) {
		t.Errorf("once they are written, %d objects are named, not the DNSRecord alone", len(told))
	}
}

// TestRecordProbeStatus: the probe of a DNSRecord tells what the check of its target has found, starts
// none, and is told again when that changes (rules 4.8 and 4.10).
func TestRecordProbeStatus(t *testing.T) {
	w := newWorld("c")
	r := userRecord(apiEndpoint("app.example.com.", "A", "192.0.2.1"))
	r.HealthCheck.Host = "check.example.net"
	w.setDNSRecord(0, "n/r", r)
	s := Compile(nil, w.objects(), childOptions, testTime)
	before := s.Checks().Len()
	w.writeChildren(s, 0, ofRecord("n/r"))
	s = Compile(s, w.objects(), childOptions, testTime)
	if after := s.Checks().Len(); before != 1 || after != 1 {
		t.Errorf("%d targets are checked, and with the probe %d", before, after)
	}
	conclude(s, "192.0.2.1", health.Outcome{Reason: health.StatusCode, Status: 503}, 3)
	const name = "n/r-192-0-2-1"
	want := api.ProbeStatus{Healthy: api.ConditionFalse, ConsecutiveFailures: 3, Reason: "unexpected status code", Status: 503, LastCheck: testTime}
	if got, ok := s.ProbeStatus("c", name, func(string) time.Time { return testTime }); !ok || got != want {
		t.Errorf("the status is %+v, %v; want %+v", got, ok, want)
	}
	told := make(map[api.Ref]bool)
	for key := range s.Checks().All() {
		for _, ref := range s.Followers(key) {
			told[ref] = true
		}
	}
	if !told[ofRecord("n/r")] || !told[api.Ref{Kind: api.KindProbe, Name: name}] {
		t.Errorf("what is found of the target is told to %v", told)
	}
	for what, change := range map[string]func(*api.DNSRecord){
		"that of a DNSRecord of its name before": func(r *api.DNSRecord) { r.UID = "u-other" },
		"without its check":                      func(r *api.DNSRecord) { r.HealthCheck = nil },
		"of a target that is gone":               func(r *api.DNSRecord) { r.Endpoints[0].Targets = []string{"192.0.2.9"} },
		"of a DNSRecord that is not served":      func(r *api.DNSRecord) { r.ZoneID = "example.net" },
	} {
		next := userRecord(apiEndpoint("app.example.com.", "A", "192.0.2.1"))
		next.HealthCheck.Host = "check.example.net"
		change(next)
		w.setDNSRecord(0, "n/r", next)
		s = Compile(s, w.objects(), childOptions, testTime)
		if got, ok := s.ProbeStatus("c", name, nil); !ok || got != (api.ProbeStatus{}) {
			t.Errorf("%s: the status is %+v, %v", what, got, ok)
		}
	}
}
