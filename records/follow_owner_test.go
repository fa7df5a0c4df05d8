package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestNamespaceFollows: evil keeps an older object that loses at shop's host. When shop's policy is renamed, or made anew with another
// Gateway, shop keeps the host; when shop gives it up, evil has it (rule 5.4).
func TestNamespaceFollows(t *testing.T) {
	w := newWorld("c")
	w.gateway("shop/p", "app.example.com", api.Simple, 5, api.IPAddress, "192.0.2.1")
	w.writeOwners(holdingsOf(t, Compile(nil, w.objects(), unreadOptions, testTime)))
	w.gateway("evil/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.66")
	s := w.step(t, nil, unreadOptions)
	for i, c := range []struct {
		what   string
		change func()
		want   string
	}{
		{"both are there", func() {}, "192.0.2.1"},
		{"renamed in one step", func() {
			w.setPolicy(0, "shop/p", nil)
			w.gateway("shop/q", "app.example.com", api.Simple, 7, api.IPAddress, "192.0.2.2")
		}, "192.0.2.2"},
		{"renamed, new first", func() { w.gateway("shop/r", "app.example.com", api.Simple, 8, api.IPAddress, "192.0.2.3") }, "192.0.2.2"},
		{"and then the old one goes", func() { w.setPolicy(0, "shop/q", nil) }, "192.0.2.3"},
		{"given up", func() { w.setPolicy(0, "shop/r", nil) }, "192.0.2.66"},
	} {
		c.change()
		if s = w.step(t, s, unreadOptions); gives(s, "app.example.com.", dns.TypeA) != c.want {
			t.Errorf("step %d, %s: the host is %q, want %q", i, c.what, gives(s, "app.example.com.", dns.TypeA), c.want)
		}
	}
}
