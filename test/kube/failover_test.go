package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// failoverGroups is the record that names the active groups.
const failoverGroups = `---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: active-groups}
spec: {domainName: kuadrant-active-groups.example.com., type: TXT, ttl: 60, rdata: '"version=1;groups=blue&&green"'}
`

// failover is a client that asks for shop.example.com every 10 ms, and the changes meanwhile.
type failover struct {
	mu    sync.Mutex
	steps []*failoverStep
}

// failoverStep is a change of the answer, and the replies until the next one.
type failoverStep struct {
	name, before, want    string
	began, changed, first time.Time // first is when want was answered
	queries, moved        int       // moved are the queries answered with want
	slowest               time.Duration
	failed                []string
}

// ask asks a server until the context ends, and returns when each query has its reply or failed.
func (f *failover) ask(ctx context.Context, addr string) {
	client, pace := &dns.Client{Timeout: time.Second}, time.NewTicker(10*time.Millisecond)
	defer pace.Stop()
	var queries sync.WaitGroup
	defer queries.Wait()
	for ; ctx.Err() == nil; <-pace.C {
		queries.Go(func() {
			asked := time.Now()
			m, took, err := client.Exchange(boottest.Question("shop.example.com.", dns.TypeA), addr)
			text := fmt.Sprint(err)
			if err == nil && m.Rcode == dns.RcodeSuccess {
				text = answerOf(m)
			} else if err == nil {
				text = dns.RcodeToString[m.Rcode]
			}
			f.note(asked, took, text)
		})
	}
}

// note judges a reply: before the first reply of a new kind, the old one is right.
func (f *failover) note(asked time.Time, took time.Duration, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.steps[len(f.steps)-1]
	s.queries++
	s.slowest = max(s.slowest, took)
	switch {
	case text == s.want && asked.After(s.began):
		if s.moved++; s.moved == 1 {
			s.first = time.Now()
		}
	case text == s.want, text == s.before && (s.moved == 0 || asked.Before(s.first)):
	default:
		s.failed = append(s.failed, fmt.Sprintf("%s %q", asked.UTC().Format("15:04:05.000"), text))
	}
}

// step makes a change, and waits for 20 replies of the new kind.
func (f *failover) step(t *testing.T, name, want string, change func()) {
	t.Helper()
	s := &failoverStep{name: name, before: want, want: want, began: time.Now()}
	f.mu.Lock()
	if len(f.steps) > 0 {
		s.before = f.steps[len(f.steps)-1].want
	}
	f.steps = append(f.steps, s)
	f.mu.Unlock()
	change()
	s.changed = time.Now()
	boottest.WaitFor(t, "answer "+want+": "+name, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return s.moved >= 20
	})
}

// report logs the steps, once all queries have ended, and fails where a query failed or an answer went back.
func (f *failover) report(t *testing.T) {
	t.Helper()
	table := fmt.Sprintf("%-30s %8s %8s %8s %8s", "step", "ms", "queries", "failed", "slowest")
	for _, s := range f.steps {
		ms := s.first.Sub(s.changed).Milliseconds()
		table += fmt.Sprintf("\n%-30s %8d %8d %8d %8.1f", s.name, ms, s.queries, len(s.failed), s.slowest.Seconds()*1000)
		if len(s.failed) > 0 {
			t.Errorf("%s: want %s, %d queries failed: %s", s.name, s.want, len(s.failed), s.failed[:min(len(s.failed), 5)])
		}
	}
	t.Log(table)
}

// TestFailover: two clusters pool a host, one as standby. The standby answers while the target of the active cluster is dead,
// while its Gateway is drained, and while its group is not active. No query fails (rules 4.6, 9.1 and 9.5).
func TestFailover(t *testing.T) {
	const active, standby = "127.0.0.17", "127.0.0.18"
	blue, green := boottest.APIServer(t), boottest.APIServer(t)
	idle := boottest.NewTargets(t, standby)[0]
	port, listeners := boottest.ListenOn(t, active)
	serve := func(l net.Listener) *http.Server {
		s := &http.Server{Handler: new(boottest.Target)} //nolint:gosec // it ends with the test
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	target := serve(listeners[0])
	const pooled = "  loadBalancing: {weight: 100}\n"
	blue.Apply(t, boottest.CheckedGateway("shop", "shop.example.com", port, pooled, active)+failoverGroups)
	green.Apply(t, boottest.CheckedGateway("shop", "shop.example.com", idle.Port, pooled, standby))
	boottest.Merge(t, green, "kuadrant.io/v1", "DNSPolicy", "ns", "shop", `{"metadata": {"annotations": {"kuadrant.io/priority": "1"}}}`)
	boottest.NeedNamespace(t, green, "dns") // for the Lease there
	p := newProcess(t)
	p.start(t, boottest.CoreDNS(t), "example.com", "kuadrant {\nkubeconfig "+blue.Kubeconfig+"\ngroup blue\ncluster green "+green.Kubeconfig+
		" {\ngroup green\n}\nzone-namespaces dns\nlease dns/failover\nprobe-allow 127.0.0.16/28\n}\nerrors")
	p.expects(t, "shop.example.com.", active)
	boottest.WaitFor(t, "check of the standby", func() bool { return idle.Asked.Load() > 0 })

	var f failover
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer stop()
	f.step(t, "the active cluster answers", active, func() { asking.Go(func() { f.ask(ctx, p.addr) }) })
	f.step(t, "the active target dies", standby, func() { _ = target.Close() })
	f.step(t, "it is back", active, func() {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", active, port))
		if err != nil {
			t.Fatal(err)
		}
		serve(l)
	})
	gateway := func(override string) func() {
		return func() {
			patch := `{"metadata": {"annotations": {"kuadrant.io/health-override": ` + override + `}}}`
			boottest.Merge(t, blue, "gateway.networking.k8s.io/v1", "Gateway", "ns", "shop", patch)
		}
	}
	f.step(t, "the active Gateway is drained", standby, gateway(`"drain"`))
	f.step(t, "it is not drained", active, gateway("null"))
	groups := func(names string) func() {
		return func() {
			patch := `{"spec": {"rdata": "\"version=1;groups=` + names + `\""}}`
			boottest.Merge(t, blue, "kubi.zone/v1alpha1", "Record", "dns", "active-groups", patch)
		}
	}
	f.step(t, "its group is not active", standby, groups("green"))
	f.step(t, "both groups are active", active, groups("blue&&green"))
	stop()
	asking.Wait()
	f.report(t)
	if log := p.printed(t); strings.Contains(log, "no cluster has the group") {
		t.Errorf("a cluster's group was not known before the cluster was read:\n%s", log)
	}
}
