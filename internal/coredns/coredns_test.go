package coredns

import (
	"testing"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/miekg/dns"
)

// TestAccept: a server accepts the opcodes that a plugin allows, with one question, and else what the library does.
func TestAccept(t *testing.T) {
	allowed := &dnsserver.Config{Zone: "example.com."}
	allowed.AllowOpcode(dns.OpcodeUpdate)
	for name, c := range map[string]struct {
		block     *dnsserver.Config
		questions uint16
		want      dns.MsgAcceptAction
	}{
		"UPDATE, allowed":                {allowed, 1, dns.MsgAccept},
		"UPDATE of two zones, allowed":   {allowed, 2, dns.MsgReject},
		"UPDATE where no block has that": {&dnsserver.Config{Zone: "example.com."}, 1, dns.MsgRejectNotImplemented},
	} {
		s, err := dnsserver.NewServer("dns://127.0.0.1:0", []*dnsserver.Config{c.block})
		if err != nil {
			t.Fatal(err)
		}
		accept := Accept(s)
		if got := accept(dns.Header{Bits: dns.OpcodeUpdate << 11, Qdcount: c.questions}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got := accept(dns.Header{Bits: dns.OpcodeStatus << 11, Qdcount: 1}); got != dns.MsgRejectNotImplemented {
			t.Errorf("%s: STATUS is %v", name, got)
		}
		if got := accept(dns.Header{Qdcount: 1}); got != dns.MsgAccept {
			t.Errorf("%s: a query is %v", name, got)
		}
	}
}
