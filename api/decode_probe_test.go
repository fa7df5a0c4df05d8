package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const probeHead = `
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {name: p, namespace: shop, uid: u, generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", labels: {a: b}}
`

func decodeProbe(t testing.TB, text string) *api.HealthCheckProbe {
	t.Helper()
	p, err := api.DecodeProbe("c", toJSON(t, probeHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// plainProbe is what a probe with nothing but the address 192.0.2.1 means.
func plainProbe() *api.HealthCheckProbe {
	return &api.HealthCheckProbe{
		Meta: api.Meta{
			Name: "shop/p", Cluster: "c", UID: "u", Generation: 3,
			Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
		},
		Address: "192.0.2.1",
		Check:   *defaultCheck(),
	}
}

func TestDecodeProbe(t *testing.T) {
	host := func(p *api.HealthCheckProbe) { p.Host, p.Check.Host = "app.example.org", "app.example.org" }
	tests := []struct {
		name, text string
		want       func(p *api.HealthCheckProbe)
	}{
		{"an address alone", "spec: {address: 192.0.2.1}", func(*api.HealthCheckProbe) {}},
		{"IPv6", "spec: {address: '2001:DB8:0::1'}", func(p *api.HealthCheckProbe) { p.Address = "2001:db8::1" }},
		{"IPv4 in IPv6", "spec: {address: '::ffff:192.0.2.1'}", func(*api.HealthCheckProbe) {}},
		{"a host name as address", "spec: {address: LB.example.com.}", func(p *api.HealthCheckProbe) { p.Address = "lb.example.com" }},
		{"host", "spec: {address: 192.0.2.1, host: App.example.org.}", host},
		{"hostname", "spec: {address: 192.0.2.1, hostname: App.example.org.}", host},
		{"both", "spec: {address: 192.0.2.1, hostname: app.example.org, host: app.example.org}", host},
		{"null", "spec: {address: 192.0.2.1, hostname: app.example.org, host: null, port: null}\nstatus: {healthy: null}", host},
		{
			"as the interface has it", "spec: {address: 192.0.2.1, host: app.example.org, port: 443, path: /healthz, protocol: HTTPS, " +
				"interval: 30s, failureThreshold: 5}\n" +
				`status: {healthy: true, consecutiveFailures: 0, reason: "", status: 200, lastCheck: "2026-01-01T00:00:00Z", observedGeneration: 2}`,
			func(p *api.HealthCheckProbe) {
				host(p)
				p.Check.Path, p.Check.Interval = "/healthz", 30*time.Second
				p.Healthy, p.ObservedGeneration = api.ConditionTrue, 2
			},
		},
		{
			"all of the check", "spec: {address: 192.0.2.1, port: 8080, path: '?x=1', protocol: HTTP, interval: 1m, timeout: 2s, " +
				"failureThreshold: 2, successThreshold: 3, expectedResponses: [204], allowInsecureCertificate: true, additionalHeadersRef: " +
				"{name: probe-headers}}",
			func(p *api.HealthCheckProbe) {
				p.Check = api.HealthCheck{
					Protocol: api.HTTP, Port: 8080, Path: "/?x=1", Interval: time.Minute, Timeout: 2 * time.Second, FailureThreshold: 2,
					SuccessThreshold: 3,
					Expected:         []int{204}, AllowInsecureCertificate: true, HeadersSecret: "probe-headers",
				}
			},
		},
		{"down", "spec: {address: 192.0.2.1}\nstatus: {healthy: false}", func(p *api.HealthCheckProbe) { p.Healthy = api.ConditionFalse }},
		{
			"not decided", "spec: {address: 192.0.2.1}\nstatus: {observedGeneration: 3}",
			func(p *api.HealthCheckProbe) { p.ObservedGeneration = 3 },
		},
		{"fields that nobody knows", "spec: {address: 192.0.2.1, endpoint: /no, later: [1]}\nlater: {a: b}", func(*api.HealthCheckProbe) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plainProbe()
			test.want(want)
			if got := decodeProbe(t, test.text); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestDecodeProbeInvalid: what cannot be accepted is said in a sentence that
// names the field, and the rest is read.
func TestDecodeProbeInvalid(t *testing.T) {
	const want = ": write an IP address such as 192.0.2.1, or a name such as lb.example.com"
	tests := []struct{ name, spec, address, invalid string }{
		{"no spec", "", "", "spec.address is missing" + want},
		{"no address", "spec: {host: a.b}", "", "spec.address is missing" + want},
		{"a port", "spec: {address: '192.0.2.1:80'}", "", `spec.address "192.0.2.1:80"` + want + ", without port and wildcard"},
		{"a wildcard", "spec: {address: '*.example.com'}", "", `spec.address "*.example.com"` + want + ", without port and wildcard"},
		{"no address at all", "spec: {address: 192.0.2.300}", "", `spec.address "192.0.2.300"` + want + ", without port and wildcard"},
		{"an interface", "spec: {address: 'fe80::1%eth0'}", "", `spec.address "fe80::1%eth0"` + want + ", without port and wildcard"},
		{"long", "spec: {address: " + strings.Repeat("a.", 200) + "}", "", `spec.address "` + strings.Repeat("a.", 32) + `…"` + want +
			", without port and wildcard"},
		{
			"two hosts", "spec: {address: 192.0.2.1, host: a.b, hostname: b.c}", "192.0.2.1",
			"spec.host and spec.hostname mean the same and differ: keep one of them",
		},
		{"host", "spec: {address: 192.0.2.1, host: 'a:80'}", "192.0.2.1", `spec.host "a:80": write a host name without port and wildcard`},
		{
			"hostname", "spec: {address: 192.0.2.1, hostname: '*.a.b'}", "192.0.2.1",
			`spec.hostname "*.a.b": write a host name without port and wildcard`,
		},
		{
			"protocol", "spec: {address: 192.0.2.1, protocol: UDP}", "192.0.2.1",
			`spec.protocol "UDP": Only HTTP, HTTPS, TCP or GRPC protocols are allowed`,
		},
		{
			"interval", "spec: {address: 192.0.2.1, interval: soon}", "192.0.2.1",
			`spec.interval "soon": a duration from 1s to 24h0m0s is wanted here`,
		},
		{
			"timeout", "spec: {address: 192.0.2.1, interval: 10s, timeout: 11s}", "192.0.2.1",
			`spec.timeout "11s": a duration from 10ms to 10s is wanted here`,
		},
		{
			"headers", "spec: {address: 192.0.2.1, additionalHeadersRef: {}}", "192.0.2.1",
			"spec.additionalHeadersRef.name: write the name of a Secret",
		},
		{
			"status code", "spec: {address: 192.0.2.1, expectedResponses: [99]}", "192.0.2.1",
			"spec.expectedResponses[0] is 99: an HTTP status code is from 100 to 599",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := decodeProbe(t, test.spec)
			if p.Invalid != test.invalid || p.Fault != "" {
				t.Errorf("got  %q, fault %q\nwant %q", p.Invalid, p.Fault, test.invalid)
			}
			if p.Address != test.address || p.Name != "shop/p" || p.Check.Port != 443 || p.Check.Interval < time.Second {
				t.Errorf("the rest is lost: %+v", p)
			}
		})
	}
}

// TestDecodeProbeFaults: what has the wrong type is named, and what stands
// beside it is read.
func TestDecodeProbeFaults(t *testing.T) {
	for text, fault := range map[string]string{
		"spec: {address: 192.0.2.1, port: https}": "spec.port: a whole number is wanted here, not a string",
		"spec: {address: 192.0.2.1, host: 5}": "spec.host: a string is wanted here, not a number: in " +
			"YAML, put quotes around it",
		"spec: {address: 192.0.2.1}\nstatus: {healthy: 'true'}": "status.healthy: true or false is wanted here, not a string",
		"spec: {address: 192.0.2.1}\nstatus: []":                "status: an object is wanted here, not a list",
		"spec: {address: 192.0.2.1, allowInsecureCertificate: [], path: null}": "spec.allowInsecureCertificate: true or false is " +
			"wanted here, not a list",
	} {
		want := plainProbe()
		want.Fault = fault
		if got := decodeProbe(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"{":                           "read JSON",
		"{}":                          "metadata.name is missing",
		`{"metadata":{"name":"A/b"}}`: "metadata.name",
	} {
		if _, err := api.DecodeProbe("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "decode DNSHealthCheckProbe: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestDecodeProbePaths is case G17, TestDecodeProbePorts case G18.
func TestDecodeProbePaths(t *testing.T) {
	for path, ok := range map[string]bool{
		"/": true, "/a": false, "healthz": false, "/x-": false, "//": false, "": true,
		"/ok": true, "/a/": true, "?x=1": true, "/healthz": true,
	} {
		p := decodeProbe(t, fmt.Sprintf("spec: {address: 192.0.2.1, path: %q}", path))
		if (p.Invalid == "") != ok || p.Check.Path == "" || p.Check.Path[0] != '/' {
			t.Errorf("path %q is asked for as %q: %q", path, p.Check.Path, p.Invalid)
		}
	}
}

func TestDecodeProbePorts(t *testing.T) {
	for port, ok := range map[int64]bool{
		80: true, 443: true, 1024: true, 49151: true, 0: false, -1: false, 81: false, 1023: false, 49152: false, 65536 + 80: false,
	} {
		p := decodeProbe(t, fmt.Sprintf("spec: {address: 192.0.2.1, port: %d}", port))
		if (p.Invalid == "") != ok || ok && int64(p.Check.Port) != port {
			t.Errorf("port %d: %d, %q", port, p.Check.Port, p.Invalid)
		}
	}
}
