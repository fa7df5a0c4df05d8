package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestParsePools reads the annotation. Without it, nothing pools.
func TestParsePools(t *testing.T) {
	for _, c := range []struct {
		list  string
		want  api.Pools
		warns bool
	}{
		{"", api.PoolsIn(), false},
		{" , ", api.PoolsIn(), false},
		{"shop", api.PoolsIn("shop"), false},
		{" shop ,api,, shop", api.PoolsIn("api", "shop"), false},
		{"*", api.Pools{}, false},
		{"shop, *", api.Pools{}, false},
		{"shop api", api.PoolsIn(), true},
		{"shop-*, api, Shop", api.PoolsIn("api"), true},
	} {
		got, warning := parsePools(c.list)
		if !got.Equal(c.want) || (warning != "") != c.warns {
			t.Errorf("%q: %+v, %q", c.list, got, warning)
		}
	}
}

// TestDecodeRemote checks that a Secret becomes a cluster, or says what is wrong with it.
func TestDecodeRemote(t *testing.T) {
	in64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	good := in64(kubeconfigOf(atServer, withToken))
	for _, c := range []struct{ name, secret, fault string }{
		{"good", `{"metadata":{"namespace":"dns","name":"east"},"data":{"kubeconfig":"` + good + `"}}`, ""},
		{"no data", `{"metadata":{"namespace":"dns","name":"east"}}`, "no key kubeconfig"},
		{"another key", `{"metadata":{"namespace":"dns","name":"east"},"data":{"value":"` + good + `"}}`, "no key kubeconfig"},
		{"bad", `{"metadata":{"namespace":"dns","name":"east"},"data":{"kubeconfig":"` + in64(kubeconfigOf(atServer, "exec: {}")) +
			`"}}`, "kubeconfig: users[0].user.exec is refused"},
	} {
		value, err := decodeRemote([]byte(c.secret))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := value.(*Remote)
		if r.Name != "east" || r.Secret != "dns/east" || (r.Config == nil) != (c.fault != "") ||
			!strings.HasPrefix(r.Fault, c.fault) || c.fault == "" && r.Fault != "" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if value, err := decodeRemote([]byte(`{"metadata":{"namespace":"dns","name":"east","deletionTimestamp":"2026-01-01T00:00:00Z"}}`)); err != nil || value.(*Remote) != nil {
		t.Errorf("one that is being deleted: %v, %v", value, err)
	}
	if _, err := decodeRemote([]byte(`{"metadata":{},"data":{"kubeconfig":"s3cret!"}}`)); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no base64: %v", err)
	}
}

// remotesOf follows a namespace's Secrets until the test ends.
func remotesOf(t *testing.T, config *rest.Config, namespace string, l *recorder) (published chan []*Remote) {
	t.Helper()
	published = make(chan []*Remote, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- FollowRemotes(ctx, RemotesOptions{Cluster: "local", Config: config, Namespace: namespace, Logf: l.logf},
			func(all []*Remote) { published <- all })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return published
}

// told returns the log lines so far.
func (r *recorder) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// TestFollowRemotes follows a namespace's labelled Secrets as they appear, change and disappear.
func TestFollowRemotes(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	secret := func(name, label, annotation, kubeconfig string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: %s\n  name: %s\n  labels: "+
			"{kuadrant.io/multicluster-kubeconfig: %q}\n  annotations: {kuadrant.io/namespaces: %q}\ndata: {kubeconfig: %s}\n",
			namespace, name, label, annotation, base64.StdEncoding.EncodeToString([]byte(kubeconfig)))
	}
	good := kubeconfigOf(atServer, withToken)
	server.Apply(t, secret("unlabelled", "false", "*", good))
	written := server.Apply(t, secret("east", "true", "shop", good))[0]
	l := newRecorder(t)
	published := remotesOf(t, server.Config, namespace, l)
	await := func(want ...string) {
		t.Helper()
		for {
			var got []string
			for _, r := range <-published {
				got = append(got, fmt.Sprintf("%s %v %q", r.Name, r.Pools.Namespaces, r.Fault))
			}
			if slices.Equal(got, want) {
				return
			}
		}
	}
	await(`east [shop] ""`)
	server.Apply(t, secret("east", "true", "shop,api", good))
	await(`east [api shop] ""`)
	server.Apply(t, secret("bad", "true", "", "x: y"))
	await(`bad [] "kubeconfig: it has a field that is not part of a kubeconfig"`, `east [api shop] ""`)
	server.Apply(t, secret("bad", "false", "", good)) // it loses the label
	await(`east [api shop] ""`)
	if err := server.Resource(t, written).Delete(t.Context(), "east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await()
	if all := l.told(); len(all) > 0 {
		t.Errorf("the log has %q", all)
	}
}

// TestRemotesStore: a Secret that a newer list lacks is gone, like a deleted one and one that is being
// deleted. One that can no longer be decoded stays as it was.
func TestRemotesStore(t *testing.T) {
	w, err := newRemotesWatch(RemotesOptions{Cluster: "local", Config: &rest.Config{Host: "https://127.0.0.1:1"}, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := (*remotesStore)(w)
	there := func(name string) any {
		return &wire{name: "dns/" + name, value: &Remote{Name: name, Secret: "dns/" + name}}
	}
	going := func(name string) any { return &wire{name: "dns/" + name, value: (*Remote)(nil)} }
	broken := func(name string) any { return &wire{name: "dns/" + name, err: errors.New("not a Secret")} }
	list := func(all ...any) func() { return func() { _ = s.Replace(all, "") } }
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"a first list", list(there("a"), there("b"), there("d"), there("e")), "a b d e"},
		{"a list that lacks one, and has one that goes", list(there("a"), broken("d"), going("e")), "a d"},
		{"one that is deleted", func() { _ = s.Delete(there("a")) }, "d"},
		{"one that is back", func() { _ = s.Add(there("b")) }, "b d"},
		{"one that is about to be deleted", func() { _ = s.Add(going("d")) }, "b"},
		{"one that cannot be decoded any more", func() { _ = s.Update(broken("b")) }, "b"},
		{"a list that lacks all", list(), ""},
	} {
		step.do()
		all, ok := w.all()
		var got []string
		for _, r := range all {
			if got = append(got, r.Name); r.Secret != "dns/"+r.Name {
				t.Errorf("%s: %+v", step.what, r)
			}
		}
		if !ok || strings.Join(got, " ") != step.want {
			t.Errorf("%s: %v, want %s", step.what, got, step.want)
		}
	}
}

// TestFollowRemotesForbidden: a refusal to list is published and logged once. Once granted, the
// Secrets are listed.
func TestFollowRemotesForbidden(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	l := newRecorder(t)
	config := server.User(t, namespace, "no-secrets-"+namespace,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}})
	published := remotesOf(t, config, namespace, l)
	if all := <-published; all != nil {
		t.Errorf("published is %v", all)
	}
	if all := l.told(); len(all) != 1 || !strings.Contains(all[0], "grant the verbs list and watch on secrets in namespace "+namespace) {
		t.Errorf("the log has %q", all)
	}
}

// answers is a server of Secrets without sockets: lists are empty, and watches stay open.
type answers struct {
	watches chan struct{} // receives each watch
	closed  bool          // its connections are closed
}

func (a *answers) CloseIdleConnections() { a.closed = true }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(`{"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []}`))
	if r.URL.Query().Has("watch") {
		events, writer := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
		a.watches <- struct{}{}
		body = events
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: body}, nil
}

// TestFollowRemotesCloses checks that no connection stays open.
func TestFollowRemotesCloses(t *testing.T) {
	server := &answers{watches: make(chan struct{}, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-server.watches; cancel() }()
	config := &rest.Config{Host: "https://api.example", Transport: server}
	err := FollowRemotes(ctx, RemotesOptions{Cluster: "local", Config: config, Namespace: "dns", Logf: t.Logf}, func([]*Remote) {})
	if err != nil || !server.closed {
		t.Errorf("%v; closed: %v", err, server.closed)
	}
}
