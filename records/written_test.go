package records_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestWhatIsWrittenIsServed: the DNSRecords that policies have are answered as the policies themselves are, whatever the health of their
// targets and the operator's word (rules 2.3 and 6.10).
func TestWhatIsWrittenIsServed(t *testing.T) {
	for seed := range recordstest.Seeds(t, 10) {
		r := rand.New(rand.NewPCG(seed, 5))
		pick := func(from ...string) string { return from[r.IntN(len(from))] }
		host, deflt := pick("a.example.com", "a.example.com", "*.a.example.com"), pick("IE", "US", "JP")
		policies := recordstest.New(t, recordstest.Zones("example.com."), "cluster c2")
		written := recordstest.New(t, policies.Options, "cluster c2")
		checks := make(map[string]string)
		for i := range 1 + r.IntN(5) {
			addr := pick(fmt.Sprintf("192.0.%d.1", i), fmt.Sprintf("192.0.%d.1,192.0.%d.2", i, i), fmt.Sprintf("192.0.%d.1,2001:db8::%d", i, i),
				fmt.Sprintf("2001:db8::%d", i), fmt.Sprintf("lb%d.example.net", r.IntN(3)))
			text := fmt.Sprintf("policy n/g%d at=%ds weight=%s", i, i, pick("0", "1", "3"))
			if seed%6 < 5 { // else none has a code
				code := pick("IE", "US", "GEO-EU", "JP")
				if text += " geo=" + code; code == deflt {
					text += " default"
				}
			}
			if r.IntN(2) == 0 {
				checks[fmt.Sprintf("n/g%d", i)] = " check=HTTP:80/up,interval=1s"
			}
			policies.Apply(t, "cluster "+pick("c1", "c2"), fmt.Sprintf("gateway n/g%d host=%s addr=%s", i, host, addr),
				text+checks[fmt.Sprintf("n/g%d", i)])
		}
		word := "overrides " + pick("", "", "cluster c1 down", "cluster c2 drain", "target 192.0.0.1 down", "target 192.0.1.1 up")
		policies.Apply(t, word)
		written.Apply(t, word)
		a := policies.Step(t)
		for _, c := range a.Objects().Clusters {
			written.Apply(t, "cluster "+c.Name)
			for name, p := range c.Policies.All() {
				for _, child := range a.Children(c.Name, api.Ref{Kind: api.KindDNSPolicy, Name: name}) {
					if child.Record == nil {
						continue
					}
					age := time.Duration(p.Created-recordstest.Now.Unix()) * time.Second
					text := fmt.Sprintf("dnsrecord %s root=%s served=example.com at=%s%s", name, child.Record.RootHost,
						recordstest.Now.Add(age).Format(time.RFC3339), checks[name])
					for _, e := range child.Record.Endpoints {
						text += fmt.Sprintf("\n    %s %s %s", e.DNSName, e.Type, strings.Join(e.Targets, " "))
						if e.SetID != "" {
							text += " set=" + e.SetID
						}
						for _, p := range e.Properties {
							text += " " + map[string]string{"weight": "weight", "geo-code": "geo"}[p.Name] + "=" + p.Value
						}
					}
					written.Apply(t, text)
				}
			}
		}
		b := written.Step(t)
		for _, s := range []*records.Snapshot{a, b} {
			for _, target := range s.Checks().All() {
				h := fnv.New32a()
				fmt.Fprint(h, target.Address, seed)
				target.Cell.Set([]health.State{health.Up, health.Down, health.Unknown, health.Up}[h.Sum32()>>8%4])
			}
		}
		if a.Checks().Len() != b.Checks().Len() {
			t.Errorf("seed %d: %d checks for policies, %d for records", seed, a.Checks().Len(), b.Checks().Len())
		}
		names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(recordstest.Names(a), recordstest.Names(b)))))
		for _, name := range names {
			for _, client := range []string{"10.1.0.1", "10.2.0.1", "10.9.0.1"} {
				if is, want := drawn(b, name, client), drawn(a, name, client); is != want {
					t.Fatalf("seed %d, %s from %s: records give\n%s\npolicies\n%s", seed, name, client, is, want)
				}
			}
		}
	}
}

// drawn is all that clients get at a name, but for TTLs: a written DNSRecord keeps 300 where checks shorten it.
func drawn(s *records.Snapshot, name, client string) string {
	seen := make(map[string]bool)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		for i := range uint64(100) {
			m := recordstest.Reply(s, nil, new(dns.Msg).SetQuestion(name, qtype), client, recordstest.Network, i*(1<<64/100+1))
			text := dns.RcodeToString[m.Rcode]
			for _, rr := range m.Answer {
				text += "\n" + rr.Header().Name + strings.TrimPrefix(rr.String(), rr.Header().String())
			}
			seen[text] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), "\n---\n")
}

// TestReread: what is compiled of objects that were written and read back is what is compiled of the objects themselves, but that no
// Secret has headers (rule 8.5, state).
func TestReread(t *testing.T) {
	again := func(c *api.Cluster) *api.Cluster {
		read := &api.Cluster{Name: c.Name, UID: c.UID, Listings: c.Listings, ListedIn: c.ListedIn}
		l := api.NewLoader(read)
		var text bytes.Buffer
		for k := range api.NumKinds {
			for object := range c.All(k) {
				text.Reset()
				err := api.Encode(&text, object)
				if err == nil {
					err = l.Add(k, text.Bytes())
				}
				if err != nil {
					t.Fatalf("%s of %+v: %v", text.Bytes(), object, err)
				}
			}
		}
		l.Done()
		return read
	}
	for seed := range recordstest.Seeds(t, 12) {
		m := recordstest.NewMutator(seed)
		m.Listings = false // pools are not written
		w := recordstest.New(t, recordstest.Zones("example.com.", "deep.example.com."))
		for range 80 {
			m.Mutate(t, w)
		}
		in := w.Objects()
		back := in
		back.Clusters = nil
		for i, c := range in.Clusters {
			own := *c
			own.Share(api.KindSecret, again(c)) // without headers
			in.Clusters[i] = &own
			back.Clusters = append(back.Clusters, again(c))
		}
		is, want := recordstest.Facts(records.Compile(nil, back, w.Options, w.Now)), recordstest.Facts(records.Compile(nil, in, w.Options, w.Now))
		for key, text := range want {
			if is[key] != text {
				t.Fatalf("seed %d: %s is\n%s\nread back, and was\n%s", seed, key, is[key], text)
			}
		}
	}
}

// TestHealthIsNotAnotherTenants: a check whose terms its owner edits begins with what the owner's check has found (rule 4.7). What the
// check of another tenant has found at the same addresses counts for nothing.
func TestHealthIsNotAnotherTenants(t *testing.T) {
	const victim = "policy victim/app check=HTTP:80/up,failures=1,interval="
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway victim/app host=app.example.com addr=192.0.2.1,192.0.2.2", victim+"1m")
	set := func(interval time.Duration, state health.State) {
		for _, target := range w.Snapshot.Checks().All() {
			if target.Interval == interval {
				target.Cell.Set(state)
			}
		}
	}
	advance(w)
	set(time.Minute, health.Up)
	w.Apply(t, "gateway evil/app host=x.app.example.com addr=192.0.2.1\npolicy evil/app check=HTTP:80/up,failures=1,interval=10s")
	advance(w)
	set(10*time.Second, health.Down)
	w.Apply(t, victim+"2m")
	advance(w)
	n := 0
	for _, target := range w.Snapshot.Checks().All() {
		if target.Interval == 2*time.Minute {
			if n++; target.Cell.Load().Found() != health.Up {
				t.Errorf("%s begins as %v", target.Check.String(), target.Cell.Load().Found())
			}
		}
	}
	if n == 0 {
		t.Errorf("nothing is checked every two minutes: %v %+v", slices.Collect(maps.Keys(maps.Collect(w.Snapshot.Checks().All()))),
			w.Snapshot.Verdict("c1", api.Ref{Kind: api.KindDNSPolicy, Name: "victim/app"}))
	}
}
