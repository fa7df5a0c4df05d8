package controller

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	kubizone "github.com/coredns-kuadrant/kuadrant/api/kubizone/v1alpha1"
	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// TestStandingStatusIsRead: what is to be said of a policy is worked out while its watch looks at
// the status that stands there, which has conditions of hosts: a race, if either wrote to it.
func TestStandingStatusIsRead(t *testing.T) {
	standing := forms[api.KindDNSPolicy].read([]byte(`{"recordConditions": {"a.example.com": [{"type": "Ready", "status": "True"}], "b.example.com": []}}`))
	said := &Report{Verdict: accepted("accepted")}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if same(forms[api.KindDNSPolicy].make(said, standing, time.Unix(0, 0)), standing) {
				t.Error("two statuses that differ are the same")
			}
		})
	}
	all.Wait()
}

// TestBugB7EachSecret: a host that is published through two Secrets has a condition for each, written once.
func TestBugB7EachSecret(t *testing.T) {
	verdict := accepted("accepted")
	verdict.Records = []api.RecordVerdict{{Host: "a.example.com"}}
	for _, secret := range []string{"one", "two"} {
		c := api.Condition{Type: "ProviderAccessAvailable", Status: api.ConditionTrue, Message: secret}
		verdict.Records[0].Conditions = append(verdict.Records[0].Conditions, c)
	}
	form, said := forms[api.KindDNSPolicy], &Report{Verdict: verdict}
	written, err := json.Marshal(form.make(said, nil, time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	standing := form.read(written)
	if list := standing.(*v1.DNSPolicyStatus).RecordConditions["a.example.com"]; len(list) != 2 || list[1].Message != "two" {
		t.Errorf("%v", list)
	}
	if !same(form.make(said, standing, time.Unix(100, 0)), standing) {
		t.Error("it is written again")
	}
}

// unreachable is a Writer that reaches no server.
func unreachable(t *testing.T, change func(*Options)) (w *Writer, lines *[]string) {
	t.Helper()
	lines = new([]string)
	logf := func(format string, args ...any) { *lines = append(*lines, fmt.Sprintf(format, args...)) }
	opts := Options{
		Cluster: "local", Config: &rest.Config{Host: "https://127.0.0.1:1"}, Namespace: "ns", Lease: "lease", Identity: "me",
		QPS: 1, Burst: 1, Warnf: logf, Infof: logf, Kept: func(Kept) {},
	}
	if change != nil {
		change(&opts)
	}
	w, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return w, lines
}

// TestProbeWithoutLastCheck: Kuadrant's CRD of probes has no status.lastCheck. What was
// written is the same after the next check, then, as nothing has changed (rule 4.8).
func TestProbeWithoutLastCheck(t *testing.T) {
	form := forms[api.KindProbe]
	standing := form.read([]byte(`{"healthy":true,"status":200,"observedGeneration":1}`))
	settled := func(at time.Time) string {
		said := &Report{Verdict: new(api.Verdict), Generation: 1, Probe: &api.ProbeStatus{Healthy: api.ConditionTrue, Status: 200, LastCheck: at}}
		value, err := plain(form.make(said, standing, time.Time{}))
		if err != nil {
			t.Fatal(err)
		}
		return digest(value)
	}
	if settled(time.Unix(1000, 0)) != settled(time.Unix(1030, 0)) {
		t.Error("each look at a probe after another check is another write")
	}
}

// TestZoneWithSerialAndNoHash: a Zone's status is left alone while somebody has kept another serial
// than the verdict follows. Both are read from the one status: where they are read differently, as
// of a serial without a hash, nothing is ever written to the Zone.
func TestZoneWithSerialAndNoHash(t *testing.T) {
	for _, status := range []string{
		`{}`, `{"serial":2026010100}`, `{"hash":"abc"}`, `{"hash":"abc","serial":2026010100}`, `{"serial":4294967296}`, `{"hash":"","serial":-1}`,
	} {
		z, err := api.DecodeZone("local",
			[]byte(`{"metadata":{"namespace":"ns","name":"a"},"spec":{"domainName":"example.com."},"status":`+status+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := keptIn(forms[api.KindZone].read([]byte(status)).(*kubizone.ZoneStatus)); got != z.Kept {
			t.Errorf("%s: the verdict follows %+v, what stands there is taken for %+v", status, z.Kept, got)
		}
	}
}
