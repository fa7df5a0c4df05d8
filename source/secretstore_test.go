package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestSecretStore applies random changes: what is held and asked for are the
// Secrets that have the label and are referred to, nothing is asked for twice at
// a time, and in the end all are up to date.
func TestSecretStore(t *testing.T) {
	rnd := newRand(t)
	r := newRecorder(t)
	g := newClusterStore("c")
	s := newSecretStore()
	g.kinds[api.KindSecret] = s
	there := map[string]int{}  // versions by name, of those with the label
	refers := map[string]int{} // how often each is referred to
	policies := map[string]string{}
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
	// finish answers one request, with what is there now.
	finish := func(name string, w *wantedSecret) {
		announced, ok := s.next(name, w)
		if !ok {
			t.Fatalf("%s is fetched and nobody wants it", name)
		}
		n, is := there[name]
		if !is {
			s.fetched(name, w, announced, "", nil)
		} else {
			s.fetched(name, w, announced, text(n), &api.HeaderSecret{Meta: api.Meta{Name: name, UID: fmt.Sprint(n)}})
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
			_, labelled := s.versions[name]
			if !labelled || refers[name] == 0 {
				t.Fatalf("step %d: %s is wanted: label %v, %d references", step, name, labelled, refers[name])
			}
			if w.busy != (busy[name] == w) {
				t.Fatalf("step %d: %s: busy %v", step, name, w.busy)
			}
		}
		for name := range r.newest().HeaderSecrets.All() {
			if s.wanted[name] == nil {
				t.Fatalf("step %d: %s is held and not wanted", step, name)
			}
		}
	}
	put := func(policy, secret string) {
		refers[policies[policy]]--
		refers[secret]++
		policies[policy] = secret
		p := &api.DNSPolicy{Meta: api.Meta{Name: policy}}
		if secret != "" {
			_, bare, _ := strings.Cut(secret, "/")
			p.HealthCheck = &api.HealthCheck{HeadersSecret: bare}
		}
		g.kinds[api.KindDNSPolicy].put(policy, p)
	}
	g.kinds[api.KindDNSPolicy].put("ns0/p0", &api.DNSPolicy{Meta: api.Meta{Name: "ns0/p0"}})
	publish()
	for step = range 5000 {
		ns := fmt.Sprintf("ns%d", rnd.IntN(3))
		name := fmt.Sprintf("%s/s%d", ns, rnd.IntN(6))
		policy := fmt.Sprintf("%s/p%d", ns, rnd.IntN(6))
		switch rnd.IntN(8) {
		case 0, 1:
			there[name] = next()
			s.put(name, text(there[name]))
		case 2:
			delete(there, name)
			s.remove(name)
		case 3:
			put(policy, []string{name, ""}[rnd.IntN(2)])
		case 4:
			refers[policies[policy]]--
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
					there[n] = next()
					fresh[n] = text(there[n])
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
	s.put("ns0/s0", text(there["ns0/s0"]))
	put("ns0/p0", "ns0/s0")
	publish()
	for len(busy) > 0 {
		for n, w := range busy {
			finish(n, w)
		}
	}
	publish()
	want := map[string]string{}
	for name, n := range there {
		if refers[name] > 0 {
			want[name] = fmt.Sprint(n)
		}
	}
	got := map[string]string{}
	for name, v := range r.newest().HeaderSecrets.All() {
		got[name] = v.UID
	}
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// TestHeadersOfDNSRecords: the Secret with headers of a DNSRecord's checks is asked for, as that of a policy's.
func TestHeadersOfDNSRecords(t *testing.T) {
	g := newClusterStore("c")
	s := newSecretStore()
	g.kinds[api.KindSecret] = s
	asked := ""
	s.fetch = func(name string, _ *wantedSecret) { asked += name + " " }
	s.put("ns/key", version("1"))
	s.put("ns/idle", version("1"))
	g.kinds[api.KindDNSRecord].put("ns/r", &api.DNSRecord{Meta: api.Meta{Name: "ns/r"}, HealthCheck: &api.HealthCheck{HeadersSecret: "key"}})
	g.gather()
	if asked != "ns/key " {
		t.Errorf("asked for %q", asked)
	}
}
