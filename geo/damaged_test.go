package geo

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// tree24 returns a search tree of 24-bit records.
func tree24(nodes [][2]int) []byte {
	var tree []byte
	for _, node := range nodes {
		for _, child := range node {
			tree = append(tree, byte(child>>16), byte(child>>8), byte(child))
		}
	}
	return tree
}

// sharedNodes returns an IPv4 database whose nodes have two parents, so that its
// tree has far more networks than nodes: 0.0.0.0/1 is cut into 2^21 networks of
// which every other one is in Ireland. 128.0.0.0/2 is in Germany, 192.0.0.0/3 has
// a pointer past the end and 224.0.0.0/3 one into the middle of a value.
func sharedNodes(t *testing.T) []byte {
	t.Helper()
	data := encode(t, geotest.Flat4, []geotest.Network{
		{Prefix: netip.MustParsePrefix("1.0.0.0/8"), Country: "IE"},
		{Prefix: netip.MustParsePrefix("2.0.0.0/8"), Country: "DE"},
	})
	r, err := maxminddb.OpenBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	record := func(addr string) int { return int(r.Lookup(netip.MustParseAddr(addr)).Offset()) }
	const count = 24
	point := func(offset int) int { return count + 16 + offset }
	nodes := make([][2]int, count)
	nodes[0] = [2]int{3, 1}
	nodes[1] = [2]int{point(record("2.0.0.1")), 2}
	size := strings.LastIndex(string(data), "\xab\xcd\xefMaxMind.com") - int(r.Metadata.NodeCount)*6 - 16
	nodes[2] = [2]int{point(size), point(size - 1)} // the last octet begins a string that is cut off
	for i := 3; i < count-1; i++ {
		nodes[i] = [2]int{i + 1, i + 1}
	}
	nodes[count-1] = [2]int{count, point(record("1.0.0.1"))}
	shared := append(tree24(nodes), data[r.Metadata.NodeCount*6:]...)
	at := strings.LastIndex(string(shared), "node_count") + len("node_count")
	if shared[at] != 0xc1 { // a uint32 of one octet
		t.Fatalf("node_count is written as %#x", shared[at])
	}
	shared[at+1] = count
	return shared
}

// A database is read through when it is loaded, but not without end. Where more
// networks than that are in it, look-ups decode what they find.
func TestSharedNodes(t *testing.T) {
	shared := writeFile(t, "shared.mmdb", sharedNodes(t))
	files := geotest.Write(t, t.TempDir())
	for _, tt := range []struct {
		name  string
		files []string
	}{{"alone", []string{shared}}, {"with another", []string{shared, files.City}}} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, tt.files, "")
			if n := len(d.files[0].base.codes); n != 2 {
				t.Errorf("%d codes were read when the database was loaded, want none and those of Ireland", n)
			}
			checkLocated(t, d, NeedPlace, []located{
				{"0.0.4.0", Codes{"", "", "IE", "GEO-EU"}, 22},
				{"0.0.0.0", Codes{}, 22},
				{"129.0.0.1", Codes{"", "", "DE", "GEO-EU"}, 2},
				{"130.0.0.1", Codes{"", "", "DE", "GEO-EU"}, 2},
			})
			checkLocated(t, d, NeedPlace, []located{{"192.168.0.1", Codes{}, 32}, {"224.0.0.1", Codes{}, 3}})
			if len(tt.files) > 1 { // behind the pointer that leads nowhere, the other database still knows
				checkLocated(t, d, NeedPlace, []located{{"192.0.2.1", Codes{"", "", "IE", "GEO-EU"}, 32}})
			}
		})
	}
}

// A file that ends early is refused wherever it ends.
func TestTruncated(t *testing.T) {
	data := encode(t, geotest.City, geotest.Places())
	for n := range len(data) {
		if b, err := newBase(data[:n:n]); err == nil {
			// What is left is a smaller file that is complete: only the end of the
			// metadata can be missing, and it holds nothing that we need.
			t.Errorf("the first %d of %d octets were opened: %v", n, len(data), b.gives)
		}
	}
	for n := 1; n < len(data); n += 97 {
		// Octets are missing at the front, so every offset is wrong. If that can be
		// opened, it must not do harm.
		if b, err := newBase(data[n:]); err == nil {
			probe(t, b)
		}
	}
}

// probe looks up addresses in a database that may be damaged.
func probe(t *testing.T, b *base) {
	t.Helper()
	s := newState(nil, []*base{b, b})
	for _, text := range []string{
		"0.0.0.0", "127.0.100.1", "192.0.2.1", "198.51.100.200", "255.255.255.255",
		"::", "::192.0.2.1", "2001:db8:100::1", "2001:db8:300:1::1", "2002:c000:201::", "ffff::",
	} {
		addr := netip.MustParseAddr(text)
		for need := range Need(4) {
			codes, bits := s.locate(addr, need)
			if codes == nil || bits < 0 || bits > addr.BitLen() {
				t.Fatalf("locate(%s, %d) = %v, %d", addr, need, codes, bits)
			}
			for _, code := range codes {
				if code != "" && Check(code) != nil {
					t.Fatalf("locate(%s, %d) = %q", addr, need, *codes)
				}
			}
		}
	}
}

// Whatever the octets are, they are refused or can be looked up in.
func FuzzMMDB(f *testing.F) {
	for schema := geotest.City; schema <= geotest.Other; schema++ {
		data, err := geotest.Encode(schema, append(geotest.Places(), geotest.Systems()...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint32(0), uint32(0))
		f.Add(data, uint32(40), uint32(0xffffffff))
	}
	f.Fuzz(func(t *testing.T, data []byte, at, change uint32) {
		// Random changes rarely leave the metadata whole, so one is made on purpose.
		if len(data) >= 4 {
			data = bytes.Clone(data)
			at %= uint32(len(data) - 3)
			for i := range uint32(4) {
				data[at+i] ^= byte(change >> (8 * i))
			}
		}
		if b, err := newBase(data); err == nil {
			probe(t, b)
		}
	})
}

// Octets of a database are damaged in turn.
func TestDamagedAnywhere(t *testing.T) {
	for _, schema := range []geotest.Schema{geotest.City, geotest.Lite, geotest.Flat4} {
		data := encode(t, schema, geotest.Places())
		for i := 0; i < len(data); i += 5 {
			for _, flip := range []byte{0x20, 0xff} {
				data[i] ^= flip
				if b, err := newBase(data); err == nil {
					probe(t, b)
				}
				data[i] ^= flip
			}
		}
	}
}
