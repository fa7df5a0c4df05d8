package kuadrant

import (
	"bytes"
	"context"
	"net/netip"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// compareFast compares what the fast path answers with what the server writes, octet by octet, for a query and its draw.
func (s *scenario) compareFast(q recordstest.Question) {
	s.t.Helper()
	routes := &fastRoutes{blocks: make(map[string]*fastBlock), zones: make(map[string]bool)}
	for _, zone := range s.plugin.block.Zones {
		routes.blocks[zone], routes.zones[zone] = &fastBlock{Kuadrant: s.plugin}, true
	}
	for _, change := range []func(*dns.Msg){
		func(*dns.Msg) {},
		func(m *dns.Msg) { m.RecursionDesired, m.CheckingDisabled = !m.RecursionDesired, true },
		func(m *dns.Msg) { m.Question[0].Name = mixed(m.Question[0].Name) },
		func(m *dns.Msg) { m.Extra = nil; m.SetEdns0(512, false) },
		func(m *dns.Msg) { m.Extra = nil },
	} {
		r := q.Msg.Copy()
		change(r)
		message, err := r.Pack()
		if err != nil {
			continue // a scenario may ask what no message can
		}
		if s.compare(routes, message, q.From) {
			s.fast++
		}
	}
}

// mixed returns a name with letters in both cases.
func mixed(name string) string {
	b := []byte(name)
	for i := range b {
		if i%2 == 0 && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// compare compares one message, and reports whether the fast path answers it.
func (s *scenario) compare(routes *fastRoutes, message []byte, from string) bool {
	s.t.Helper()
	query, out := new(fastpath.Query), make([]byte, 4096)
	if !query.Parse(message) {
		return false
	}
	n := newFastAnswerer(routes).Answer(query, netip.MustParseAddr(from), out)
	if n == 0 {
		return false
	}
	r := new(dns.Msg)
	if err := r.Unpack(message); err != nil {
		s.t.Fatal(err)
	}
	rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: from})
	if _, err := s.chain.ServeDNS(context.Background(), request.NewScrubWriter(r, rec), r); err != nil || rec.Msg == nil {
		s.t.Fatalf("%v is answered by the fast path alone: %v", r.Question[0], err)
	}
	want, err := rec.Msg.Pack()
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.Equal(out[:n], want) {
		got := new(dns.Msg)
		err := got.Unpack(out[:n])
		s.t.Errorf("%v is answered with %v\n%v\nwant %v", r.Question[0], err, got, rec.Msg)
	}
	return true
}
