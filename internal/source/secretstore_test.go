package source

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestSecretStore applies random changes. It checks that the store holds and fetches exactly the
// Secrets needed, in one of four ways, fetches none twice at a time, and has all up to date in the
// end.
func TestSecretStore(t *testing.T) {
	rnd := newRand(t)
	r := newRecorder(t)
	g := newClusterStore("c", api.Pools{})
	s := newSecretStore()
	g.kinds[api.KindSecret] = s
	there := map[string]int{} // versions by name
	labelled := map[string]map[string]string{}
	policies := map[string]*api.DNSPolicy{}
	needed := func(name string) bool {
		for _, p := range policies {
			if p.Namespace() != namespaceOf(name) {
				continue
			}
			of, by := labels.Set(labelled[name]), p.Provider
			switch {
			case p.HealthCheck != nil && p.Namespace()+"/"+p.HealthCheck.HeadersSecret == name && of[api.HeadersLabel] == "true",
				by.Name != "" && p.Namespace()+"/"+by.Name == name && by.Namespace != "elsewhere" && by.ServedHere(),
				by.Selector != nil && by.Selector.Matches(of),
				by.Name == "" && by.Selector == nil && of["kuadrant.io/default-provider"] == "true":
				return true
			}
		}
		return false
	}
	someLabels := func() map[string]string {
		return []map[string]string{
			nil, {api.HeadersLabel: "true"}, {"kuadrant.io/default-provider": "true"}, {"team": "a"}, {"team": "b", api.HeadersLabel: "true"},
		}[rnd.IntN(5)]
	}
	busy := map[string]*wantedSecret{}
	s.fetch = func(name string, w *wantedSecret) {
		if busy[name] == w {
			t.Fatalf("%s is fetched twice", name)
		}
		busy[name] = w
		w.stop = func() {
			if busy[name] == w {
				delete(busy, name)
			}
		}
	}
	text := func(n int) version { return version(fmt.Sprint(n)) }
	count, step := 0, 0
	next := func() int { count++; return count }
	// finish answers one request, with the current content.
	finish := func(name string, w *wantedSecret) {
		announced, ok := s.next(name, w)
		if !ok {
			t.Fatalf("%s is fetched and nobody wants it", name)
		}
		n, is := there[name]
		if !is {
			s.fetched(name, w, announced, "", nil)
		} else {
			s.fetched(name, w, announced, text(n), &api.Secret{Meta: api.Meta{Name: name, UID: fmt.Sprint(n)}})
		}
		if _, more := s.next(name, w); !more {
			delete(busy, name)
		}
	}
	publish := func() {
		if c := g.cluster(&api.Cluster{UID: "uid"}); c != nil {
			r.publish(c)
		}
		for name, w := range s.wanted {
			if _, is := there[name]; !is || !needed(name) {
				t.Fatalf("step %d: %s is wanted: there %v, labels %v", step, name, is, labelled[name])
			}
			if w.busy != (busy[name] == w) {
				t.Fatalf("step %d: %s: busy %v", step, name, w.busy)
			}
		}
		for name := range r.newest().Secrets.All() {
			if s.wanted[name] == nil {
				t.Fatalf("step %d: %s is held and not wanted", step, name)
			}
		}
	}
	put := func(policy, secret string, way int) {
		_, bare, _ := strings.Cut(secret, "/")
		p := &api.DNSPolicy{Meta: api.Meta{Name: policy}, Provider: api.Provider{Name: "none"}}
		switch way {
		case 0:
			p.HealthCheck = &api.HealthCheck{HeadersSecret: bare}
		case 1:
			p.Provider.Name = bare
		case 2:
			p.Provider = api.Provider{Selector: labels.SelectorFromSet(labels.Set{"team": []string{"a", "b"}[rnd.IntN(2)]})}
		case 3:
			p.Provider = api.Provider{}
		case 4:
			p.Provider = api.Provider{Name: bare, Namespace: "elsewhere"}
		case 5:
			p.Provider = api.Provider{Name: bare, Kind: "ExternalDNS"}
		}
		policies[policy] = p
		g.kinds[api.KindDNSPolicy].put(policy, p)
	}
	put("ns0/p0", "", 6)
	publish()
	for step = range 5000 {
		ns := fmt.Sprintf("ns%d", rnd.IntN(3))
		name := fmt.Sprintf("%s/s%d", ns, rnd.IntN(6))
		policy := fmt.Sprintf("%s/p%d", ns, rnd.IntN(6))
		switch rnd.IntN(8) {
		case 0, 1:
			there[name], labelled[name] = next(), someLabels()
			s.put(name, secretHead{text(there[name]), labelled[name]})
		case 2:
			delete(there, name)
			s.remove(name)
		case 3:
			put(policy, name, rnd.IntN(7))
		case 4:
			delete(policies, policy)
			g.kinds[api.KindDNSPolicy].remove(policy)
		case 5: // a list
			fresh := map[string]any{}
			for n := range there {
				if strings.HasPrefix(n, ns+"/") {
					if rnd.IntN(4) == 0 {
						delete(there, n)
						continue
					}
					there[n], labelled[n] = next(), someLabels()
					fresh[n] = secretHead{text(there[n]), labelled[n]}
				}
			}
			s.replace(ns+"/", fresh)
		default:
			for n, w := range busy {
				if rnd.IntN(2) == 0 {
					finish(n, w)
				}
			}
		}
		publish()
	}
	there["ns0/s0"] = next()
	s.put("ns0/s0", secretHead{version: text(there["ns0/s0"])})
	put("ns0/p0", "ns0/s0", 1)
	publish()
	for len(busy) > 0 {
		for n, w := range busy {
			finish(n, w)
		}
	}
	publish()
	want := map[string]string{}
	for name, n := range there {
		if needed(name) {
			want[name] = fmt.Sprint(n)
		}
	}
	got := map[string]string{}
	for name, v := range r.newest().Secrets.All() {
		got[name] = v.UID
	}
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}
