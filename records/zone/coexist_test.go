package zone

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
)

// record returns a Record at a.example.com, from "namespace TYPE data".
func record(t *testing.T, text string) *endpoint.Record {
	t.Helper()
	namespace, data, _ := strings.Cut(text, " ")
	rr, err := dns.NewRR("a.example.com. 60 IN " + data)
	if err != nil {
		t.Fatal(err)
	}
	rtype, _, _ := strings.Cut(data, " ")
	return &endpoint.Record{
		Record: &api.Record{Meta: api.Meta{Name: strings.TrimSuffix(namespace, "*") + "/" + strings.ToLower(rtype), Cluster: "c1"}, Type: rtype},
		Name:   "a.example.com.", RR: rr, Beside: strings.HasSuffix(namespace, "*"),
	}
}

// TestCoexisting: which Records of a name are served, older first. A namespace with * is the administering one, whose data other than
// addresses stand beside any owner's.
func TestCoexisting(t *testing.T) {
	policy := &endpoint.Contender{Kind: api.KindDNSPolicy, By: &api.Meta{Name: "shop/p", Cluster: "c1"}, Host: "a.example.com."}
	for _, c := range []struct {
		at      Others
		records []string
		served  string
		why     string // a part of the last message
	}{
		{Others{}, []string{"a A 192.0.2.1", `a TXT "x"`}, "A TXT", ""},
		{Others{}, []string{`a TXT "x"`, "a CNAME b.example.com."}, "TXT", "beside other data: Record a/txt of type TXT comes first"},
		{Others{}, []string{"a CNAME b.example.com.", `a TXT "x"`}, "CNAME", "beside other data: Record a/cname comes first"},
		{Others{}, []string{"a CNAME b.example.com.", "a CNAME c.example.com."}, "CNAME", "only one CNAME"},
		{Others{}, []string{"a CNAME b.example.com.", "a CNAME b.example.com."}, "CNAME CNAME", ""},
		{Others{}, []string{"a DNAME b.example.com.", "a DNAME c.example.com."}, "DNAME", "only one DNAME"},
		{Others{}, []string{"a A 192.0.2.1", `b TXT "x"`}, "A", "the name belongs to Record a/a"},
		{Others{}, []string{`dns* TXT "x"`, "b A 192.0.2.1"}, "TXT A", ""},
		{Others{}, []string{`dns* TXT "x"`, `b TXT "y"`}, "TXT", "of the administering namespace has the TXT records"},
		{Others{Owner: policy, By: policy}, []string{"shop A 192.0.2.1", `shop TXT "x"`}, "TXT", ""},
		{Others{By: policy}, []string{`other TXT "x"`, `shop TXT "y"`}, "TXT", "the name belongs to DNSPolicy shop/p"},
		{Others{Fixed: []RRset{{Type: dns.TypeA}}}, []string{"a AAAA 2001:db8::1", `a TXT "x"`}, "TXT", "is a name server of the Corefile"},
	} {
		var all []*endpoint.Record
		for i, text := range c.records {
			r := record(t, text)
			r.Record.Created = int64(i)
			all = append(all, r)
		}
		why := ""
		var served []string
		for _, r := range coexisting(all, c.at, func(r *endpoint.Record, p *endpoint.Problem) {
			if p.KeepsOut() {
				why = p.Message
			}
		}) {
			served = append(served, r.Record.Type)
		}
		if got := strings.Join(served, " "); got != c.served || !strings.Contains(why, c.why) {
			t.Errorf("%v: served %s, want %s; %s", c.records, got, c.served, why)
		}
	}
}

// TestClaimKeepsOut: a Record that a claim keeps out is not served, and takes no place.
func TestClaimKeepsOut(t *testing.T) {
	by := &endpoint.Contender{By: &api.Meta{Name: "a/p"}, Host: "*.example.com."}
	refused, other := record(t, "b CNAME b.example.com."), record(t, `c TXT "x"`)
	at := Others{refused: []Refusal{{refused, &owner.Claim{Kind: owner.Wildcard, By: by}}}}
	served := coexisting([]*endpoint.Record{refused, other}, at, func(*endpoint.Record, *endpoint.Problem) {})
	if len(served) != 1 || served[0] != other {
		t.Errorf("served %v", served)
	}
}
