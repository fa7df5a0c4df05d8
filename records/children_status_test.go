package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// conclude sets what checks of an address have found.
func conclude(s *Snapshot, address string, w health.Outcome, times int) {
	for _, t := range s.checks.All() {
		if t.Address == address {
			for range times {
				t.Cell.Observe(w, t.Terms)
			}
		}
	}
}

var statusCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/", Interval: time.Minute, FailureThreshold: 2, SuccessThreshold: 1, Expected: []int{200}}

// statusOf writes down the status of a DNSRecord.
func statusOf(s *Snapshot, name string) string {
	v, rows := s.RecordStatus("c", name)
	if v == nil {
		return "none"
	}
	var b strings.Builder
	for _, c := range v.Conditions {
		fmt.Fprintf(&b, "%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, e := range rows {
		fmt.Fprintf(&b, "%s %d %s %s %q %v\n", e.DNSName, e.TTL, e.Type, strings.Join(e.Targets, ","), e.SetID, e.Properties)
	}
	return b.String()
}

// TestChildStatus: the child of a policy tells what is published, and how healthy it is (rule 4.8).
func TestChildStatus(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1", "192.0.2.2"))
	p := parentOf("gw", "u", api.WeightedGeo)
	p.HealthCheck = statusCheck
	w.setPolicy(0, "n/p", p)
	s := Compile(nil, w.objects(), childOptions, testTime)
	w.writeChildren(s, 0, ofPolicy("n/p"))
	s = Compile(s, w.objects(), childOptions, testTime)
	leaf := endpoint.Hash("uid-c") + "-" + endpoint.Hash("gw-n") + ".klb.app.example.com"
	rows := func(weight, state string) string {
		return strings.ReplaceAll(fmt.Sprintf(`app.example.com 300 CNAME klb.app.example.com "" []
klb.app.example.com 300 CNAME default.klb.app.example.com "default" [{geo-code *}]
default.klb.app.example.com 60 CNAME LEAF "LEAF" [{weight %s} {health %s}]
LEAF 60 A 192.0.2.1,192.0.2.2 "" [{health %s}]
`, weight, state, state), "LEAF", leaf)
	}
	const ready = "Ready=True ProviderSuccess: Provider ensured the dns record\n"
	for _, c := range []struct {
		address string
		times   int
		want    string
	}{
		{"192.0.2.1", 0, ready + "Healthy=True AllChecksPassed: All healthchecks succeeded\n" + rows("120", "up")},
		{"192.0.2.1", 2, ready + "Healthy=False SomeChecksPassed: Not healthy addresses: [192.0.2.1]\n" + rows("120", "up")},
		{"192.0.2.2", 2, ready + "Healthy=False HealthChecksFailed: Not healthy addresses: [192.0.2.1 192.0.2.2]\n" + rows("0", "down")},
	} {
		conclude(s, c.address, health.Outcome{Reason: health.ConnectionRefused}, c.times)
		if got := statusOf(s, "n/gw-l0"); got != c.want {
			t.Errorf("after %d failures of %s:\n%swant\n%s", c.times, c.address, got, c.want)
		}
	}
	w.setGateway(0, "n/gw", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := statusOf(s, "n/gw-l0"); !strings.HasPrefix(got, "Ready=False NotServed: the DNSPolicy does not publish the host") {
		t.Errorf("a child that is wanted no more says\n%s", got)
	}
	if got := statusOf(s, "n/unknown"); got != "none" {
		t.Errorf("a record that is not there says\n%s", got)
	}
}

// TestRecordStatus: so does a DNSRecord that somebody else has written.
func TestRecordStatus(t *testing.T) {
	w := newWorld("c")
	h := "app.example.com."
	row := func(name, rtype, setID string, weight int64, targets ...string) api.Endpoint {
		return api.Endpoint{DNSName: name, Type: rtype, Targets: targets, SetID: setID, Weight: weight}
	}
	w.setDNSRecord(0, "n/r", &api.DNSRecord{
		RootHost: h, ZoneID: "example.com", HealthCheck: statusCheck, Endpoints: []api.Endpoint{
			row(h, "CNAME", "", api.NoWeight, "klb.app.example.com"),
			row("klb."+h, "CNAME", "a", 70, "a.klb.app.example.com"),
			row("klb."+h, "CNAME", "b", 30, "b.klb.app.example.com"),
			row("a.klb."+h, "A", "", api.NoWeight, "192.0.2.1"),
			row("b.klb."+h, "A", "", api.NoWeight, "192.0.2.2"),
			row("txt."+h, "TXT", "", api.NoWeight, "one", "two"),
		},
	})
	w.setDNSRecord(0, "n/theirs", &api.DNSRecord{RootHost: h, Endpoints: []api.Endpoint{row(h, "A", "", api.NoWeight, "192.0.2.9")}})
	s := Compile(nil, w.objects(), childOptions, testTime)
	conclude(s, "192.0.2.2", health.Outcome{Reason: health.StatusCode, Status: 503}, 2)
	want := `Ready=True ProviderSuccess: Provider ensured the dns record
Healthy=False SomeChecksPassed: Not healthy addresses: [192.0.2.2]
app.example.com 60 CNAME klb.app.example.com "" []
klb.app.example.com 60 CNAME a.klb.app.example.com "a" [{weight 70} {health up}]
klb.app.example.com 60 CNAME b.klb.app.example.com "b" [{weight 0} {health down}]
a.klb.app.example.com 60 A 192.0.2.1 "" [{health up}]
b.klb.app.example.com 60 A 192.0.2.2 "" [{health down}]
txt.app.example.com 60 TXT "one","two" "" []
`
	if got := statusOf(s, "n/r"); got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
	if got := statusOf(s, "n/theirs"); got != "none" {
		t.Errorf("another server's record says\n%s", got)
	}
}

// TestProbeStatus: the status of a probe is what its check has found, whoever wrote it, and not
// that of a controller's or where others probe.
func TestProbeStatus(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	grpc := *statusCheck
	grpc.Protocol, grpc.Port = api.GRPC, 8080 // that a listener speaks TLS there is not in the probe
	p.HealthCheck = &grpc
	w.setPolicy(0, "n/p", p)
	s := Compile(nil, w.objects(), childOptions, testTime)
	w.writeChildren(s, 0, ofPolicy("n/p"))
	user := &api.HealthCheckProbe{Meta: api.Meta{Generation: 3}, Address: "192.0.2.1", Host: "app.example.com", Check: *statusCheck}
	user.Check.Host = user.Host
	w.setProbe(0, "n/mine", user)
	w.setProbe(0, "n/idle", &api.HealthCheckProbe{Address: "192.0.2.99", Check: *statusCheck})
	w.setProbe(0, "n/theirs", &api.HealthCheckProbe{Meta: api.Meta{Controlled: true}, Address: "192.0.2.1", Check: *statusCheck})
	s = Compile(s, w.objects(), childOptions, testTime)
	conclude(s, "192.0.2.1", health.Outcome{Reason: health.StatusCode, Status: 503}, 3)
	at := testTime.Add(time.Minute)
	last := func(key string) time.Time {
		if _, ok := s.Checks().Get(key); !ok {
			t.Errorf("asked for the last check of %q, which is none", key)
		}
		return at
	}
	down := api.ProbeStatus{Healthy: api.ConditionFalse, ConsecutiveFailures: 3, Reason: "unexpected status code", Status: 503, LastCheck: at}
	mine := down
	mine.ObservedGeneration = 3
	for _, c := range []struct {
		name string
		want api.ProbeStatus
		ok   bool
	}{
		{"n/gw-l0-192-0-2-1", down, true},
		{"n/mine", mine, true},
		{"n/idle", api.ProbeStatus{}, true},
		{"n/theirs", api.ProbeStatus{}, false},
		{"n/unknown", api.ProbeStatus{}, false},
	} {
		if got, ok := s.ProbeStatus("c", c.name, last); got != c.want || ok != c.ok {
			t.Errorf("%s is %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	opt := *childOptions
	opt.ProbesOff = true
	if _, ok := Compile(nil, w.objects(), &opt, testTime).ProbeStatus("c", "n/mine", nil); ok {
		t.Error("where others probe it is for us to say how a probe is")
	}
}

// TestEntries: a Zone tells of its records, the SOA first, up to a bound.
func TestEntries(t *testing.T) {
	w := newWorld("c")
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.com.", TTL: 360, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}})
	w.record("dns/ns", "example.com.", "NS", "ns.example.net.", 1)
	w.record("dns/www", "www.example.com.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), childOptions, testTime)
	entries, more := s.Entries("c", "dns/z")
	if len(entries) != 3 || more || entries[0].Type != "SOA" || entries[0].FQDN != "example.com." || entries[0].Class != "IN" || entries[0].TTL != 360 ||
		entries[2] != (api.Entry{FQDN: "www.example.com.", Type: "A", Class: "IN", TTL: 360, RData: "192.0.2.1"}) {
		t.Errorf("the entries are %+v, more %v", entries, more)
	}
	v := s.Verdict("c", api.Ref{Kind: api.KindZone, Name: "dns/z"})
	for i := range 1100 {
		w.record(fmt.Sprint("dns/r", i), fmt.Sprintf("r%d.example.com.", i), "A", "192.0.2.1", 1)
	}
	s = Compile(s, w.objects(), childOptions, testTime)
	full, more := s.Entries("c", "dns/z")
	if len(full) != 1000 || !more || full[0].Type != "SOA" {
		t.Errorf("of 1,103 records %d are told, more %v", len(full), more)
	}
	fuller := s.Verdict("c", api.Ref{Kind: api.KindZone, Name: "dns/z"})
	if len(fuller.Conditions) != len(v.Conditions)+1 || fuller.Conditions[len(v.Conditions)].Message != "status.entries holds the first 1000 records of the zone: a zone transfer has all" {
		t.Errorf("the conditions are %+v", fuller.Conditions)
	}
	if _, line := fuller.Problem(); line != "" {
		t.Errorf("the log would say %q", line)
	}
	if entries, _ := s.Entries("c", "dns/unknown"); entries != nil {
		t.Errorf("a Zone that is not there has %d entries", len(entries))
	}
}
