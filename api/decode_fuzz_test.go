package api_test

import (
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

func FuzzDecodeGateway(f *testing.F) {
	f.Add(liveGateway(0))
	f.Add([]byte(`{"metadata":{"name":"g","labels":{"a":"b"},"annotations":{"kuadrant.io/x":"y"},"deletionTimestamp":"x"},"spec":{"listeners":[{"name":"a","hostname":"*.b"},{"name":"a"},null,5]},"status":{"addresses":[{"type":null,"value":"192.0.2.1"}],"conditions":[{"type":"Programmed","status":"False"}],"listeners":[{"name":"a","attachedRoutes":1e400}]}}`))
	fuzzDecode(f, api.DecodeGateway, func(t *testing.T, g *api.Gateway, size int) {
		if n := len(g.Listeners) + len(g.Addresses) + len(g.Labels) + len(g.Annotations); n > size {
			t.Errorf("%d things from a text of %d bytes", n, size)
		}
		for _, l := range g.Listeners {
			if l.Name == "" || l.AttachedRoutes < api.UnknownRoutes {
				t.Errorf("listener %+v", l)
			}
		}
	})
}

func FuzzDecodePolicy(f *testing.F) {
	f.Add(livePolicy(0))
	f.Add(toJSON(f, policyHead+targetRef+`
  routingStrategy: weightedGeo
  loadBalancing: {weight: 1, weighted: {defaultWeight: 80, custom: [{selector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [x]}]}, weight: 20}, {value: v, weight: 1}]}, geo: {defaultGeo: IE}}
  healthCheck: {path: /healthz, endpoint: /healthz, port: 443, protocol: HTTPS, interval: 5m, timeout: 1s, failureThreshold: 3, successThreshold: 1, expectedResponses: [200], host: a.b, allowInsecureCertificate: true, additionalHeadersRef: {name: h}}
  excludeAddresses: [1.1.0.0/16, '::ffff:10.0.0.0/104', a.example, 192.0.2.1]
  providerRefs: [{name: a}]
  providerRef: {name: b, kind: ManagedZone, namespace: n}
  providerSelector: {matchLabels: {c: d}}
  delegate: true`))
	f.Add(toJSON(f, policyHead+targetRef+"  loadBalancing: {weight: -1, geo: '*', defaultGeo: true}"))
	fuzzDecode(f, api.DecodePolicy, func(t *testing.T, p *api.DNSPolicy, size int) {
		if n := len(p.CustomWeights); n > size {
			t.Errorf("%d weights from a text of %d bytes", n, size)
		}
		checkPolicy(t, p)
	})
}

func FuzzDecodeProbe(f *testing.F) {
	f.Add(liveProbe(0))
	f.Add(toJSON(f, probeHead+`
spec: {address: 'LB.example.com.', host: a.b, hostname: a.b, path: /healthz, port: 443, protocol: GRPC, interval: 5m, timeout: 1s, failureThreshold: 3, successThreshold: 1, expectedResponses: [200], allowInsecureCertificate: true, additionalHeadersRef: {name: h}}
status: {healthy: true, observedGeneration: 1}`))
	f.Add(toJSON(f, probeHead+"spec: {address: '::ffff:192.0.2.1', host: '*', hostname: 5, port: -1}\nstatus: {healthy: no}"))
	fuzzDecode(f, api.DecodeProbe, func(t *testing.T, p *api.HealthCheckProbe, _ int) {
		checkProbe(t, p)
	})
}

func FuzzDecodeZone(f *testing.F) {
	f.Add(liveZone(0))
	f.Add(toJSON(f, zoneHead+`
spec: {domainName: 'A\.b.example.org.', zoneRef: {name: parent, namespace: dns}, ttl: 360, refresh: 86400, retry: -7200, expire: 3600000, negativeResponseCache: 1e30, mname: NS.example.org, rname: 'a\.b.example.org.', delegations: [
  {namespaces: [dev, 5], zones: ["*", "@", 'a\046'], records: [{pattern: "*.Dev", types: [a, TYPE5, ANY]}, {pattern: "@"}, {pattern: a..b}, null]}, {namespaces: [null], zones: [a]}, {}]}
status: {hash: abc, serial: 4294967295}`))
	fuzzDecode(f, api.DecodeZone, func(t *testing.T, z *api.Zone, size int) {
		checkZone(t, z, size)
	})
}

// checkZone holds what every Zone fulfils that was decoded from so many bytes.
func checkZone(t *testing.T, z *api.Zone, size int) {
	t.Helper()
	checkPlace(t, z.Invalid, z.DomainName, z.Parent)
	if z.DomainName == "@" && z.Invalid == "" || max(z.TTL, z.Refresh, z.Retry, z.Expire, z.Minimum) > 1<<31-1 ||
		z.Kept.Hash != "" && z.Kept.Serial == 0 {
		t.Errorf("%+v", z)
	}
	for _, name := range []string{z.Mname, z.Rname} {
		if name != "" {
			checkSpelling(t, name)
		}
	}
	things := len(z.Delegations)
	for _, d := range z.Delegations {
		things += len(d.Namespaces) + len(d.Zones) + len(d.Records)
		if len(d.Zones)+len(d.Records) == 0 || slices.Contains(d.Namespaces, "") {
			t.Errorf("delegation %+v", d)
		}
		for _, pattern := range d.Zones {
			checkPattern(t, pattern)
		}
		for _, r := range d.Records {
			things += len(r.Types)
			checkPattern(t, r.Pattern)
		}
	}
	if things > size {
		t.Errorf("%d things from a text of %d bytes", things, size)
	}
}

// checkPlace holds what the name of every Zone and Record fulfils.
func checkPlace(t *testing.T, invalid, domainName, parent string) {
	t.Helper()
	if len(invalid) > 4000 || invalid == "" && (domainName == "" || dns.IsFqdn(domainName) == (parent != "")) || parent != "" &&
		!validName.MatchString(parent) {
		t.Errorf("invalid %q, name %q, parent %q", invalid, domainName, parent)
	}
}

// checkSpelling holds that a name is one, with a final dot, and is spelled as it is
// read from a message.
func checkSpelling(t *testing.T, name string) {
	t.Helper()
	var wire [255]byte
	end, err := dns.PackDomainName(name, wire[:], 0, nil, false)
	if err != nil {
		t.Errorf("%q is no name: %v", name, err)
		return
	}
	if again, _, err := dns.UnpackDomainName(wire[:end], 0); err != nil || dns.CanonicalName(again) != name {
		t.Errorf("%q is spelled %q, %v", name, again, err)
	}
}

func checkPattern(t *testing.T, pattern string) {
	t.Helper()
	if pattern == "@" {
		return
	}
	if dns.IsFqdn(pattern) {
		t.Errorf("pattern %q is absolute", pattern)
	}
	checkSpelling(t, pattern+".")
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(liveRecord(0))
	f.Add(toJSON(f, recordHead+`spec: {domainName: '@', zoneRef: {name: example-org}, type: txt, class: IN, ttl: 0, rdata: '"a" b'}`))
	f.Add(toJSON(f, recordHead+`spec: {domainName: '\097.b\.', zoneRef: {name: 5, namespace: []}, type: [], class: ch, ttl: -1, rdata: 5}`))
	fuzzDecode(f, api.DecodeRecord, func(t *testing.T, r *api.Record, _ int) {
		checkPlace(t, r.Invalid, r.DomainName, r.Parent)
		if r.Class == "" || r.TTL < api.NoTTL || r.TTL > 1<<31-1 || r.Type == "" && r.Invalid == "" {
			t.Errorf("%+v", r)
		}
	})
}

func FuzzDecodeDNSRecord(f *testing.F) {
	f.Add(liveDNSRecord(0))
	f.Add(toJSON(f, dnsRecordHead+`
spec:
  rootHost: '*.Example.org.'
  providerRef: {name: a, namespace: b, kind: ExternalDNS}
  zoneID: mn.hcpapps.net
  healthCheck: {path: /healthz, port: 443, interval: 5m, timeout: 1s, expectedResponses: [200], additionalHeadersRef: {name: h}}
  endpoints: [{dnsName: 'a\.b.c', recordType: a, recordTTL: -1, targets: [x]}, {dnsName: b, recordType: A, targets: ['', 5, x], providerSpecific: [{name: weight, value: 5}]}, null, {dnsName: c, recordType: AAAA, targets: ['2001:db8::1'], setIdentifier: x, providerSpecific: [{name: aws/weight, value: "5"}, {name: geo-code, value: ie}, {name: geo-code, value: "*"}]}]`))
	fuzzDecode(f, api.DecodeDNSRecord, func(t *testing.T, r *api.DNSRecord, size int) {
		if r.RootHost == "" && r.Invalid == "" || len(r.Invalid) > 8000 || r.Provider.Selector != nil {
			t.Errorf("%+v", r)
		}
		if r.RootHost != "" {
			checkSpelling(t, r.RootHost)
		}
		if r.HealthCheck != nil {
			checkHealth(t, r.HealthCheck)
		}
		checkEndpoints(t, r.Endpoints, size)
	})
}

func FuzzDecodeDNSEndpoint(f *testing.F) {
	f.Add(toJSON(f,
		endpointHead+`spec: {endpoints: [{dnsName: App.example.org., recordType: CNAME, recordTTL: 60, targets: [a, b, 5], setIdentifier: s, labels: {a: b}, providerSpecific: [{name: weight, value: "120"}, {name: geo-code, value: "*"}]}]}`))
	f.Add(toJSON(f, endpointHead+`spec: {endpoints: {}}`))
	fuzzDecode(f, api.DecodeDNSEndpoint, func(t *testing.T, e *api.DNSEndpoint, size int) {
		checkEndpoints(t, e.Endpoints, size)
	})
}

// checkEndpoints holds what all endpoints fulfil that were decoded from so many bytes.
func checkEndpoints(t *testing.T, all []api.Endpoint, size int) {
	t.Helper()
	things := len(all)
	for _, e := range all {
		things += len(e.Targets)
		if e.Type == "" || len(e.Targets) == 0 || len(e.Targets) > 1000 || slices.Contains(e.Targets, "") || e.TTL < 0 || e.TTL > 1<<31-1 ||
			e.Weight < api.NoWeight || e.Weight > 1<<31-1 || e.Geo != strings.ToUpper(e.Geo) || len(e.Geo) > 63 {
			t.Errorf("endpoint %+v", e)
		}
		checkSpelling(t, e.DNSName)
	}
	if len(all) > 1000 || things > size {
		t.Errorf("%d endpoints, %d things from a text of %d bytes", len(all), things, size)
	}
}

// checkProbe holds what every probe fulfils, whatever it was decoded from.
func checkProbe(t *testing.T, p *api.HealthCheckProbe) {
	t.Helper()
	if p.Address == "" && p.Invalid == "" || p.Host != p.Check.Host || len(p.Invalid) > 4000 || p.Healthy > api.ConditionFalse {
		t.Errorf("%+v", p)
	}
	if a, err := netip.ParseAddr(p.Address); err == nil && (a.String() != p.Address || a.Is4In6() || a.Zone() != "") {
		t.Errorf("address %q", p.Address)
	} else if err != nil && (p.Address != strings.ToLower(p.Address) || len(p.Address) > 253 || strings.ContainsAny(p.Address, "*:/ ")) {
		t.Errorf("address %q", p.Address)
	}
	checkHealth(t, &p.Check)
}

// checkPolicy holds what every policy fulfils, whatever it was decoded from.
func checkPolicy(t *testing.T, p *api.DNSPolicy) {
	t.Helper()
	if p.DefaultWeight < 0 || len(p.Exclude) > 20 || len(p.Invalid) > 4000 {
		t.Errorf("%+v", p)
	}
	for _, c := range p.CustomWeights {
		if c.Weight < 0 || (c.Selector == nil) == (c.Value == "") {
			t.Errorf("custom weight %+v", c)
		}
	}
	for _, x := range p.Exclude {
		if x.Prefix.IsValid() == (x.Hostname != "") || x.Prefix != x.Prefix.Masked() || x.Prefix.Addr().Is4In6() {
			t.Errorf("exclusion %+v", x)
		}
	}
	if p.HealthCheck != nil {
		checkHealth(t, p.HealthCheck)
	}
}

func checkHealth(t *testing.T, h *api.HealthCheck) {
	t.Helper()
	if h.Interval <= 0 || h.Timeout <= 0 || h.Timeout > h.Interval || h.Port == 0 ||
		h.FailureThreshold < 1 || h.SuccessThreshold < 1 || len(h.Expected) == 0 || len(h.Expected) > 500 {
		t.Errorf("health check %+v", h)
	}
}

// fuzzDecode checks that decoding is bounded, gives a key that cannot be
// forged, gives the same for the same text in another layout, and is read back after it
// was written; and what check does of an object from so many bytes.
func fuzzDecode[T any](f *testing.F, decode func(string, []byte) (*T, error), check func(t *testing.T, o *T, size int)) {
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := decode("c", text)
		if err != nil {
			return
		}
		check(t, first, len(text))
		meta := any(first).(api.Object).Metadata()
		if len(meta.Fault) > 4000 {
			t.Errorf("fault of %d bytes", len(meta.Fault))
		}
		if meta.Name != meta.Namespace()+"/"+meta.BareName() || !validName.MatchString(meta.Name) {
			t.Errorf("key %q", meta.Name)
		}
		laidOut := jsontext.Value(append([]byte(nil), text...))
		if err := laidOut.Indent(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("decoded, but not JSON: %v", err)
		}
		second, err := decode("c", laidOut)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("once   %+v\nlater %+v, %v", first, second, err)
		}
		api.CheckReread(t, any(first))
	})
}
