package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestServerThatIsNotThereIsTold: an NS record names a server in a zone that is served here, and
// this zone knows that it has no address. named-checkzone tells of each of these, and takes no
// zone whose own NS records are so. The issue asks for a reason of NS without addresses.
func TestServerThatIsNotThereIsTold(t *testing.T) {
	for _, c := range []struct {
		what, owner, server string
		more                [3]string
	}{
		{"no such name", "sub.example.org.", "nx.example.org.", [3]string{}},
		{"a name without addresses", "sub.example.org.", "t.example.org.", [3]string{"t.example.org.", "TXT", `"x"`}},
		{"an address with a dot too few", "sub.example.org.", "192.0.2.1", [3]string{}},
		{"RFC 2181 §10.3: an alias", "sub.example.org.", "cn.example.org.", [3]string{"cn.example.org.", "CNAME", "www.example.net."}},
	} {
		w := newWorld("c")
		w.record("dns/ns", c.owner, "NS", c.server, 1)
		if c.more[0] != "" {
			w.record("dns/more", c.more[0], c.more[1], c.more[2], 1)
		}
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		if got := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(got, "NoAddress") {
			t.Errorf("%s: %s NS %s: %s", c.what, c.owner, c.server, got)
		}
	}
}
