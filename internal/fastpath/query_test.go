package fastpath

import (
	"reflect"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// queries are messages that the fast path reads, and some that it does not.
func queries(t testing.TB) (all [][]byte) {
	t.Helper()
	longest := strings.Repeat(strings.Repeat("a", maxLabel)+".", 3) + strings.Repeat("b", maxName-1-3*(maxLabel+1)-1) + "."
	for _, name := range []string{"www.example.com.", ".", "*.Example.COM.", "_acme-challenge.a.", longest, "a\\.b.example."} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeANY, dns.TypeDS, dns.TypeAXFR, dns.TypeHTTPS} {
			m := new(dns.Msg).SetQuestion(name, qtype)
			for _, option := range []dns.EDNS0{
				nil, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"}, &dns.EDNS0_NSID{Code: dns.EDNS0NSID},
				&dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 20, Address: []byte{192, 0, 32, 0}},
				&dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 2, SourceNetmask: 48, Address: []byte{32, 1, 13, 184, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
			} {
				m.Extra = nil
				if qtype != dns.TypeANY || option != nil {
					m.SetEdns0(1232, option == nil)
				}
				if option != nil {
					m.IsEdns0().Option = []dns.EDNS0{option}
				}
				packed, err := m.Pack()
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, packed)
			}
		}
	}
	return all
}

// TestParse: what is read is as the library reads it, also with any octet changed, and so much is read.
func TestParse(t *testing.T) {
	read := 0
	for _, msg := range queries(t) {
		if check(t, msg) {
			read++
		}
		for i, is := range msg {
			for _, octet := range []byte{0, 1, is - 1, is + 1, 0xff} {
				msg[i] = octet
				check(t, msg)
			}
			msg[i] = is
		}
	}
	if want := 5 * 3 * 4; read != want {
		t.Errorf("%d messages read, want %d", read, want)
	}
}

// FuzzParse: what the fast path reads of any message is what the library reads.
func FuzzParse(f *testing.F) {
	for _, msg := range queries(f) {
		f.Add(msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) { check(t, msg) })
}

// check parses a message, and compares the result with the library's.
func check(t *testing.T, msg []byte) (ok bool) {
	t.Helper()
	q := new(Query)
	if ok = q.Parse(msg); !ok {
		return false
	}
	want := new(dns.Msg)
	if err := want.Unpack(msg); err != nil {
		t.Fatalf("%x is read, and is malformed: %v", msg, err)
	}
	if o := want.IsEdns0(); o != nil {
		o.Option = nil
		for _, option := range unpacked(t, msg).IsEdns0().Option {
			if option.Option() != dns.EDNS0COOKIE {
				o.Option = append(o.Option, option)
			} else {
				o.Hdr.Rdlength -= uint16(4 + len(option.(*dns.EDNS0_COOKIE).Cookie)/2)
			}
		}
	}
	if want.Answer, want.Ns = nil, nil; len(want.Extra) == 0 {
		want.Extra = nil
	}
	if !reflect.DeepEqual(&q.Msg, want) || q.Size != len(msg) || q.Lower() != strings.ToLower(want.Question[0].Name) {
		t.Fatalf("%x is read as\n%#v\nwant\n%#v", msg, &q.Msg, want)
	}
	return true
}

func unpacked(t *testing.T, msg []byte) *dns.Msg {
	m := new(dns.Msg)
	if err := m.Unpack(msg); err != nil {
		t.Fatal(err)
	}
	return m
}
