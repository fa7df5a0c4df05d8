package kuadrant

import (
	"context"
	"testing"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/miekg/dns"
)

// FuzzClientSubnet sends queries with any client-subnet option, as it comes off
// the wire: nothing panics, and every reply can be packed, echoes family, source
// length and address, and has a scope that fits the family (rule 3.6).
func FuzzClientSubnet(f *testing.F) {
	f.Add(uint16(1), uint8(24), uint8(0), []byte{10, 2, 0})
	f.Add(uint16(2), uint8(56), uint8(0), []byte{0x20, 1, 0xd, 0xb8, 0, 2, 0})
	f.Add(uint16(2), uint8(120), uint8(0), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0})
	f.Add(uint16(2), uint8(96), uint8(0), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})
	f.Add(uint16(0), uint8(0), uint8(0), []byte{})
	f.Add(uint16(1), uint8(33), uint8(1), []byte{10, 2, 0, 1, 9})
	own := newPlugin(f, "kuadrant example.com", shopNets, oneHost(f))
	// The same without a database of our own: CoreDNS's geoip plugin, which may be
	// asked again or not.
	lent, heard := newPlugin(f, "kuadrant example.com", "", oneHost(f)), newPlugin(f, "kuadrant example.com", "", oneHost(f))
	lent.geoip = geoipPlugin(f, false)
	found := metadata.ContextWithMetadata(context.Background())
	metadata.SetValueFunc(found, geoipCountry, func() string { return "US" })
	f.Fuzz(func(t *testing.T, family uint16, source, scope uint8, address []byte) {
		m := question("shop.example.com.", dns.TypeA)
		m.SetEdns0(1232, false)
		data := append([]byte{byte(family >> 8), byte(family), source, scope}, address...)
		m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_LOCAL{Code: dns.EDNS0SUBNET, Data: data})
		wire, err := m.Pack()
		if err != nil {
			return
		}
		query := new(dns.Msg)
		if query.Unpack(wire) != nil {
			return // CoreDNS answers FORMERR by itself
		}
		for _, k := range []*Kuadrant{own, lent, heard} {
			reply, rcode := ask(t, k, found, query)
			if rcode == dns.RcodeFormatError && reply == nil {
				return
			}
			if scope != 0 {
				t.Fatalf("a scope of %d in the query was taken", scope)
			}
			checkEcho(t, reply, family, source)
		}
	})
}

func checkEcho(t *testing.T, reply *dns.Msg, family uint16, source uint8) {
	t.Helper()
	wire, err := reply.Pack()
	if err != nil {
		t.Fatalf("reply %v: %v", reply, err)
	}
	again := new(dns.Msg)
	if err := again.Unpack(wire); err != nil {
		t.Fatalf("reply %v: %v", reply, err)
	}
	sub := again.IsEdns0().Option[0].(*dns.EDNS0_SUBNET)
	if sub.Family != family || sub.SourceNetmask != source {
		t.Fatalf("echoed family %d, length %d; want %d, %d", sub.Family, sub.SourceNetmask, family, source)
	}
	if longest := map[uint16]uint8{familyIPv4: 32, familyIPv6: 128}[family]; sub.SourceScope > longest {
		t.Fatalf("scope %d for family %d", sub.SourceScope, family)
	}
	if source == 0 && sub.SourceScope != 0 {
		t.Fatalf("scope %d for a client that asks not to be located", sub.SourceScope)
	}
}
