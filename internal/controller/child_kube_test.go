package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// contestedRecord is a DNSRecord that looks like a child of a policy, and whose data are
// another manager's: somebody has edited it.
func contestRecord(t *testing.T, s *kubetest.Server, ns, name string) {
	t.Helper()
	edit := `{"spec":{"endpoints":[{"dnsName":"a.example.com","recordType":"A","recordTTL":60,"targets":["192.0.2.66"]}]}}`
	_, err := s.Resource(t, ref("kuadrant.io/v1alpha1", "DNSRecord", ns)).Patch(t.Context(), name, types.MergePatchType,
		[]byte(edit), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	if err != nil {
		t.Fatal(err)
	}
}

// TestContestedChildHidesNoFailedStatus: one look at a policy makes several writes. That a
// child of it is contested must not keep the status, whose write fails for a moment, from
// being tried again.
func TestContestedChildHidesNoFailedStatus(t *testing.T) {
	t.Parallel()
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s.Config, ns, nil)
	r.children = func(p *api.DNSPolicy) []api.Child { return []api.Child{recordOf(p, "gw-a", "192.0.2.1")} }
	var message atomic.Value
	message.Store("first")
	r.verdict = func(*api.DNSPolicy) *api.Verdict { return accepted(message.Load().(string)) }
	r.start()
	standing := func() string { return messageOf(get(t, s, "kuadrant.io/v1", "DNSPolicy", ns, "a"), "Accepted") }
	until(t, "record", func() bool {
		return get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-a") != nil && standing() == "first"
	})
	r.rests()
	contestRecord(t, s, ns, "gw-a")
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
	r.again(api.Ref{Kind: api.KindDNSPolicy, Name: ns + "/a"})
	until(t, "failure", failed.Load)
	until(t, "second attempt", func() bool { return standing() == "second" })
}

// TestEditedChildIsReported: a field of one of our objects that somebody edits is left
// to them (api.md, Written back: a conflict is reported, not forced), and the log says so once.
func TestEditedChildIsReported(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s.Config, ns, nil)
	r.children = func(p *api.DNSPolicy) []api.Child { return []api.Child{recordOf(p, "gw-a", "192.0.2.1")} }
	r.start()
	text := func() string {
		o := get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-a")
		if o == nil {
			return ""
		}
		data, _ := json.Marshal(o.Object["spec"])
		return string(data)
	}
	until(t, "record", func() bool { return strings.Contains(text(), "192.0.2.1") })
	r.rests()
	contestRecord(t, s, ns, "gw-a")
	until(t, "word of it", func() bool { return len(r.logged("left alone")) > 0 })
	r.rests()
	if !strings.Contains(text(), "192.0.2.66") || len(r.logged("left alone")) != 1 {
		t.Errorf("it is %s; %v", text(), r.logged("left alone"))
	}
}

// labelled is a policy of a team.
func labelled(name, team string) string {
	return strings.Replace(policy(name), "name: "+name+"}", "name: "+name+", labels: {team: "+team+"}}", 1)
}

// selecting is a replica that reads the policies of a team, and has a Lease of its own.
func selecting(t *testing.T, s *kubetest.Server, ns, team string) *replica {
	r := newReplica(t, s.Config, ns, func(o *Options) { o.Lease, o.Selected = "lease-"+team, true })
	selector, err := labels.Parse("team=" + team)
	if err != nil {
		t.Fatal(err)
	}
	r.src = source.Kubernetes(source.KubernetesOptions{
		Cluster: "local", Config: s.Config, Selection: source.Selection{Namespaces: []string{ns}, NoSecrets: true, Policies: selector},
		Logf: func(string, ...any) {}, Observer: r.w.Cache(),
	})
	return r
}

// TestTwoSelectionsOfOneName: two deployments have policies of their own for one Gateway, and children
// of both want one name. What belongs to a policy that is not known may be the other one's, and is
// left to it; they do not delete it in turn.
func TestTwoSelectionsOfOneName(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, labelled("a", "red")+labelled("b", "blue"))
	red, blue := selecting(t, s, ns, "red"), selecting(t, s, ns, "blue")
	for _, r := range []*replica{red, blue} {
		r.children = func(p *api.DNSPolicy) []api.Child { return []api.Child{recordOf(p, "gw-x", "192.0.2.1")} }
	}
	uid := func() string {
		if o := get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-x"); o != nil {
			return string(o.GetUID())
		}
		return ""
	}
	red.start()
	until(t, "record", func() bool { return uid() != "" })
	red.rests()
	first := uid()
	blue.start()
	until(t, "word of it", func() bool { return len(blue.logged("somebody else's")) > 0 || uid() != first })
	blue.rests()
	if uid() != first {
		t.Errorf("it is another one now: %v and %v were written", red.writes(), blue.writes())
	}
}

// TestTwoSelections: two deployments that share the policies of a cluster by the property
// `policies`, each with a Lease of its own, do not delete each other's objects.
func TestTwoSelections(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, labelled("a", "red")+labelled("b", "blue"))
	red, blue := selecting(t, s, ns, "red"), selecting(t, s, ns, "blue")
	for _, r := range []*replica{red, blue} {
		r.children = func(p *api.DNSPolicy) []api.Child {
			return []api.Child{recordOf(p, "gw-"+p.BareName(), "192.0.2.1")}
		}
	}
	red.start()
	until(t, "red record", func() bool { return get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-a") != nil })
	red.rests()
	blue.start()
	until(t, "blue record", func() bool {
		return get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-b") != nil || len(blue.writes()) > 20
	})
	blue.again() // as a new leader does
	blue.idles()
	for _, r := range []*replica{red, blue} {
		for _, w := range r.writes() {
			if strings.HasPrefix(w, "DELETE") {
				t.Fatalf("deleted, of %d and %d writes: %s", len(red.writes()), len(blue.writes()), w)
			}
		}
	}
}

// TestLeaseIsGivenBackLast: the Lease is given back after the last write, not while one
// is on its way (lease.go), also where this replica gives it up because it could not renew it.
func TestLeaseIsGivenBackLast(t *testing.T) {
	t.Parallel()
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s.Config, ns, nil)
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
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, policy("a"))
	r := newReplica(t, s.Config, ns, nil)
	var replaced atomic.Value
	replaced.Store("")
	r.children = func(p *api.DNSPolicy) []api.Child {
		c := recordOf(p, "gw-a", "192.0.2.1")
		c.Replaced = replaced.Load().(string)
		c.Replace = c.Replaced != ""
		return []api.Child{c}
	}
	r.start()
	uid := func() string {
		if o := get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "gw-a"); o != nil {
			return string(o.GetUID())
		}
		return ""
	}
	until(t, "record", func() bool { return uid() != "" })
	r.rests()
	first := uid()
	replaced.Store(first)
	r.again()
	until(t, "another record", func() bool { now := uid(); return now != "" && now != first })
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
