package geo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseNetsErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"192.0.2.0/24", "nets:1: want a network and a code, such as 192.0.2.0/24 IE, found \"192.0.2.0/24\""},
		{"192.0.2.0/24 IE now", "nets:1: want a network and a code"},
		{"# none\n\nIE 192.0.2.0/24", `nets:3: "IE" is not a network`},
		{"192.0.2.1 IE", "nets:1: 192.0.2.1 is an address, not a network; write 192.0.2.1/32"},
		{"2001:db8::1 IE", "write 2001:db8::1/128"},
		{"192.0.2.0/33 IE", `nets:1: "192.0.2.0/33" is not a network`},
		{"192.0.2.1/24 IE", "192.0.2.1/24 has bits set past its length; write 192.0.2.0/24"},
		{"fe80::%eth0/64 IE", "is not a network"},
		{"::ffff:0:0/95 IE", "write IPv4 networks in IPv4 form"},
		{"192.0.2.0/24 UK", "nets:1: geo code \"UK\" matches no client: write GB"},
		{"192.0.2.0/24 *", "means everywhere"},
		{"10.0.0.0/8 IE\n10.0.0.0/8 US", "nets:2: 10.0.0.0/8 is US here but IE in line 1"},
		{"::ffff:10.0.0.0/104 DE\n10.0.0.0/8 US", "nets:2: 10.0.0.0/8 is US here but DE in line 1"},
		{"10.0.0.0/8 IE\n" + strings.Repeat("x", maxNetsLine+1), "nets:2: line longer than 4096 octets"},
	} {
		_, err := ParseNets("nets", strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseNets(%.60q) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ParseNets("nets", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("ParseNets of a reader that fails = %v, want %v", err, broken)
	}
}

const testNets = `
# offices
10.0.0.0/8        GEO-EU   # all of them
10.1.0.0/16       ie
10.1.2.0/24       AS64500
10.1.2.0/24       AS64500  # said twice
10.1.2.128/32     US-CA
::ffff:172.16.0.0/108  US
10.1.3.0/25       IE       # no more than what is around it
10.1.255.0/24     US
255.255.255.255/32 DE
2001:db8::/32     IE
2001:db8:1::/48   US
ffff::/16         DE
`

func TestNetsEmpty(t *testing.T) {
	if n, err := ParseNets("nets", strings.NewReader(testNets)); err != nil || n.Len() != 12 {
		t.Errorf("there are %d networks, want 12: %v", n.Len(), err)
	}
	empty, err := ParseNets("nets", strings.NewReader("# nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*Nets{nil, empty} {
		for _, addr := range []netip.Addr{{}, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::1")} {
			if codes, bits := n.Locate(addr, NeedPlace); *codes != (Codes{}) || bits != 0 {
				t.Errorf("Locate(%s) = %q, %d, want nothing and 0", addr, *codes, bits)
			}
		}
	}
	// A file for one family alone says nothing of the other, but a scope of 0
	// would say it for both.
	four, err := ParseNets("nets", strings.NewReader("0.0.0.0/0 IE\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]int{"192.0.2.1": 1, "2001:db8::1": 3, "8000::1": 1, "::fffe:1:1": 96} {
		codes, bits := four.Locate(netip.MustParseAddr(addr), NeedPlace)
		if (codes[CodeCountry] == "IE") != (addr == "192.0.2.1") || bits != want {
			t.Errorf("Locate(%s) = %q, %d, want %d", addr, *codes, bits, want)
		}
	}
}

// randomNetwork returns a random prefix among few, so that networks nest.
func randomNetwork(r *rand.Rand) netip.Prefix {
	if r.IntN(2) == 0 {
		a := netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(256)), byte(r.IntN(256))})
		return netip.PrefixFrom(a, r.IntN(33)).Masked()
	}
	b := [16]byte{0: 0x2a, 3: byte(r.IntN(4)), 7: byte(r.IntN(4)), 15: byte(r.IntN(256))}
	return netip.PrefixFrom(netip.AddrFrom16(b), r.IntN(129)).Masked()
}

var someCodes = []string{"IE", "DE", "US", "US-CA", "US-NY", "AS64500", "AS64501", "GEO-EU", "GEO-NA"}

// randomNets returns networks with codes, and the file that says so.
func randomNets(r *rand.Rand, count int) (map[netip.Prefix]string, string) {
	all := make(map[netip.Prefix]string)
	var text strings.Builder
	for range count {
		p := randomNetwork(r)
		if all[p] == "" {
			all[p] = someCodes[r.IntN(len(someCodes))]
			fmt.Fprintf(&text, "%s %s\n", p, all[p])
		}
	}
	return all, text.String()
}

// longest is the rule itself: the code of the longest network that holds addr.
func longest(all map[netip.Prefix]string, addr netip.Addr) string {
	code, length := "", -1
	for p, c := range all {
		if p.Contains(addr) && p.Bits() > length {
			code, length = c, p.Bits()
		}
	}
	return code
}

// randomAddr returns an address in a random network of all, or just outside.
func randomAddr(r *rand.Rand, all map[netip.Prefix]string) netip.Addr {
	n := r.IntN(len(all) + 1)
	for p := range all {
		if n--; n < 0 {
			a := randomIn(r, p)
			switch r.IntN(4) {
			case 0:
				a = p.Addr()
			case 1:
				a = p.Addr().Prev()
			case 2:
				a = last(p).Next()
			}
			if a.IsValid() {
				return a
			}
		}
	}
	return randomIn(r, netip.PrefixFrom(randomNetwork(r).Addr(), 0))
}

// randomIn returns a random address of p.
func randomIn(r *rand.Rand, p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		if r.IntN(2) == 1 {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// last returns the highest address of p.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// TestNetsProperty compares look-ups with the rule, and checks that the length
// is neither too short (an address of the network has other codes) nor too long
// (the network twice as large would do).
func TestNetsProperty(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		all, text := randomNets(r, 1+r.IntN(40))
		n, err := ParseNets("nets", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			addr := randomAddr(r, all)
			codes, bits := n.Locate(addr, NeedPlace)
			code := longest(all, addr)
			var want Codes
			if code != "" {
				want = *parse(code)
			}
			if *codes != want {
				t.Fatalf("seed %d: Locate(%s) = %q, want %q of\n%s", seed, addr, *codes, want, text)
			}
			net := netip.PrefixFrom(addr, bits).Masked()
			if !uniform(all, net, code) {
				t.Fatalf("seed %d: Locate(%s) says %s, which is not uniform in\n%s", seed, addr, net, text)
			}
			if bits > familyBits(addr) && uniform(all, netip.PrefixFrom(addr, bits-1).Masked(), code) {
				t.Fatalf("seed %d: Locate(%s) says %s, which is too small in\n%s", seed, addr, net, text)
			}
		}
	}
}

// uniform reports whether every address of net has code. Codes only change at the
// ends of networks, so the addresses there decide.
func uniform(all map[netip.Prefix]string, net netip.Prefix, code string) bool {
	if longest(all, net.Addr()) != code || longest(all, last(net)) != code {
		return false
	}
	for p := range all {
		for _, a := range []netip.Addr{p.Addr(), last(p), last(p).Next(), p.Addr().Prev()} {
			if a.IsValid() && net.Contains(a) && longest(all, a) != code {
				return false
			}
		}
	}
	return true
}

// Whatever a file says, it is refused with its name and line, or every one of
// its networks is found, and look-ups stay within the family.
func FuzzNets(f *testing.F) {
	f.Add([]byte(testNets), []byte{10, 1, 2, 3})
	f.Add([]byte("0.0.0.0/0 IE\n::/0 US\n"), []byte{15: 1})
	f.Add([]byte("10.0.0.0/8 UK"), []byte{})
	f.Fuzz(func(t *testing.T, text, octets []byte) {
		n, err := ParseNets("nets", strings.NewReader(string(text)))
		if err != nil {
			if n != nil || !strings.HasPrefix(err.Error(), "nets:") {
				t.Fatalf("ParseNets = %v, %v", n, err)
			}
			return
		}
		addr, _ := netip.AddrFromSlice(octets)
		addrs := []netip.Addr{addr}
		for line := range strings.Lines(string(text)) {
			if net, ok, err := parseNet(line); err == nil && ok {
				addrs = append(addrs, net.prefix.Addr(), last(net.prefix))
			}
		}
		for i, a := range addrs {
			codes, bits := n.Locate(a, NeedPlace)
			if codes == nil || bits < 0 || bits > a.Unmap().BitLen() {
				t.Fatalf("Locate(%s) = %v, %d", a, codes, bits)
			}
			if i > 0 && *codes == (Codes{}) {
				t.Fatalf("Locate(%s) finds no network of %q", a, text)
			}
		}
	})
}
