package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestUndoneWrites: something takes a status away each time that it is written. It is written a
// few times, and then not for as long as that goes on; the log says so. Something else to say
// is written at once.
func TestUndoneWrites(t *testing.T) {
	r := alone(t, policy("a"), nil)
	message := "first"
	r.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted(message) }
	at := time.Unix(1000, 0)
	r.w.now = func() time.Time { return at }
	r.start()
	for i := range maxSame {
		until(t, "status", func() bool { return r.accepted("a") == message })
		if n := len(r.logged("another writer undoes")); n != 0 {
			t.Fatalf("said after %d writes", i+1)
		}
		r.patch("DNSPolicy", "a", "pruner", `[{"op": "remove", "path": "/status"}]`, "status")
	}
	until(t, "word of it", func() bool {
		return len(r.logged("another writer undoes what is written to DNSPolicy "+r.ns+"/a")) == 1
	})
	if got := r.accepted("a"); got != "" {
		t.Errorf("written once more: %q", got)
	}
}

// TestUndoneCounts: what counts is what was written to one object in a row, and for a while.
func TestUndoneCounts(t *testing.T) {
	now := time.Unix(1000, 0)
	var u undone
	a := &write{ref: api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, settled: "x"}
	other := &write{ref: a.ref, settled: "y"}
	b := &write{ref: api.Ref{Kind: api.KindDNSPolicy, Name: "ns/b"}, settled: "x"}
	for range maxSame {
		if err := u.check(a, now); err != nil {
			t.Fatal(err)
		}
		u.note(a)
	}
	if err := u.check(a, now.Add(samePeriod-1)); err == nil || classify(err) != undoing {
		t.Errorf("after %d writes: %v", maxSame, err)
	}
	for _, p := range []*write{other, b} {
		if err := u.check(p, now); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	u.note(other)
	if err := u.check(a, now); err != nil {
		t.Errorf("after something else was written: %v", err)
	}
	for range maxSame {
		u.note(b)
	}
	if err := u.check(b, now.Add(samePeriod)); err != nil || len(u.wrote) != 0 {
		t.Errorf("after the period: %v, %d are kept", err, len(u.wrote))
	}
}

// TestCRDWithoutStatus: a CRD that somebody has installed has no status subresource. That
// nothing can be written is said, once.
func TestCRDWithoutStatus(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s, ns, nil)
	r.patch("CustomResourceDefinition", "dnspolicies.kuadrant.io", "", `[{"op": "remove", "path": "/spec/versions/0/subresources"}]`)
	r.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted("first") }
	r.start()
	until(t, "word of it", func() bool { return len(r.logged("subresources: {status: {}}")) > 0 })
	if lines := r.logged("subresources"); len(lines) != 1 ||
		!strings.Contains(lines[0], "dnspolicies.kuadrant.io: cannot write") {
		t.Errorf("said: %v", lines)
	}
}

// TestMadeAnewIsNotUndone: who deletes a policy and makes it anew, time and again, undoes nothing:
// each one is another object, about which the same is to be said, and which has children of its own.
func TestMadeAnewIsNotUndone(t *testing.T) {
	r := alone(t, "", nil)
	r.has("gw-a")
	at := time.Unix(1000, 0)
	r.w.now = func() time.Time { return at }
	r.start()
	for range maxSame + 1 {
		r.server.ApplyIn(t, r.ns, policy("a"))
		find := func() (status, child bool) {
			p := r.get("DNSPolicy", "a")
			c := r.record("gw-a")
			return messageOf(p, "Accepted") != "", c != nil && c.GetOwnerReferences()[0].UID == p.GetUID()
		}
		until(t, "status and child", func() bool {
			status, child := find()
			return status && child || len(r.logged("another writer undoes")) > 0
		})
		r.remove("DNSPolicy", "a")
		until(t, "end of the child", func() bool { return r.record("gw-a") == nil })
	}
	if lines := r.logged("another writer undoes"); len(lines) > 0 {
		t.Errorf("not written: %v", lines)
	}
}

// TestLackingFieldIsNotUndone: CRDs that somebody has installed do not declare all fields, and what
// they do not is left out. What stands there is what can be written then: a change of something else
// in the object is no reason to write it once more, each time, until somebody is said to undo it.
func TestLackingFieldIsNotUndone(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s, ns, nil)
	for name, patch := range map[string]string{
		"dnsrecords.kuadrant.io": `[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations"},
			{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/zoneID"}]`,
		"dnspolicies.kuadrant.io": `[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/totalRecords"}]`,
	} {
		r.patch("CustomResourceDefinition", name, "", patch)
	}
	r.has("gw-a")
	r.start()
	until(t, "status and record", func() bool {
		return r.accepted("a") != "" &&
			r.record("gw-a") != nil
	})
	r.rests()
	before := r.writes()
	for kind, name := range map[api.Kind]string{api.KindDNSRecord: "gw-a", api.KindDNSPolicy: "a"} {
		noted := r.patch(kind.String(), name, "kubectl-annotate", `{"metadata":{"annotations":{"note":"something else"}}}`)
		at := api.Ref{Kind: kind, Name: ns + "/" + name}
		until(t, "word of the note", func() bool { return r.w.cache.get(at).version == noted.GetResourceVersion() })
		r.rests()
	}
	if after := r.writes(); len(after) != len(before) {
		t.Errorf("written: %v", after[len(before):])
	}
}
