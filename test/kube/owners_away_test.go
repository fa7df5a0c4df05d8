package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// keptOwner returns who is on record for a name, in the ConfigMap kept-owners-0.
func keptOwner(t *testing.T, s *kubetest.Server, name string) string {
	t.Helper()
	for _, line := range keptLines(t, s, "") {
		if words := strings.Fields(line); words[0] == name {
			return words[1] + " " + words[2] + " " + words[3]
		}
	}
	return ""
}

// keptLines returns the lines of that ConfigMap about owners in a cluster; "" for all.
func keptLines(t *testing.T, s *kubetest.Server, cluster string) (lines []string) {
	t.Helper()
	kept := boottest.Object(t, s, "v1", "ConfigMap", "default", "kept-owners-0")
	if kept == nil {
		return nil
	}
	text, _, _ := unstructured.NestedString(kept.Object, "data", "owners")
	for line := range strings.Lines(text) {
		if cluster == "" || strings.Fields(line)[1] == cluster {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOwnerIsLostWhileItsClusterIsAway: a name was acquired by a policy of a further cluster. A
// server that is restarted while that cluster is away must not write another owner in its place:
// who cannot be read is not gone (rule 5.4). Nor is the name answered with the data of another one.
func TestOwnerIsLostWhileItsClusterIsAway(t *testing.T) {
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	property := "cluster east " + east.Kubeconfig + " {\nwrite-back off\n}"
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "theirs", "www.example.com", "192.0.2.2", "US", true))
	addr, stop := boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
	www := func() string { return boottest.AllA(boottest.Exchange(t, addr, "www.example.com.", dns.TypeA)) }
	boottest.WaitFor(t, "answer of east", func() bool { return www() == "192.0.2.2" })
	const owner = "east DNSPolicy theirs/p"
	boottest.WaitFor(t, "owner on record", func() bool { return keptOwner(t, main, "www.example.com.") == owner })
	time.Sleep(1100 * time.Millisecond) // ages count in seconds: the next one is younger
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "mine", "www.example.com", "192.0.2.1", "US", true))
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "probe", "seen.example.com", "192.0.2.9", "US", true))
	boottest.WaitFor(t, "what came later", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "seen.example.com.", dns.TypeA)) == "192.0.2.9"
	})
	if got := www(); got != "192.0.2.2" {
		t.Fatalf("before: %s", got)
	}
	stop()
	east.Kill()

	addr, _ = boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
	boottest.WaitFor(t, "answers", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "seen.example.com.", dns.TypeA)) == "192.0.2.9"
	})
	if got := www(); got != "SERVFAIL" {
		t.Errorf("while east is away www is %s, and it is not known what its owner says", got)
	}
	if n, lines := boottest.Metrics(t)["unread_owners{}"], keptLines(t, main, "east"); int(n) != len(lines) || len(lines) == 0 {
		t.Errorf("%v owners are unread, want those of %q", n, lines)
	}
	boottest.WaitFor(t, "word to whoever else wants the name", func() bool {
		return strings.Contains(boottest.Conditions(boottest.Object(t, main, "kuadrant.io/v1", "DNSPolicy", "mine", "p")), "Enforced=False/Unknown")
	})
	// Something new is kept, and with it all else that is to be.
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "more", "more.example.com", "192.0.2.8", "US", true))
	boottest.WaitFor(t, "owner of more", func() bool { return keptOwner(t, main, "more.example.com.") != "" })
	if got := keptOwner(t, main, "www.example.com."); got != owner {
		t.Errorf("on record is %q, want %q: its cluster is away, and it is not gone", got, owner)
	}
	east.Restart(t)
	boottest.WaitFor(t, "answer of east, which is back, and no other before", func() bool {
		got := www()
		if got != "192.0.2.2" && got != "SERVFAIL" {
			t.Fatalf("east is back: www is %s, want 192.0.2.2, as before the restart", got)
		}
		return got == "192.0.2.2"
	})
}

// TestOwnerIsLostWhileItsClusterIsSlow: the same, where the further cluster takes a few seconds longer to
// answer than the main one, at an ordinary restart.
func TestOwnerIsLostWhileItsClusterIsSlow(t *testing.T) {
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	property := "cluster east " + east.Kubeconfig + " {\nwrite-back off\n}"
	east.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "theirs", "www.example.com", "192.0.2.2", "US", true))
	addr, stop := boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
	const owner = "east DNSPolicy theirs/p"
	boottest.WaitFor(t, "owner on record", func() bool { return keptOwner(t, main, "www.example.com.") == owner })
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "mine", "www.example.com", "192.0.2.1", "US", true))
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "seen", "seen.example.com", "192.0.2.9", "US", true))
	boottest.WaitFor(t, "what came later", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "seen.example.com.", dns.TypeA)) == "192.0.2.9"
	})
	stop()
	if err := east.Freeze(); err != nil {
		t.Fatal(err)
	}
	addr, _ = boottest.StartKube(t, main.Kubeconfig, "example.com", "lease default/kept", property)
	boottest.WaitFor(t, "answers", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "seen.example.com.", dns.TypeA)) == "192.0.2.9"
	})
	www := func() string { return boottest.AllA(boottest.Exchange(t, addr, "www.example.com.", dns.TypeA)) }
	if got := www(); got != "SERVFAIL" {
		t.Errorf("while east is slow www is %s, and it is not known what its owner says", got)
	}
	main.Apply(t, fmt.Sprintf(boottest.ClusterObjects, "more", "more.example.com", "192.0.2.8", "US", true))
	boottest.WaitFor(t, "owner of more", func() bool { return keptOwner(t, main, "more.example.com.") != "" })
	if err := east.Thaw(); err != nil {
		t.Fatal(err)
	}
	boottest.WaitFor(t, "answer of east, which is back, and no other before", func() bool {
		got := www()
		if got != "192.0.2.2" && got != "SERVFAIL" {
			t.Fatalf("www is %s, want 192.0.2.2, as before the restart", got)
		}
		return got == "192.0.2.2"
	})
	if got := keptOwner(t, main, "www.example.com."); got != owner {
		t.Errorf("on record is %q, want %q", got, owner)
	}
}
