package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

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
			for kind := range api.NumKinds {
				switch o, err := decoders[kind]([]byte(test.text)); {
				case err != nil && (test.want != "" || !strings.HasPrefix(err.Error(), "decode "+kind.String()+": ")):
					t.Errorf("%s: %v", kind, err)
				case err == nil && o.Metadata().Name != test.want:
					t.Errorf("%s is named %q", kind, o.Metadata().Name)
				}
			}
		})
	}
}

// TestDecodeKeepsNothingOfTheBuffer: what is decoded stays as it is when the
// buffer is used again.
func TestDecodeKeepsNothingOfTheBuffer(t *testing.T) {
	for kind, text := range live(0) {
		o, err := decoders[kind](text)
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%+v", o)
		clear(text)
		if after := fmt.Sprintf("%+v", o); after != before {
			t.Errorf("was %s\nis %s", before, after)
		}
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
