package api_test

import (
	"cmp"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const probeCRD = "config/crd/kuadrant.io_dnshealthcheckprobes.yaml"

// decode returns what decoding has to say against the object.
func (r rule) decode(t *testing.T) (invalid, fault string) {
	t.Helper()
	text := toJSON(t, r.text())
	var err error
	switch r.kind {
	case "":
		var p *api.DNSPolicy
		if p, err = api.DecodePolicy("c", text); err == nil {
			return cmp.Or(p.Invalid, p.CheckInvalid), p.Fault
		}
	case "DNSHealthCheckProbe":
		var p *api.HealthCheckProbe
		if p, err = api.DecodeProbe("c", text); err == nil {
			return p.Invalid, p.Fault
		}
	case "Zone":
		var z *api.Zone
		if z, err = api.DecodeZone("c", text); err == nil {
			return z.Invalid, z.Fault
		}
	case "Record":
		var rec *api.Record
		if rec, err = api.DecodeRecord("c", text); err == nil {
			return rec.Invalid, rec.Fault
		}
	case "DNSRecord":
		var rec *api.DNSRecord
		if rec, err = api.DecodeDNSRecord("c", text); err == nil {
			return cmp.Or(rec.Invalid, rec.CheckInvalid), rec.Fault
		}
	}
	t.Fatalf("decode %s: %v", r.kind, err)
	return "", ""
}

// checkRules are rules of what policies and probes have alike; spec holds the
// fields alone.
func checkRules() []rule {
	list := []rule{
		{name: "protocol", spec: "protocol: UDP", refused: `supported values: "HTTP", "HTTPS", "TCP", "GRPC"`},
		{name: "protocols", spec: "protocol: GRPC"},
		{name: "interval", spec: "interval: soon", refused: "interval in body should match"},
		{name: "short interval", spec: "interval: 999ms", refused: "interval must be from 1s to 24h"},
		{name: "long interval", spec: "interval: 24h1s", refused: "interval must be from 1s to 24h"},
		{name: "interval in parts", spec: "interval: 1h5m0.5s, timeout: 100ms"},
		{
			name: "timeout over the interval", spec: "interval: 5s, timeout: 6s",
			refused: "timeout must not be longer than interval, which is 5m if it is not set",
		},
		{
			name: "timeout over the interval that is not set", spec: "timeout: 5m1s",
			refused: "timeout must not be longer than interval, which is 5m if it is not set",
		},
		{name: "short timeout", spec: "timeout: 9ms", refused: "timeout must be at least 10ms"},
		{name: "failure threshold", spec: "failureThreshold: 0", refused: "Failure threshold must be greater than 0"},
		{name: "huge failure threshold", spec: "failureThreshold: 1001", refused: "should be less than or equal to 1000"},
		{name: "success threshold", spec: "successThreshold: 0", refused: "Success threshold must be greater than 0"},
		{name: "status codes", spec: "expectedResponses: [100, 599]"},
		{name: "status code", spec: "expectedResponses: [600]", refused: "should be less than or equal to 599"},
		{name: "probe host", spec: "host: Health.example.org."},
		{name: "probe host with a port", spec: "host: 'a:80'", refused: "host must be a name such as app.example.com"},
		{name: "wildcard probe host", spec: "host: '*.example.com'", refused: "host must be a name such as app.example.com"},
		{name: "headers", spec: "additionalHeadersRef: {}", refused: "additionalHeadersRef.name: Required value"},
	}
	for _, port := range []string{"80", "443", "1024", "49151"} { // case G18
		list = append(list, rule{name: "port " + port, spec: "port: " + port})
	}
	for _, port := range []string{"0", "81", "1023", "49152"} {
		list = append(list, rule{name: "port " + port, spec: "port: " + port, refused: "Only ports 80, 443, 1024-49151 are allowed"})
	}
	return append(list, pathRules("path")...)
}

// pathRules is case G17 for the given field.
func pathRules(field string) (list []rule) {
	const probePath = "a path must be /, or start with / or ?, contain only URL characters, end with a letter, a digit or /, and have at " +
		"least three characters"
	for _, path := range []string{"/a", "healthz", "/x-", "//", "/a b"} {
		list = append(list, rule{name: field + " " + path, spec: field + ": '" + path + "'", refused: probePath})
	}
	for _, path := range []string{"/ok", "/a/", "?x=1", "/healthz"} {
		list = append(list, rule{name: field + " " + path, spec: field + ": '" + path + "'"})
	}
	return list
}

func probeRules() []rule {
	const address = "address must be an IP address such as 192.0.2.1, or a name such as lb.example.com"
	list := []rule{
		{name: "without an address", spec: "{host: a.example.com}", refused: "spec.address: Required value"},
		{name: "host and hostname that agree", spec: "{address: 192.0.2.1, host: a.b, hostname: a.b}"},
		{
			name: "host and hostname that differ", spec: "{address: 192.0.2.1, host: a.b, hostname: a.c}",
			refused: "host and hostname mean the same and differ: keep one of them",
		},
		{name: "hostname with a port", spec: "{address: 192.0.2.1, hostname: 'a:80'}", refused: "host must be a name such as app.example.com"},
	}
	for _, good := range []string{"192.0.2.1", "2001:db8::1", "LB.example.com.", "localhost"} {
		list = append(list, rule{name: "address " + good, spec: "{address: '" + good + "'}"})
	}
	for _, bad := range []string{"", "192.0.2.1:80", "[2001:db8::1]", "192.0.2.300", "*.example.com", "a b", "http://a.b", "fe80::1%eth0"} {
		list = append(list, rule{name: "address " + bad, spec: "{address: '" + bad + "'}", refused: address})
	}
	for _, c := range checkRules() {
		c.spec = "{address: 192.0.2.1, " + c.spec + "}"
		list = append(list, c)
	}
	for i := range list {
		list[i].name, list[i].kind = "probe: "+list[i].name, "DNSHealthCheckProbe"
	}
	return list
}
