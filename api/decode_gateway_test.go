package api_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return b
}

func TestDecodeGatewayFaults(t *testing.T) {
	const head = "metadata: {name: g, namespace: shop}\n"
	tests := []struct {
		name, text string
		fault      string // "" where nothing is wrong
		want       api.Gateway
	}{
		{
			"nothing but a name", head, "", api.Gateway{},
		},
		{
			"nulls", head + "spec: {listeners: null}\nstatus: {addresses: null, conditions: null, listeners: null}", "", api.Gateway{},
		},
		{
			"null spec", head + "spec: null\nstatus: null", "", api.Gateway{},
		},
		{
			"a listener of the wrong type",
			head + "spec: {listeners: [{name: a, hostname: a.example}, b, {name: c, hostname: c.example}]}",
			"spec.listeners[1]: an object is wanted here, not a string; spec.listeners[1]: the listener has no name: it is left out",
			api.Gateway{Listeners: []api.Listener{{"a", "a.example", -1, 0, 0}, {"c", "c.example", -1, 0, 0}}},
		},
		{
			"a hostname of the wrong type",
			head + "spec: {listeners: [{name: a, hostname: 5}, {name: c, hostname: c.example}]}",
			"spec.listeners[0].hostname: a string is wanted here, not a number: in YAML, put quotes around it",
			api.Gateway{Listeners: []api.Listener{{"a", "", -1, 0, 0}, {"c", "c.example", -1, 0, 0}}},
		},
		{
			"listeners that are no list",
			head + "spec: {listeners: {a: b}}\nstatus: {addresses: [{value: 192.0.2.1}]}",
			"spec.listeners: a list is wanted here, not an object",
			api.Gateway{Addresses: []api.Address{{api.IPAddress, "192.0.2.1"}}},
		},
		{
			"listeners with one name",
			head + "spec: {listeners: [{name: a, hostname: a.example}, {name: b, hostname: b.example}, {name: a, hostname: c.example}]}",
			`spec.listeners: two listeners have the name "a": the second is left out`,
			api.Gateway{Listeners: []api.Listener{{"a", "a.example", -1, 0, 0}, {"b", "b.example", -1, 0, 0}}},
		},
		{
			"a spec of the wrong type",
			head + "spec: [1]\nstatus: {addresses: [{value: 192.0.2.1}]}",
			"spec: an object is wanted here, not a list",
			api.Gateway{Addresses: []api.Address{{api.IPAddress, "192.0.2.1"}}},
		},
		{
			"addresses with nil, empty and wrong types",
			head + `status: {addresses: [{type: null, value: 192.0.2.1}, {type: "", value: 192.0.2.2}, {type: 3, value: 192.0.2.3}, {value: true}, null, {type: Other, value: x}]}`,
			"status.addresses[2].type: a string is wanted here, not a number: in YAML, put quotes around it; status.addresses[3].value: " +
				"a string is wanted here, not true: in YAML, put quotes around it",
			api.Gateway{Addresses: []api.Address{{api.IPAddress, "192.0.2.1"}, {api.IPAddress, "192.0.2.2"}, {"Other", "x"}}},
		},
		{
			"numbers of routes",
			head + `
spec: {listeners: [{name: huge}, {name: minus}, {name: half}, {name: text}, {name: none}, {name: two}, {name: big}]}
status: {listeners: [{name: huge, attachedRoutes: 1e30}, {name: minus, attachedRoutes: -1}, {name: half, attachedRoutes: 0.5}, {name: text, attachedRoutes: "1"}, {name: none}, {name: two, attachedRoutes: 2.0}, {name: big, attachedRoutes: 9223372036854775808}, {name: unknown, attachedRoutes: 4}]}`,
			`status.listeners[2].attachedRoutes: a whole number is wanted here, not a fraction; status.listeners[3].attachedRoutes: a whole number is wanted here, not a string`,
			api.Gateway{Listeners: []api.Listener{
				{"huge", "", math.MaxInt32, 0, 0},
				{"minus", "", -1, 0, 0},
				{"half", "", -1, 0, 0},
				{"text", "", -1, 0, 0},
				{"none", "", -1, 0, 0},
				{"two", "", 2, 0, 0},
				{"big", "", math.MaxInt32, 0, 0},
			}},
		},
		{
			"ports and protocols",
			head + `spec: {listeners: [{name: a, port: 443, protocol: HTTPS}, {name: b, port: 65535, protocol: TLS}, {name: c, port: 80, protocol: HTTP},
  {name: d, port: 9000, protocol: TCP}, {name: e, port: 443, protocol: UDP}, {name: f, port: 1, protocol: example.com/x}, {name: g}, {name: h, port: 0, protocol: ""},
  {name: i, port: 65536, protocol: https}, {name: j, port: "443", protocol: 5}, {name: k, port: -1, protocol: null}]}`,
			"spec.listeners[9].port: a whole number is wanted here, not a string; spec.listeners[9].protocol: a string is wanted here, " +
				"not a number: in YAML, put quotes around it",
			api.Gateway{Listeners: []api.Listener{
				{"a", "", -1, 443, api.TLS},
				{"b", "", -1, 65535, api.TLS},
				{"c", "", -1, 80, api.Plain},
				{"d", "", -1, 9000, api.Plain},
				{"e", "", -1, 443, api.NotTCP},
				{"f", "", -1, 1, api.Plain},
				{"g", "", -1, 0, api.NotTCP},
				{"h", "", -1, 0, api.NotTCP},
				{"i", "", -1, 0, api.Plain},
				{"j", "", -1, 0, api.NotTCP},
				{"k", "", -1, 0, api.NotTCP},
			}},
		},
		{
			"conditions",
			head + "status: {conditions: [5, {type: Programmed}, {type: Programmed, status: 'True'}, {status: 'False'}, {type: 3, " +
				"status: 'False'}]}",
			"status.conditions[0]: an object is wanted here, not a number; status.conditions[4].type: a string is wanted here, not a " +
				"number: in YAML, put quotes around it",
			api.Gateway{Programmed: api.ConditionTrue},
		},
		{
			"metadata in part",
			"metadata: {name: g, namespace: shop, generation: x, creationTimestamp: yesterday, labels: {a: 1, b: c}, annotations: 7, " +
				"uid: [], deletionTimestamp: ''}",
			`metadata.annotations: an object is wanted here, not a number; metadata.creationTimestamp: a time such as 2026-01-01T00:00:00Z is wanted here, not "yesterday"; metadata.generation: a whole number is wanted here, not a string; metadata.labels.a: a string is wanted here, not a number: in YAML, put quotes around it; and more`,
			api.Gateway{Meta: api.Meta{Labels: map[string]string{"b": "c"}}},
		},
		{
			"a key that is no word",
			"metadata: {name: g, namespace: shop, labels: {'a.b/c': 1, " + strings.Repeat("x", 100) + ": 1}}",
			`metadata.labels["a.b/c"]: a string is wanted here, not a number: in YAML, put quotes around it; metadata.labels["` +
				strings.Repeat("x", 64) + `…"]: a string is wanted here, not a number: in YAML, put quotes around it`,
			api.Gateway{},
		},
		{
			"fields with other letters are unknown",
			head + "Spec: {listeners: [{name: a}]}\nspec: {Listeners: [{name: a}]}\nfuture: {a: [1, {b: c}]}", "",
			api.Gateway{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := api.DecodeGateway("c", toJSON(t, test.text))
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			want.Name, want.Cluster, want.Fault = "shop/g", "c", test.fault
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("got  %+v\nwant %+v", got, &want)
			}
		})
	}
}

// TestDecodeTheLastCounts: of two fields with one name, the last counts, whole.
func TestDecodeTheLastCounts(t *testing.T) {
	got, err := api.DecodeGateway("c", []byte(`{
		"metadata":{"name":"first","uid":"u","labels":{"a":"b"}},"metadata":{"name":"g"},
		"spec":{"listeners":[{"name":"a"}]},"spec":{"listeners":[{"name":"b"}],"listeners":[{"name":"c"}]},
		"status":{"addresses":[{"value":"192.0.2.1"}]},"status":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &api.Gateway{
		Meta:      api.Meta{Name: "default/g", Cluster: "c"},
		Listeners: []api.Listener{{"c", "", -1, 0, 0}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeIdentity(t *testing.T) {
	long := strings.Repeat("a", 254)
	tests := []struct{ name, text, want string }{
		{"no namespace", `{"metadata":{"name":"g"}}`, "default/g"},
		{"empty namespace", `{"metadata":{"name":"g","namespace":""}}`, "default/g"},
		{"null namespace", `{"metadata":{"name":"g","namespace":null}}`, "default/g"},
		{"dots", `{"metadata":{"name":"a.b-c.0","namespace":"n-1"}}`, "n-1/a.b-c.0"},
		{"escapes", `{"metadata":{"n\u0061me":"\u0067"}}`, "default/g"},
		{"longest", `{"metadata":{"name":"` + long[:253] + `","namespace":"` + long[:63] + `"}}`, long[:63] + "/" + long[:253]},

		{"nothing", ``, ""},
		{"not JSON", `{`, ""},
		{"cut", `{"metadata":{"name":"g"}`, ""},
		{"bad behind the name", `{"metadata":{"name":"g"},"spec":{]}`, ""},
		{"bad in a field that is not read", `{"metadata":{"name":"g"},"other":{"a":tru}}`, ""},
		{"two values", `{"metadata":{"name":"g"}}{}`, ""},
		{"a list", `[]`, ""},
		{"null", `null`, ""},
		{"no metadata", `{}`, ""},
		{"metadata of the wrong type", `{"metadata":"g"}`, ""},
		{"no name", `{"metadata":{"namespace":"n"}}`, ""},
		{"empty name", `{"metadata":{"name":""}}`, ""},
		{"name of the wrong type", `{"metadata":{"name":5}}`, ""},
		{"namespace of the wrong type", `{"metadata":{"name":"g","namespace":false}}`, ""},
		{"name with a slash", `{"metadata":{"name":"a/b"}}`, ""},
		{"namespace with a slash", `{"metadata":{"name":"b","namespace":"a/c"}}`, ""},
		{"escaped slash", `{"metadata":{"name":"a\u002fb"}}`, ""},
		{"namespace with a dot", `{"metadata":{"name":"b","namespace":"a.c"}}`, ""},
		{"upper case", `{"metadata":{"name":"A"}}`, ""},
		{"space", `{"metadata":{"name":"a b"}}`, ""},
		{"line end", `{"metadata":{"name":"a\n"}}`, ""},
		{"NUL", `{"metadata":{"name":"a\u0000"}}`, ""},
		{"not UTF-8", "{\"metadata\":{\"name\":\"a\xff\"}}", ""},
		{"too long", `{"metadata":{"name":"` + long + `"}}`, ""},
		{"namespace too long", `{"metadata":{"name":"g","namespace":"` + long[:64] + `"}}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, gatewayErr := api.DecodeGateway("c", []byte(test.text))
			p, policyErr := api.DecodePolicy("c", []byte(test.text))
			if test.want == "" {
				if gatewayErr == nil || policyErr == nil {
					t.Fatalf("accepted as %v, %v", g, p)
				}
				return
			}
			if gatewayErr != nil || policyErr != nil {
				t.Fatal(gatewayErr, policyErr)
			}
			if g.Name != test.want || p.Name != test.want {
				t.Errorf("named %q and %q", g.Name, p.Name)
			}
		})
	}
}

// TestDecodeKeepsNothingOfTheBuffer: what is decoded stays as it is when the
// buffer is used again.
func TestDecodeKeepsNothingOfTheBuffer(t *testing.T) {
	text := liveGateway(0)
	g, err := api.DecodeGateway("c", text)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", g)
	policy := livePolicy(0)
	p, err := api.DecodePolicy("c", policy)
	if err != nil {
		t.Fatal(err)
	}
	policyBefore := fmt.Sprintf("%+v", p)
	clear(text)
	clear(policy)
	if after := fmt.Sprintf("%+v", g); after != before {
		t.Errorf("was %s\nis %s", before, after)
	}
	if after := fmt.Sprintf("%+v", p); after != policyBefore {
		t.Errorf("was %s\nis %s", policyBefore, after)
	}
}

// TestDecodeManyListeners: the work grows with the number of listeners, not
// with its square. A quadratic way would take minutes.
func TestDecodeManyListeners(t *testing.T) {
	const n = 200_000
	var spec, status []string
	for i := range n {
		spec = append(spec, fmt.Sprintf(`{"name":"l%d"}`, i))
		status = append(status, fmt.Sprintf(`{"name":"l%d","attachedRoutes":%d}`, i, i))
	}
	text := `{"metadata":{"name":"g"},"spec":{"listeners":[` + strings.Join(spec, ",") + `]},"status":{"listeners":[` +
		strings.Join(status, ",") + `]}}`
	g, err := api.DecodeGateway("c", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Listeners) != n || g.Listeners[n-1].AttachedRoutes != n-1 || g.Fault != "" {
		t.Errorf("%d listeners, %q", len(g.Listeners), g.Fault)
	}
}

// TestDecodeFaultsAreBounded: an object that is all wrong does not make a long
// message.
func TestDecodeFaultsAreBounded(t *testing.T) {
	wrong := strings.TrimSuffix(strings.Repeat(`{"name":5,"hostname":[],"`+strings.Repeat("k", 500)+`":1},`, 1000), ",")
	g, err := api.DecodeGateway("c", []byte(`{"metadata":{"name":"g"},"spec":{"listeners":[`+wrong+`]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Fault) > 500 || !strings.HasSuffix(g.Fault, "; and more") {
		t.Errorf("%d bytes: %s", len(g.Fault), g.Fault)
	}
	long := strings.Repeat("é", 5000)
	p, err := api.DecodePolicy("c", []byte(strings.ReplaceAll(`{"metadata": {"name": "p"}, "spec": {
		"targetRef": {"group": "%", "kind": "%", "name": "%"},
		"routingStrategy": "%",
		"excludeAddresses": ["%/", "%"],
		"providerSelector": {"matchLabels": {"%": "%"}},
		"healthCheck": {"protocol": "%", "interval": "%", "host": "%"}}}`, "%", long)))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Invalid) > 2000 || !strings.HasSuffix(p.Invalid, "; and more") {
		t.Errorf("%d bytes: %s", len(p.Invalid), p.Invalid)
	}
}

// liveGateway is a Gateway as an API server sends it, with all that is not read.
func liveGateway(i int) []byte {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	conditions := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list,
				`{"lastTransitionTime":"`+created+`","message":"Resource is as it should be, says the controller","observedGeneration":1,"reason":"`+n+`","status":"True","type":"`+n+`"}`)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return fmt.Appendf(nil,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"gateway.networking.k8s.io/v1\",\"kind\":\"Gateway\",\"metadata\":{\"annotations\":{},\"name\":\"web-%[1]d\",\"namespace\":\"my-gateways\"},\"spec\":{\"gatewayClassName\":\"istio\",\"listeners\":[{\"allowedRoutes\":{\"namespaces\":{\"from\":\"All\"}},\"hostname\":\"app%[1]d.mn.hcpapps.net\",\"name\":\"api\",\"port\":80,\"protocol\":\"HTTP\"}]}}\n"},"creationTimestamp":"%[2]s","generation":1,"labels":{"kuadrant.io/lb-attribute-geo-code":"IE"},"managedFields":[{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{".":{},"f:kuadrant.io/lb-attribute-geo-code":{}}},"f:spec":{".":{},"f:gatewayClassName":{},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:allowedRoutes":{".":{},"f:namespaces":{".":{},"f:from":{}}},"f:hostname":{},"f:name":{},"f:port":{},"f:protocol":{}}}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"%[2]s"},{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:addresses":{},"f:conditions":{"k:{\"type\":\"Accepted\"}":{"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{}}},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:attachedRoutes":{},"f:conditions":{},"f:name":{},"f:supportedKinds":{}}}}},"manager":"pilot-discovery","operation":"Update","subresource":"status","time":"%[2]s"}],"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1234","uid":"4d3f9c3a-8b67-4b1a-9a50-%012[1]d"},"spec":{"gatewayClassName":"istio","listeners":[{"allowedRoutes":{"namespaces":{"from":"All"}},"hostname":"app%[1]d.mn.hcpapps.net","name":"api","port":80,"protocol":"HTTP"}]},"status":{"addresses":[{"type":"IPAddress","value":"172.31.200.0"}],"conditions":%[3]s,"listeners":[{"attachedRoutes":1,"conditions":%[4]s,"name":"api","supportedKinds":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute"}]}]}}`,
		i, created, conditions("Accepted", "Programmed"), conditions("Accepted", "Conflicted", "Programmed", "ResolvedRefs"))
}

// livePolicy is a simple DNSPolicy for liveGateway.
func livePolicy(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicy","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"app":"shop"},"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1235","uid":"5d3f9c3a-8b67-4b1a-9a50-%012[1]d"},"spec":{"providerRefs":[{"name":"dns-provider"}],"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"web-%[1]d"}}}`, i)
}

func liveProbe(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kuadrant.io/v1alpha1","kind":"DNSHealthCheckProbe","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1236","uid":"5d3f9c3a-8b67-4b1a-9a51-%012[1]d"},"spec":{"address":"192.0.2.1","failureThreshold":5,"hostname":"web-%[1]d.example.com","interval":"30s","path":"/healthz","port":443,"protocol":"HTTPS"},"status":{"consecutiveFailures":0,"healthy":true,"observedGeneration":1,"status":200}}`, i)
}

func BenchmarkDecodeGateway(b *testing.B) {
	text := liveGateway(1)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.DecodeGateway("c", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePolicy(b *testing.B) {
	text := livePolicy(1)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.DecodePolicy("c", text); err != nil {
			b.Fatal(err)
		}
	}
}
