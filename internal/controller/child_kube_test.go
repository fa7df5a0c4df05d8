package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// contest edits a DNSRecord of ours as somebody else does.
func (r *replica) contest(name string) {
	r.patch("DNSRecord", name, "kubectl-edit",
		`{"spec":{"endpoints":[{"dnsName":"a.example.com","recordType":"A","recordTTL":60,"targets":["192.0.2.66"]}]}}`)
}

// TestContestedChildHidesNoFailedStatus: one look at a policy makes several writes. That a
// child of it is contested must not keep the status, whose write fails for a moment, from
// being tried again.
func TestContestedChildHidesNoFailedStatus(t *testing.T) {
	t.Parallel()
	r := alone(t, policy("a"), nil)
	r.has("gw-a")
	var message atomic.Value
	message.Store("first")
	r.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted(message.Load().(string)) }
	r.start()
	until(t, "record", func() bool {
		return r.record("gw-a") != nil && r.accepted("a") == "first"
	})
	r.rests()
	r.contest("gw-a")
	until(t, "conflict", func() bool { return len(r.logged("another controller writes the same")) > 0 })
	// One status write fails, as it would with a server that restarts.
	var failed atomic.Bool
	r.setBlock(func(req *http.Request) error {
		if strings.HasSuffix(req.URL.Path, "/dnspolicies/a/status") && failed.CompareAndSwap(false, true) {
			return errors.New("connection refused")
		}
		return nil
	})
	message.Store("second")
	r.again(api.Ref{Kind: api.KindDNSPolicy, Name: r.ns + "/a"})
	until(t, "failure", failed.Load)
	until(t, "second attempt", func() bool { return r.accepted("a") == "second" })
}

// TestEditedChildIsReported: a field of one of our objects that somebody edits is left
// to them (docs/write-back.md: a conflict is reported, not forced), and the log says so once.
func TestEditedChildIsReported(t *testing.T) {
	r := alone(t, policy("a"), nil)
	r.has("gw-a")
	r.start()
	text := func() string {
		o := r.record("gw-a")
		if o == nil {
			return ""
		}
		data, _ := json.Marshal(o.Object["spec"])
		return string(data)
	}
	until(t, "record", func() bool { return strings.Contains(text(), "192.0.2.1") })
	r.rests()
	r.contest("gw-a")
	until(t, "word of it", func() bool { return len(r.logged("leaving it alone")) > 0 })
	r.rests()
	if !strings.Contains(text(), "192.0.2.66") || len(r.logged("leaving it alone")) != 1 {
		t.Errorf("it is %s; %v", text(), r.logged("leaving it alone"))
	}
}

// labelled is a policy of a team.
func labelled(name, team string) string {
	return strings.Replace(policy(name), "name: "+name+"}", "name: "+name+", labels: {team: "+team+"}}", 1)
}

// selections are two deployments that share the policies of a namespace, each with a Lease of its own: one reads those of team red, a,
// the other those of blue, b.
func selections(t *testing.T) (red, blue *replica) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, labelled("a", "red")+labelled("b", "blue"))
	selecting := func(team string) *replica {
		r := newReplica(t, s, ns, func(o *Options) { o.Lease, o.Selected = "lease-"+team, true })
		r.src = source.Kubernetes(source.KubernetesOptions{
			Cluster: "local", Config: s.Config, Observer: r.w.Cache(), Selection: source.Selection{
				Namespaces: []string{ns}, NoSecrets: true, Policies: labels.SelectorFromSet(labels.Set{"team": team}),
			},
		})
		return r
	}
	return selecting("red"), selecting("blue")
}

// TestTwoSelectionsOfOneName: two deployments have policies of their own for one Gateway, and children
// of both want one name. What belongs to a policy that is not known may be the other one's, and is
// left to it; they do not delete it in turn.
func TestTwoSelectionsOfOneName(t *testing.T) {
	red, blue := selections(t)
	red.has("gw-x")
	blue.has("gw-x")
	red.start()
	until(t, "record", func() bool { return red.uid("gw-x") != "" })
	red.rests()
	first := red.uid("gw-x")
	blue.start()
	until(t, "word of it", func() bool { return len(blue.logged("an object of that name exists")) > 0 || red.uid("gw-x") != first })
	blue.rests()
	if red.uid("gw-x") != first {
		t.Errorf("it is another one now: %v and %v were written", red.writes(), blue.writes())
	}
}

// TestTwoSelections: two deployments that share the policies of a cluster by the property
// `policies`, each with a Lease of its own, do not delete each other's objects.
func TestTwoSelections(t *testing.T) {
	red, blue := selections(t)
	red.has("gw-*")
	blue.has("gw-*")
	red.start()
	until(t, "red record", func() bool { return red.record("gw-a") != nil })
	red.rests()
	blue.start()
	until(t, "blue record", func() bool { return blue.record("gw-b") != nil || len(blue.writes()) > 20 })
	blue.again() // as a new leader does
	blue.idles()
	for _, w := range slices.Concat(red.writes(), blue.writes()) {
		if strings.HasPrefix(w, "DELETE") {
			t.Fatalf("deleted, of %d and %d writes: %s", len(red.writes()), len(blue.writes()), w)
		}
	}
}

// TestLeaseIsGivenBackLast: the Lease is given back after the last write, not while one
// is on its way (lease.go), also where this replica gives it up because it could not renew it.
func TestLeaseIsGivenBackLast(t *testing.T) {
	t.Parallel()
	r := alone(t, policy("a"), nil)
	var writing, early atomic.Bool
	given := make(chan struct{})
	var once atomic.Bool
	r.setBlock(func(req *http.Request) error {
		switch {
		case strings.HasSuffix(req.URL.Path, "/status") && once.CompareAndSwap(false, true):
			writing.Store(true)
			defer writing.Store(false)
			select { // a server that is slow to answer
			case <-req.Context().Done():
				return req.Context().Err()
			case <-given:
				return errors.New("cut off")
			}
		case req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/leases/") && once.Load():
			body, _ := io.ReadAll(req.Body)
			req.Body = io.NopCloser(bytes.NewReader(body))
			var l struct {
				Spec struct{ HolderIdentity *string }
			}
			if json.Unmarshal(body, &l) == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
				if writing.Load() {
					return errors.New("cut off") // it cannot be renewed
				}
				return nil
			}
			if writing.Load() && early.CompareAndSwap(false, true) {
				close(given)
			}
		}
		return nil
	})
	r.start()
	until(t, "end of the write", func() bool { return once.Load() && !writing.Load() })
	if early.Load() {
		t.Error("the Lease is given back while a write is on its way: another replica may begin")
	}
}

// TestReplacedOnce: the object that has the name of a child is to go first. Until that is seen,
// whoever says so goes on to: the child that was made in its place does not go as well, over and
// over, until it is taken for one that somebody else deletes.
func TestReplacedOnce(t *testing.T) {
	r := alone(t, policy("a"), nil)
	var replaced atomic.Value
	replaced.Store("")
	r.children = func(p *api.DNSPolicy) []api.Child {
		c := recordOf(p, "gw-a", "192.0.2.1")
		c.Replaced = replaced.Load().(string)
		c.Replace = c.Replaced != ""
		return []api.Child{c}
	}
	r.start()
	until(t, "record", func() bool { return r.uid("gw-a") != "" })
	r.rests()
	first := r.uid("gw-a")
	replaced.Store(first)
	r.again()
	until(t, "another record", func() bool { now := r.uid("gw-a"); return now != "" && now != first })
	r.rests()
	deleted := 0
	for _, w := range r.writes() {
		if strings.HasPrefix(w, http.MethodDelete) {
			deleted++
		}
	}
	if deleted != 1 {
		t.Errorf("%d objects were deleted, want one: %v", deleted, r.writes())
	}
}
