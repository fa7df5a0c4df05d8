package kuadrant

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// compareFast compares what the fast path answers with what the server writes, octet by octet, for a query and its draw.
func (s *scenario) compareFast(q recordstest.Question) {
	s.t.Helper()
	c := newComparison(s.plugin, s.chain, 0)
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
		if _, err := c.compare(message, q.From); err != nil {
			s.t.Error(err)
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

// comparison compares what the fast path answers with what a chain of plugins writes. As a worker does, it reuses the fast path's memory.
type comparison struct {
	chain    plugin.Handler
	answerer *fastAnswerer
	query    fastpath.Query
	out      [4096]byte
}

// newComparison returns a comparison for a chain that ends with a plugin; size is that of the plugin bufsize in it, 0 for none.
func newComparison(k *Kuadrant, chain plugin.Handler, size int) *comparison {
	routes := &fastRoutes{blocks: make(map[string]*fastBlock)}
	for _, zone := range k.block.Zones {
		routes.blocks[zone] = &fastBlock{Kuadrant: k, size: size}
	}
	return &comparison{chain: chain, answerer: newFastAnswerer(routes)}
}

// compare compares the replies to one message, and returns that of the chain; nil if the fast path leaves the message to the chain.
func (c *comparison) compare(message []byte, from string) (*dns.Msg, error) {
	if !c.query.Parse(message) {
		return nil, nil
	}
	n := c.answerer.Answer(&c.query, netip.MustParseAddr(from), c.out[:])
	if n == 0 {
		return nil, nil
	}
	r := new(dns.Msg)
	if err := r.Unpack(message); err != nil {
		return nil, err
	}
	rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: from})
	if _, err := c.chain.ServeDNS(context.Background(), request.NewScrubWriter(r, rec), r); err != nil || rec.Msg == nil {
		return nil, fmt.Errorf("%v is answered by the fast path alone: %v", r.Question[0], err)
	}
	want, err := rec.Msg.Pack()
	if err == nil && !bytes.Equal(c.out[:n], want) {
		got := new(dns.Msg)
		bad := got.Unpack(c.out[:n])
		err = fmt.Errorf("%x from %s is answered with %v\n%v\nwant %v", message, from, bad, got, rec.Msg)
	}
	return rec.Msg, err
}

// TestFastFails: a query that makes the fast path panic is left to CoreDNS, and counted.
func TestFastFails(t *testing.T) {
	f := newFastAnswerer(&fastRoutes{blocks: map[string]*fastBlock{".": {Kuadrant: new(Kuadrant)}}}) // without an engine
	message, err := new(dns.Msg).SetQuestion("example.com.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	var q fastpath.Query
	before := boottest.Metrics(t)["fast_udp_total{failed}"]
	if !q.Parse(message) || f.Answer(&q, netip.IPv4Unspecified(), nil) != 0 || boottest.Metrics(t)["fast_udp_total{failed}"] != before+1 {
		t.Error("it is not left, or not counted")
	}
}
