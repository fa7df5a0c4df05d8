package rdata

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// wireOf returns the labels of a name on the wire, in lower case, the last one first: the order of its octets is the canonical one.
func wireOf(t *testing.T, name string) (labels [][]byte) {
	t.Helper()
	var wire [MaxWireName]byte
	end, err := dns.PackDomainName(name, wire[:], 0, nil, false)
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	for rest := wire[:end-1]; len(rest) > 0; rest = rest[1+rest[0]:] {
		labels = append(labels, lower(rest[1:1+rest[0]]))
	}
	slices.Reverse(labels)
	return labels
}

func lower(label []byte) []byte {
	out := slices.Clone(label)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// order compares two names (RFC 4034 §6.1).
func order(t *testing.T, a, b string) int {
	t.Helper()
	return slices.CompareFunc(wireOf(t, a), wireOf(t, b), bytes.Compare)
}

// full returns a name in example.com. of n octets on the wire that begins with a label.
func full(first string, octets, n int) string {
	name := first + "."
	for n -= 1 + octets + len("\x07example\x03com\x00"); n > 0; {
		label := min(MaxLabel, n-1)
		if n-1-label == 1 {
			label-- // a label has an octet at least
		}
		name += strings.Repeat("x", label) + "."
		n -= 1 + label
	}
	return name + "example.com."
}

// TestNext shows what comes after names that have no room for a label below them.
func TestNext(t *testing.T) {
	long := func(first, last string, octets, n int) [2]string {
		rest := strings.TrimPrefix(full(first, octets, n), first)
		return [2]string{first + rest, last + rest}
	}
	ff := func(n int) string { return strings.Repeat(`\255`, n) }
	for _, c := range [...][2]string{
		{".", `\000.`},
		{"example.com.", `\000.example.com.`},
		long("a", `\000.a`, 1, 253),
		long(`\001`, `\000.\001`, 1, 253),
		long("a", `a\000`, 1, 254),
		long("a", "b", 1, 255),
		long(`\@`, `[`, 1, 255), // the letters in between are small ones
		long("a"+ff(2), "b", 3, 255),
		long(`\205`+ff(2), `\206`, 3, 255), // no octet is text
		long(strings.Repeat("a", 63), strings.Repeat("a", 62)+"b", 63, 254),
		{strings.Repeat(ff(63)+".", 3) + ff(49) + ".example.com.", ff(49) + `\000.example.com.`},
	} {
		if got := next(c[0], "example.com."); got != c[1] {
			t.Errorf("after %s: %s, want %s", c[0], got, c[1])
		}
	}
	if origin := full(ff(1), 1, 255); next(origin, origin) != origin {
		t.Errorf("after the only name of a zone: %s", next(origin, origin))
	}
}

// FuzzNSEC: whatever the name and the types, the record can be read, and says nothing of other names: no name that can exist lies between
// its owner and the next one.
func FuzzNSEC(f *testing.F) {
	f.Add([]byte("\x01a\x07example\x03com\x00"), []byte{0, 1, 1, 1}, uint8(1))
	for n := 253; n <= MaxWireName; n++ {
		var wire [MaxWireName]byte
		end, err := dns.PackDomainName(full(`a@\255`, 3, n), wire[:], 0, nil, false)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire[:end], []byte{255, 0, 0, 28}, uint8(n%5))
	}
	f.Add([]byte("\x00"), []byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, wire, data []byte, depth uint8) {
		name, _, err := dns.UnpackDomainName(wire, 0)
		if err != nil {
			return
		}
		if name, err = Canonical(name); err != nil {
			return
		}
		origin := name
		for range depth {
			if up, ok := Parent(origin); ok {
				origin = up
			}
		}
		var types []uint16
		for ; len(data) > 1; data = data[2:] {
			types = append(types, binary.BigEndian.Uint16(data))
		}
		nsec := NSEC(name, origin, 60, types)
		checkNSEC(t, nsec, name, origin, types)
	})
}

func checkNSEC(t *testing.T, nsec *dns.NSEC, name, origin string, types []uint16) {
	t.Helper()
	packed := make([]byte, dns.MaxMsgSize)
	end, err := dns.PackRR(nsec, packed, 0, nil, false)
	if err != nil {
		t.Fatalf("%v: %v", nsec, err)
	}
	read, _, err := dns.UnpackRR(packed[:end], 0)
	if err != nil || read.String() != nsec.String() {
		t.Fatalf("%v is read as %v: %v", nsec, read, err)
	}
	for _, rtype := range types {
		if !slices.Contains(nsec.TypeBitMap, rtype) {
			t.Errorf("%v lacks %s", nsec, dns.Type(rtype))
		}
	}
	for i, rtype := range nsec.TypeBitMap {
		if i > 0 && nsec.TypeBitMap[i-1] >= rtype || !slices.Contains(types, rtype) {
			t.Errorf("%v: %s after %s", nsec, dns.Type(rtype), dns.Type(nsec.TypeBitMap[max(i-1, 0)]))
		}
	}
	var room [MaxWireName]byte
	length, err := dns.PackDomainName(name, room[:], 0, nil, false)
	switch below := `\000.` + strings.TrimPrefix(name, "."); {
	case err != nil:
		t.Fatal(err)
	case !IsSubdomain(origin, nsec.NextDomain):
		t.Errorf("%v: the next name lies outside the zone %s", nsec, origin)
	case length+2 <= MaxWireName && nsec.NextDomain != below:
		t.Errorf("%v: want %s next", nsec, below)
	case length+2 > MaxWireName && nsec.NextDomain != origin && order(t, name, nsec.NextDomain) >= 0:
		t.Errorf("%v: the next name is not after it", nsec)
	case length+2 > MaxWireName && nsec.NextDomain == origin && strings.Trim(strings.TrimSuffix(name, origin), `\25.`) != "":
		t.Errorf("%v: it is not the last name of the zone", nsec)
	}
}
