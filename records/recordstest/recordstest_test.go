package recordstest_test

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestShortForm checks the objects for words, and the errors for wrong words.
func TestShortForm(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"gateway a/g host=api:x.example.com:443,*.y.example.com routes=0,- addr=192.0.2.1,lb.example.net,east/192.0.2.2 geo=IE at=-",
			`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"labels":{"kuadrant.io/lb-attribute-geo-code":"IE"},"name":"g","namespace":"a"},` +
				`"spec":{"gatewayClassName":"istio","listeners":[{"hostname":"x.example.com","name":"api","port":443,"protocol":"HTTPS"},{"hostname":"*.y.example.com","name":"l1","port":80,"protocol":"HTTP"}]},` +
				`"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.1"},{"type":"Hostname","value":"lb.example.net"},{"type":"kuadrant.io/MultiClusterIPAddress","value":"east/192.0.2.2"}],` +
				`"listeners":[{"attachedRoutes":0,"conditions":[],"name":"api","supportedKinds":[]}]}}`,
		},
		{
			"policy a/p gateway=g geo=NO default\n    weight=7 check=HTTP:8080/healthz,interval=1s,failures=2 at=10m",
			`{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicy","metadata":{"creationTimestamp":"2026-01-01T00:10:00Z","name":"p","namespace":"a"},` +
				`"spec":{"healthCheck":{"failureThreshold":2,"interval":"1s","path":"/healthz","port":8080,"protocol":"HTTP"},"loadBalancing":{"defaultGeo":true,"geo":"NO","weight":7},` +
				`"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"g"}}}`,
		},
		{
			"zone dns/z example.com. delegate=* delegate=a,b/@/NS ttl=5 at=-",
			`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"z","namespace":"dns"},"spec":{"delegations":[{"records":[{"pattern":"*"},{"pattern":"@"}],"zones":["*"]},` +
				`{"namespaces":["a","b"],"records":[{"pattern":"@","types":["NS"]}]}],"domainName":"example.com.","ttl":5}}`,
		},
		{
			`record dns/r www in=z ttl=0 at=- TXT "a b" key=value`,
			`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"r","namespace":"dns"},"spec":{"domainName":"www","rdata":"\"a b\" key=value","ttl":0,"type":"TXT","zoneRef":{"name":"z"}}}`,
		},
		{
			"dnsendpoint a/e at=- x.example.com A 192.0.2.1 192.0.2.2 set=one weight=3 geo=IE\n\tx.example.com TXT '\"t\"' ttl=9",
			`{"apiVersion":"externaldns.k8s.io/v1alpha1","kind":"DNSEndpoint","metadata":{"name":"e","namespace":"a"},"spec":{"endpoints":[` +
				`{"dnsName":"x.example.com","providerSpecific":[{"name":"weight","value":"3"},{"name":"geo-code","value":"IE"}],"recordType":"A","setIdentifier":"one","targets":["192.0.2.1","192.0.2.2"]},` +
				`{"dnsName":"x.example.com","recordTTL":9,"recordType":"TXT","targets":["\"t\""]}]}}`,
		},
		{"\n# nothing\nservice a/b", `line 3: no kind "service": write gateway, policy, zone, record, dnsrecord, dnsendpoint, secret or probe`},
		{"zone b", `line 1: word "b": write NAMESPACE/NAME after zone`},
		{"policy a/p\npolicy a/q wait=7", `line 2: word "wait=7": a DNSPolicy has no such word`},
		{"dnsrecord a/p\n  x", `line 1: endpoint "x": write NAME TYPE TARGET`},
	} {
		got, err := new(recordstest.Texts).YAML("c1", c.text)
		if err != nil {
			got = []byte(err.Error())
		}
		if text := strings.TrimSpace(strings.TrimPrefix(string(got), "---\n")); text != c.want {
			t.Errorf("%s\nis %s\nwant %s", c.text, text, c.want)
		}
	}
}

// TestAsk queries a world as a client would.
func TestAsk(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway a/g host=www.example.com addr=192.0.2.1,192.0.2.2\npolicy a/g check=HTTP:80/up")
	w.Step(t)
	w.Apply(t, "find 192.0.2.1 down")
	for question, want := range map[string]string{
		"www.example.com A":               "NOERROR aa\nwww.example.com. 60 A 192.0.2.2",
		"www.example.com A times=8":       "100% 192.0.2.2",
		"x.example.com A ecs=10.1.0.0/24": "NXDOMAIN aa\nauth example.com. 60 SOA ns.example.net. hostmaster.example.com. 0 3600 600 1209600 60\necs 10.1.0.0/24 scope 0",
		"elsewhere.test A":                "NEXT",
	} {
		if got := w.Ask(t, question); got != want {
			t.Errorf("%s: %s\nwant %s", question, got, want)
		}
	}
}
