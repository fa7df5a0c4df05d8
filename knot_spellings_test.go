package kuadrant

import (
	"fmt"
	"maps"
	"testing"
)

// TestKnotKeepsDataOfTwoSpellings: of two Records with the same data, written in two ways, one goes; Knot, which follows by IXFR,
// still has the other (rules 5.3 and 7.5, RFC 2181 §5).
func TestKnotKeepsDataOfTwoSpellings(t *testing.T) {
	port := freePort(t)
	s := serveZones(t, fmt.Sprintf("transfer {\nto * 127.0.0.1:%d\n}", port), "")
	s.fill()
	s.record("one", "x.example.org.", "TLSA", "3 1 0 ABCD")
	s.record("two", "x.example.org.", "TLSA", "3 1 0 abcd")
	s.record("three", "y.example.org.", "HTTPS", "1 . alpn=h2 port=80")
	s.record("four", "y.example.org.", "HTTPS", "1 . port=80 alpn=h2")
	s.compile()
	k := startKnot(t, s.addr, port)
	waitFor(t, "the zone at Knot", func() bool { return k.serial() == s.engine.Snapshot().Zone("example.org.").Serial() })
	s.record("two", "", "", "")
	s.record("four", "", "", "")
	z := s.compile().Zone("example.org.")
	waitFor(t, "the change at Knot", func() bool { return k.serial() == z.Serial() })
	if _, copied := wholeZone(t, xfr(t, k.Addr, axfrOf("example.org."), nil)); !maps.Equal(copied, contentOf(t, z)) {
		t.Errorf("Knot has another zone than we:%s", difference(copied, contentOf(t, z)))
	}
}
