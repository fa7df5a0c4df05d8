package api_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	policyHead = "metadata: {name: p, namespace: shop}\nspec:\n"
	targetRef  = "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web}\n"
)

// decodePolicy decodes a policy with the given fields of spec, indented by two,
// and the usual targetRef.
func decodePolicy(t testing.TB, spec string) *api.DNSPolicy {
	t.Helper()
	p, err := api.DecodePolicy("c", toJSON(t, policyHead+targetRef+spec))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// selector makes a selector of requirements, each with its key first, then its
// operator, then its values.
func selector(t testing.TB, requirements ...[]string) labels.Selector {
	t.Helper()
	s := labels.NewSelector()
	for _, q := range requirements {
		r, err := labels.NewRequirement(q[0], selection.Operator(q[1]), append([]string(nil), q[2:]...))
		if err != nil {
			t.Fatal(err)
		}
		s = s.Add(*r)
	}
	return s
}

// plain is the policy that says nothing but its target.
func plain() *api.DNSPolicy {
	return &api.DNSPolicy{
		Meta:          api.Meta{Name: "shop/p", Cluster: "c"},
		Target:        api.Target{Group: "gateway.networking.k8s.io", Kind: "Gateway", Name: "web"},
		DefaultWeight: 120,
	}
}

func defaultCheck() *api.HealthCheck {
	return &api.HealthCheck{
		Protocol: api.HTTPS, Port: 443, Path: "/", Interval: 5 * time.Minute, Timeout: 5 * time.Second,
		FailureThreshold: 5, SuccessThreshold: 1, Expected: []int{200, 201},
	}
}

func TestDecodePolicy(t *testing.T) {
	prefix := netip.MustParsePrefix
	tests := []struct {
		name, spec string
		want       func(p *api.DNSPolicy)
	}{
		{"only a target", "", func(*api.DNSPolicy) {}},
		{"everything null", `
  loadBalancing: null
  healthCheck: null
  excludeAddresses: null
  providerRefs: null
  providerRef: null
  providerSelector: null
  routingStrategy: null
  delegate: null`, func(*api.DNSPolicy) {}},

		// Rule 2.1: the content decides.
		{"v1 loadBalancing", "  loadBalancing: {weight: 100, geo: geo-eu, defaultGeo: true}", func(p *api.DNSPolicy) {
			p.Strategy, p.DefaultWeight, p.Geo, p.DefaultGeo = api.WeightedGeo, 100, "GEO-EU", "GEO-EU"
		}},
		{"v1 not default", "  loadBalancing: {geo: US, defaultGeo: false}", func(p *api.DNSPolicy) {
			p.Strategy, p.Geo = api.WeightedGeo, "US"
		}},
		{"v1 empty", "  loadBalancing: {}", func(p *api.DNSPolicy) { p.Strategy = api.WeightedGeo }},
		{"v1 weight 0", "  loadBalancing: {weight: 0, geo: IE}", func(p *api.DNSPolicy) {
			p.Strategy, p.DefaultWeight, p.Geo = api.WeightedGeo, 0, "IE"
		}},
		{"v1alpha2 simple", "  routingStrategy: simple", func(*api.DNSPolicy) {}},
		{"v1alpha2 weightedGeo without more", "  routingStrategy: weightedGeo", func(p *api.DNSPolicy) { p.Strategy = api.WeightedGeo }},
		{"the old name", "  routingStrategy: loadbalanced", func(p *api.DNSPolicy) { p.Strategy = api.WeightedGeo }},
		{"v1alpha2 loadBalancing", `
  routingStrategy: weightedGeo
  loadBalancing:
    weighted:
      defaultWeight: 80
      custom:
      - {selector: {matchLabels: {cloud: gcp}}, weight: 20}
      - {value: AWS, weight: 0}
      - {selector: {matchExpressions: [{key: a, operator: In, values: [k, l]}, {key: b, operator: DoesNotExist}]}, weight: 2147483647}
    geo: {defaultGeo: ie}`, func(p *api.DNSPolicy) {
			p.Strategy, p.DefaultWeight, p.DefaultGeo = api.WeightedGeo, 80, "IE"
			p.CustomWeights = []api.CustomWeight{
				{Selector: selector(t, []string{"cloud", "in", "gcp"}), Weight: 20},
				{Value: "AWS"},
				{Selector: selector(t, []string{"a", "in", "k", "l"}, []string{"b", "!"}), Weight: 2147483647},
			}
		}},
		{"simple keeps what it does not use", "  routingStrategy: simple\n  loadBalancing: {weight: 7, geo: IE}", func(p *api.DNSPolicy) {
			p.DefaultWeight, p.Geo = 7, "IE"
		}},
		{
			"v1alpha2's weights without a strategy", "  loadBalancing: {weighted: {defaultWeight: 5}, geo: {defaultGeo: US}}",
			func(p *api.DNSPolicy) {
				p.Strategy, p.DefaultWeight, p.DefaultGeo = api.WeightedGeo, 5, "US"
			},
		},
		{
			"v1's weights with a strategy", "  routingStrategy: weightedGeo\n  loadBalancing: {weight: 5, geo: US, defaultGeo: true}",
			func(p *api.DNSPolicy) {
				p.Strategy, p.DefaultWeight, p.Geo, p.DefaultGeo = api.WeightedGeo, 5, "US", "US"
			},
		},
		{"mixed forms", "  loadBalancing: {weight: 5, weighted: {custom: [{value: a, weight: 1}]}, geo: {defaultGeo: US}, defaultGeo: " +
			"true}", func(p *api.DNSPolicy) {
			p.Strategy, p.DefaultWeight, p.DefaultGeo = api.WeightedGeo, 5, "US"
			p.CustomWeights = []api.CustomWeight{{Value: "a", Weight: 1}}
		}},
		{"an unknown code is not wrong", "  loadBalancing: {geo: CAD}", func(p *api.DNSPolicy) { // rule 3.2, case B14
			p.Strategy, p.Geo = api.WeightedGeo, "CAD"
		}},

		{
			"sectionName", "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: api, namespace: shop}",
			func(p *api.DNSPolicy) {
				p.Target.Section = "api"
			},
		},

		{"v1 health check without fields", "  healthCheck: {}", func(p *api.DNSPolicy) { p.HealthCheck = defaultCheck() }},
		{"v1alpha2 health check without fields", "  routingStrategy: simple\n  healthCheck: {}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Interval = 30 * time.Second
		}},
		{"v1 health check", "  healthCheck: {path: /healthz, port: 443, protocol: HTTPS, interval: 5m, failureThreshold: 3, " +
			"additionalHeadersRef: {name: probe-headers}}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Path, p.HealthCheck.FailureThreshold, p.HealthCheck.HeadersSecret = "/healthz", 3, "probe-headers"
		}},
		{"v1alpha2 health check", "  routingStrategy: simple\n  healthCheck: {endpoint: '?x=1', port: 1024, protocol: HTTP, interval: " +
			"1m0s, timeout: 1.5s, failureThreshold: 1, successThreshold: 2, expectedResponses: [204, 200, 204], host: " +
			"Health.Example.org., allowInsecureCertificate: true}", func(p *api.DNSPolicy) {
			p.HealthCheck = &api.HealthCheck{
				Protocol: api.HTTP, Port: 1024, Path: "/?x=1", Interval: time.Minute, Timeout: 1500 * time.Millisecond,
				FailureThreshold: 1, SuccessThreshold: 2, Expected: []int{200, 204}, Host: "health.example.org", AllowInsecureCertificate: true,
			}
		}},
		{"HTTP is on port 80", "  healthCheck: {protocol: http}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Protocol, p.HealthCheck.Port = api.HTTP, 80
		}},
		{"TCP has no path", "  healthCheck: {protocol: TCP, path: /healthz}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Protocol, p.HealthCheck.Path = api.TCP, ""
		}},
		{"gRPC", "  healthCheck: {protocol: gRPC, port: 9000}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Protocol, p.HealthCheck.Port = api.GRPC, 9000
		}},
		{
			"gRPC service, and headers that it has not",
			"  healthCheck: {protocol: GRPC, path: /shop.Cart, additionalHeadersRef: {name: h}}", func(p *api.DNSPolicy) {
				p.HealthCheck = defaultCheck()
				p.HealthCheck.Protocol, p.HealthCheck.Path = api.GRPC, "/shop.Cart"
			},
		},
		{"the timeout is at most the interval", "  healthCheck: {interval: 2s}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Interval, p.HealthCheck.Timeout = 2*time.Second, 2*time.Second
		}},
		{"path and endpoint that agree", "  healthCheck: {path: /ok, endpoint: /ok}", func(p *api.DNSPolicy) {
			p.HealthCheck = defaultCheck()
			p.HealthCheck.Path = "/ok"
		}},

		{"exclusions", "  excludeAddresses: [1.1.0.0/16, 10.0.0.1/32, Example.com., 192.0.2.7, '2001:db8::/32', '2001:db8::5', " +
			"'::ffff:192.0.2.1', '::ffff:10.0.0.0/104', 10.1.2.3/8, db_1.internal]", func(p *api.DNSPolicy) {
			p.Exclude = []api.Exclusion{
				{Prefix: prefix("1.1.0.0/16")},
				{Prefix: prefix("10.0.0.1/32")},
				{Hostname: "example.com"},
				{Prefix: prefix("192.0.2.7/32")},
				{Prefix: prefix("2001:db8::/32")},
				{Prefix: prefix("2001:db8::5/128")},
				{Prefix: prefix("192.0.2.1/32")},
				{Prefix: prefix("10.0.0.0/8")},
				{Prefix: prefix("10.0.0.0/8")},
				{Hostname: "db_1.internal"},
			}
		}},

		{"providerRefs", "  providerRefs: [{name: aws}]", func(p *api.DNSPolicy) { p.Provider = api.Provider{Kind: "Secret", Name: "aws"} }},
		{"no providerRefs", "  providerRefs: []", func(*api.DNSPolicy) {}},
		{"providerRef", "  providerRef: {name: aws, namespace: shop, kind: Secret}", func(p *api.DNSPolicy) {
			p.Provider = api.Provider{Kind: "Secret", Namespace: "shop", Name: "aws"}
		}},
		{"providerRef of another kind", "  providerRef: {name: external-dns, kind: ExternalDNS}", func(p *api.DNSPolicy) {
			p.Provider = api.Provider{Kind: "ExternalDNS", Name: "external-dns"}
		}},
		{"providerSelector", "  providerSelector: {matchLabels: {dns: a, zone: b}}", func(p *api.DNSPolicy) {
			p.Provider = api.Provider{Kind: "Secret", Selector: selector(t, []string{"dns", "in", "a"}, []string{"zone", "in", "b"})}
		}},
		{"delegate", "  delegate: true", func(p *api.DNSPolicy) { p.Delegate = true }},
		{"delegate with providerRef", "  delegate: true\n  providerRef: {name: x}", func(p *api.DNSPolicy) {
			p.Delegate, p.Provider = true, api.Provider{Kind: "Secret", Name: "x"}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got *api.DNSPolicy
			if strings.Contains(test.spec, "targetRef") {
				var err error
				if got, err = api.DecodePolicy("c", toJSON(t, policyHead+test.spec)); err != nil {
					t.Fatal(err)
				}
			} else {
				got = decodePolicy(t, test.spec)
			}
			want := plain()
			test.want(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\n     %+v\nwant %+v\n     %+v", got, got.HealthCheck, want, want.HealthCheck)
			}
		})
	}
}

func TestDecodePolicyInvalid(t *testing.T) {
	many := "  excludeAddresses: [" + strings.TrimSuffix(strings.Repeat("192.0.2.1, ", 21), ", ") + "]"
	const noWeight = "a weight is a whole number from 0 to 2147483647"
	tests := []struct{ name, spec, invalid string }{
		{"unknown strategy", "  routingStrategy: random", `spec.routingStrategy "random": write simple or weightedGeo`},
		{"every place", "  loadBalancing: {geo: '*'}", `spec.loadBalancing.geo "*" is every place: name one with a code such as GEO-EU`},
		{
			"every place by default", "  loadBalancing: {geo: {defaultGeo: '*'}}",
			`spec.loadBalancing.geo.defaultGeo "*" is every place: name one with a code such as GEO-EU`,
		},
		{"B19", "  loadBalancing: {geo: ''}", "default geocode is required: give spec.loadBalancing.geo a code such as GEO-EU, or remove it"},
		{
			"B19 in the other form", "  loadBalancing: {geo: {defaultGeo: ''}}",
			"default geocode is required: give spec.loadBalancing.geo.defaultGeo a code such as GEO-EU, or remove it",
		},
		{
			"default without a code", "  loadBalancing: {defaultGeo: true}",
			"spec.loadBalancing.defaultGeo is true, but spec.loadBalancing.geo is not set: default geocode is required",
		},
		{
			"Norway", "  loadBalancing: {geo: NO}",
			`spec.loadBalancing.geo is false: write a geo code such as GEO-EU or "NO", with quotes, or an object with the field defaultGeo`,
		},
		{
			"a list of codes", "  loadBalancing: {geo: [IE]}",
			`spec.loadBalancing.geo is a list: write a geo code such as GEO-EU or "NO", with quotes, or an object with the field defaultGeo`,
		},
		{
			"a code that is no label", "  loadBalancing: {geo: a.klb}",
			`spec.loadBalancing.geo "a.klb": a code such as GEO-EU, IE or US-CA is wanted here`,
		},
		{"a long code", "  loadBalancing: {geo: " + strings.Repeat("a", 64) + "}", `spec.loadBalancing.geo "` +
			strings.Repeat("a", 64) + `": a code such as GEO-EU, IE or US-CA is wanted here`},
		{"negative weight", "  loadBalancing: {weight: -1}", "spec.loadBalancing.weight is -1: " + noWeight},
		{
			"negative default weight", "  loadBalancing: {weighted: {defaultWeight: -5}}",
			"spec.loadBalancing.weighted.defaultWeight is -5: " + noWeight,
		},
		{
			"huge weight", "  loadBalancing: {weighted: {custom: [{value: a, weight: 1e30}]}}",
			"spec.loadBalancing.weighted.custom[0].weight is 9223372036854775807: " + noWeight,
		},
		{
			"two weights", "  loadBalancing: {weight: 1, weighted: {defaultWeight: 2}}",
			"spec.loadBalancing.weight and spec.loadBalancing.weighted.defaultWeight differ: keep one of them",
		},
		{
			"custom for nobody", "  loadBalancing: {weighted: {custom: [{weight: 1}]}}",
			"spec.loadBalancing.weighted.custom[0]: set either selector, for the labels of the Gateway, or value",
		},
		{
			"custom twice", "  loadBalancing: {weighted: {custom: [{selector: {}, value: a, weight: 1}]}}",
			"spec.loadBalancing.weighted.custom[0]: set either selector, for the labels of the Gateway, or value",
		},
		{
			"custom without a weight", "  loadBalancing: {weighted: {custom: [{value: a}]}}",
			"spec.loadBalancing.weighted.custom[0].weight is missing",
		},
		{
			"operator", "  providerSelector: {matchExpressions: [{key: a, operator: Is}]}",
			`spec.providerSelector: "Is" is not a valid label selector operator`,
		},

		{
			"C5", "  excludeAddresses: [1.1.1.1/345]",
			`could not parse the CIDR from the excludeAddresses field: "1.1.1.1/345" is not an address and a length such as 10.0.0.0/8`,
		},
		{
			"an address that is none", "  excludeAddresses: [1.1.1.345]",
			`spec.excludeAddresses: "1.1.1.345" is neither an address, nor a CIDR, nor a host name`,
		},
		{"empty exclusion", "  excludeAddresses: ['']", `spec.excludeAddresses: "" is neither an address, nor a CIDR, nor a host name`},
		{
			"wildcard exclusion", "  excludeAddresses: ['*.example.com']",
			`spec.excludeAddresses: "*.example.com" is neither an address, nor a CIDR, nor a host name`,
		},
		{
			"zone", "  excludeAddresses: ['fe80::1%eth0']",
			`spec.excludeAddresses: "fe80::1%eth0" is neither an address, nor a CIDR, nor a host name`,
		},
		{"C8", many, "spec.excludeAddresses: Too many: 21: must have at most 20 items"},

		{"two providerRefs", "  providerRefs: [{name: a}, {name: b}]", "spec.providerRefs: Too many: 2: must have at most 1 item"},
		{
			"two ways", "  providerRefs: [{name: a}]\n  providerRef: {name: b}",
			"spec.providerRefs, spec.providerRef and spec.providerSelector exclude each other: keep one of them",
		},
		{
			"two other ways", "  providerSelector: {matchLabels: {a: b}}\n  providerRef: {name: b}",
			"spec.providerRefs, spec.providerRef and spec.providerSelector exclude each other: keep one of them",
		},
		{
			"ManagedZone", "  providerRef: {name: z, kind: Managedzone}",
			"spec.providerRef.kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead",
		},
		{"no name", "  providerRefs: [{}]", `spec.providerRefs[0].name "": write the name of a Secret`},
		{
			"delegate with providerRefs", "  delegate: true\n  providerRefs: [{name: a}]",
			"delegate=true and providerRefs are mutually exclusive: remove one of them",
		},

		{"protocol", "  healthCheck: {protocol: UDP}", `spec.healthCheck.protocol "UDP": Only HTTP, HTTPS, TCP or GRPC protocols are allowed`},
		{
			"two paths", "  healthCheck: {path: /a/, endpoint: /b/}",
			"spec.healthCheck.path and spec.healthCheck.endpoint mean the same and differ: keep one of them",
		},
		{"interval", "  healthCheck: {interval: soon}", `spec.healthCheck.interval "soon": a duration from 1s to 24h0m0s is wanted here`},
		{"interval too short", "  healthCheck: {interval: 1ns}", `spec.healthCheck.interval "1ns": a duration from 1s to 24h0m0s is wanted here`},
		{
			"timeout over the interval", "  healthCheck: {interval: 10s, timeout: 11s}",
			`spec.healthCheck.timeout "11s": a duration from 10ms to 10s is wanted here`,
		},
		{"negative timeout", "  healthCheck: {timeout: -1s}", `spec.healthCheck.timeout "-1s": a duration from 10ms to 5m0s is wanted here`},
		{"failure threshold", "  healthCheck: {failureThreshold: 0}", "Failure threshold must be greater than 0"},
		{"huge failure threshold", "  healthCheck: {failureThreshold: 1001}", "Failure threshold must not be greater than 1000"},
		{"success threshold", "  healthCheck: {successThreshold: -1}", "Success threshold must be greater than 0"},
		{
			"status code", "  healthCheck: {expectedResponses: [200, 99]}",
			"spec.healthCheck.expectedResponses[1] is 99: an HTTP status code is from 100 to 599",
		},
		{"host", "  healthCheck: {host: 'a b'}", `spec.healthCheck.host "a b": write a host name without port and wildcard`},
		{"host with a port", "  healthCheck: {host: 'a:80'}", `spec.healthCheck.host "a:80": write a host name without port and wildcard`},
		{"headers", "  healthCheck: {additionalHeadersRef: {}}", "spec.healthCheck.additionalHeadersRef.name: write the name of a Secret"},

		{
			"several", "  routingStrategy: random\n  loadBalancing: {weight: -1, geo: '*'}\n  healthCheck: {port: 1}\n  providerRef: " +
				"{name: z, kind: ManagedZone}",
			"spec.loadBalancing.weight is -1: " + noWeight +
				"; spec.providerRef.kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead; " +
				`spec.routingStrategy "random": write simple or weightedGeo; spec.loadBalancing.geo "*" is every place: name one with a code such as GEO-EU`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := decodePolicy(t, test.spec)
			if said := cmp.Or(p.Invalid, p.CheckInvalid); said != test.invalid || p.Fault != "" || p.CheckInvalid != "" &&
				!strings.Contains(test.spec, "healthCheck") {
				t.Errorf("got  %q, fault %q\nwant %q", said, p.Fault, test.invalid)
			}
			if p.Target != plain().Target || p.Name != "shop/p" {
				t.Errorf("the rest is lost: %+v", p)
			}
			if p.DefaultWeight < 0 {
				t.Errorf("weight %d", p.DefaultWeight)
			}
		})
	}
}

func TestDecodePolicyTarget(t *testing.T) {
	const group = "Invalid targetRef.group. The only supported value is 'gateway.networking.k8s.io'"
	const kind = "Invalid targetRef.kind. The only supported values are 'Gateway'"
	tests := []struct{ name, spec, invalid string }{
		{"no spec", "", "spec.targetRef is missing: name the Gateway that the policy is for"},
		{"no target", "  delegate: false", "spec.targetRef is missing: name the Gateway that the policy is for"},
		{"group", "  targetRef: {group: apps, kind: Gateway, name: web}", group},
		{"no group", "  targetRef: {kind: Gateway, name: web}", group},
		{"kind", "  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}", kind},
		{"no name", "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway}", `spec.targetRef.name "": write the name of a Gateway`},
		{
			"a name with a slash", "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: other/web}",
			`spec.targetRef.name "other/web": write the name of a Gateway`,
		},
		{
			"another namespace", "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web, namespace: other}",
			`spec.targetRef.namespace "other": a policy is for a Gateway of its own namespace: remove the field`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := api.DecodePolicy("c", toJSON(t, policyHead+test.spec))
			if err != nil {
				t.Fatal(err)
			}
			if p.Invalid != test.invalid {
				t.Errorf("got  %q\nwant %q", p.Invalid, test.invalid)
			}
		})
	}
}

// TestDecodePolicyFaults: what has the wrong type is named, and what stands
// beside it is read.
func TestDecodePolicyFaults(t *testing.T) {
	tests := []struct {
		name, spec, fault string
		want              func(p *api.DNSPolicy)
	}{
		{
			"loadBalancing", "  loadBalancing: yes\n  delegate: true", "spec.loadBalancing: an object is wanted here, not true",
			func(p *api.DNSPolicy) { p.Delegate = true },
		},
		{
			"weight", "  loadBalancing: {weight: '5', geo: IE}", "spec.loadBalancing.weight: a whole number is wanted here, not a string",
			func(p *api.DNSPolicy) { p.Strategy, p.Geo = api.WeightedGeo, "IE" },
		},
		{
			"exclusions", "  excludeAddresses: [192.0.2.1, 5, 192.0.2.2]",
			"spec.excludeAddresses[1]: a string is wanted here, not a number: in YAML, put quotes around it",
			func(p *api.DNSPolicy) {
				p.Exclude = []api.Exclusion{{Prefix: netip.MustParsePrefix("192.0.2.1/32")}, {Prefix: netip.MustParsePrefix("192.0.2.2/32")}}
			},
		},
		{
			"health check", "  healthCheck: {port: https, path: /healthz}", "spec.healthCheck.port: a whole number is wanted here, not a string",
			func(p *api.DNSPolicy) { p.HealthCheck = defaultCheck(); p.HealthCheck.Path = "/healthz" },
		},
		{
			"fraction", "  healthCheck: {failureThreshold: 2.5}", "spec.healthCheck.failureThreshold: a whole number is wanted here, not a fraction",
			func(p *api.DNSPolicy) { p.HealthCheck = defaultCheck() },
		},
		{
			"providers", "  providerRefs: [x]\n  providerRef: 5\n  providerSelector: y",
			"spec.providerRef: an object is wanted here, not a number; spec.providerRefs[0]: an object is wanted here, not a string; " +
				"spec.providerSelector: an object is wanted here, not true",
			func(*api.DNSPolicy) {},
		},
		{
			"delegate", "  delegate: 'true'", "spec.delegate: true or false is wanted here, not a string",
			func(*api.DNSPolicy) {},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := decodePolicy(t, test.spec)
			want := plain()
			want.Fault = test.fault
			test.want(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestDecodePolicyPaths is case G17, TestDecodePolicyPorts case G18.
func TestDecodePolicyPaths(t *testing.T) {
	for path, ok := range map[string]bool{
		"/": true, "/a": false, "healthz": false, "/x-": false, "//": false, "": true,
		"/ok": true, "/a/": true, "?x=1": true, "/healthz": true, "/a b": false, "/a%20b": false, "/é/": false,
	} {
		for _, field := range []string{"path", "endpoint"} {
			p := decodePolicy(t, fmt.Sprintf("  healthCheck: {%s: %q}", field, path))
			if (p.CheckInvalid == "") != ok {
				t.Errorf("%s %q: %q", field, path, p.CheckInvalid)
			}
			if p.HealthCheck.Path == "" || p.HealthCheck.Path[0] != '/' {
				t.Errorf("%s %q is asked for as %q", field, path, p.HealthCheck.Path)
			}
		}
	}
}

func TestDecodePolicyPorts(t *testing.T) {
	for port, ok := range map[int64]bool{
		80: true, 443: true, 1024: true, 49151: true,
		0: false, -1: false, 81: false, 1023: false, 49152: false, 65536 + 80: false, 1 << 40: false,
	} {
		p := decodePolicy(t, fmt.Sprintf("  healthCheck: {port: %d}", port))
		if (p.CheckInvalid == "") != ok || ok && int64(p.HealthCheck.Port) != port {
			t.Errorf("port %d: %d, %q", port, p.HealthCheck.Port, p.CheckInvalid)
		}
	}
}
