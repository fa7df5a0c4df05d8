package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// keptOwner returns the registered owner of a name, from the ConfigMap kept-owners-0.
func keptOwner(t *testing.T, s *kubetest.Server, name string) string {
	t.Helper()
	for line := range strings.Lines(kept(t, s, "default", "kept-owners-0")) {
		if words := strings.Fields(line); words[0] == name {
			return words[1] + " " + words[2] + " " + words[3]
		}
	}
	return ""
}

// TestOwnerIsLostWhileItsClusterIsAway: a policy in another cluster owns a name. A server that is
// restarted while that cluster is away, or slower than the main one, must not register another
// owner in its place: an unreadable owner is not gone (rule 5.4). Nor is the name answered with the
// data of another object.
func TestOwnerIsLostWhileItsClusterIsAway(t *testing.T) {
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	apply := func(s *kubetest.Server, namespace, host, address string) {
		t.Helper()
		s.Apply(t, fmt.Sprintf(boottest.ClusterObjects, namespace, host, address, "US", true))
	}
	property := "cluster east " + east.Kubeconfig + " {\nwrite-back off\n}"
	apply(east, "theirs", "www.example.com", "192.0.2.2")
	addr, stop := boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
	www := func() string { return boottest.AllA(boottest.Exchange(t, addr, "www.example.com.", dns.TypeA)) }
	boottest.Asks(t, addr, "www.example.com.", "192.0.2.2")
	const owner = "east DNSPolicy theirs/p"
	boottest.WaitFor(t, "owner on record", func() bool { return keptOwner(t, main, "www.example.com.") == owner })
	nextSecond(t, boottest.Object(t, east, "kuadrant.io/v1", "DNSPolicy", "theirs", "p"))
	apply(main, "mine", "www.example.com", "192.0.2.1")
	apply(main, "seen", "seen.example.com", "192.0.2.9")
	boottest.Asks(t, addr, "seen.example.com.", "192.0.2.9")
	if got := www(); got != "192.0.2.2" {
		t.Fatalf("before: %s", got)
	}
	for _, way := range []struct {
		how        string
		away, back func() error
	}{
		{"slow", east.Freeze, east.Thaw},
		{"away", func() error { east.Kill(); return nil }, func() error { east.Restart(t); return nil }},
	} {
		stop()
		if err := way.away(); err != nil {
			t.Fatal(err)
		}
		addr, stop = boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
		boottest.Asks(t, addr, "seen.example.com.", "192.0.2.9")
		if got := www(); got != "SERVFAIL" {
			t.Errorf("%s: www is %s, and it is not known what its owner says", way.how, got)
		}
		lines := strings.Count(kept(t, main, "default", "kept-owners-0"), " east ")
		if n := boottest.Metrics(t)["unread_owners{}"]; int(n) != lines || lines == 0 {
			t.Errorf("%s: %v owners are unread, want %d", way.how, n, lines)
		}
		boottest.WaitFor(t, "word to whoever else wants the name", func() bool {
			mine := boottest.Object(t, main, "kuadrant.io/v1", "DNSPolicy", "mine", "p")
			return strings.Contains(boottest.Conditions(mine), "Enforced=False/Unknown")
		})
		// A new owner is kept, and with it everything else that should be.
		more := "more-" + way.how
		apply(main, more, more+".example.com", "192.0.2.8")
		boottest.WaitFor(t, "owner of "+more, func() bool { return keptOwner(t, main, more+".example.com.") != "" })
		if got := keptOwner(t, main, "www.example.com."); got != owner {
			t.Errorf("%s: on record is %q, want %q: it cannot be read, and is not gone", way.how, got, owner)
		}
		back := resolve(t, []*process{{addr: addr}}, map[string][]string{"www.example.com.": {"SERVFAIL", "192.0.2.2"}})
		if err := way.back(); err != nil {
			t.Fatal(err)
		}
		boottest.Asks(t, addr, "www.example.com.", "192.0.2.2")
		back.check(t)
		if got := keptOwner(t, main, "www.example.com."); got != owner {
			t.Errorf("%s: on record is %q, want %q", way.how, got, owner)
		}
	}
}
