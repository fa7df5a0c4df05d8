package engine

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// heldTime is how long what is too large a loss stays.
const heldTime = gatherTime + DefaultGuard

// relist publishes h and nothing else, as a source does after a new list: nobody has
// reported what is missing.
func (f *fakeSource) relist(h hosts) {
	f.unseen = func(api.Ref) bool { return true }
	f.show(h)
	f.unseen = nil
}

// numbered returns hosts called prefix0, prefix1 and so on, each with its own address.
func numbered(prefix string, from, to int) hosts {
	h := make(hosts)
	for i := from; i < to; i++ {
		h[fmt.Sprint(prefix, i)] = fmt.Sprintf("192.0.2.%d", 1+i)
	}
	return h
}

// expectAll asks for all of h, each of which is to be answered with its address.
func (r *running) expectAll(when string, h hosts) {
	r.t.Helper()
	for name, address := range h {
		r.expect(when, name+"="+address)
	}
}

// expectNone asks for all of h, which are to be denied.
func (r *running) expectNone(when string, h hosts) {
	r.t.Helper()
	for name := range h {
		r.expect(when, name+"=NXDOMAIN")
	}
}

// TestGuardLimits: what a list lacks stays for 30 s; then it goes up to the limit, and is held above it (rule 8.5).
func TestGuardLimits(t *testing.T) {
	for _, c := range []struct {
		names, gone int
		held        bool
	}{
		{20, 6, false}, {20, 7, true}, {20, 20, true}, {9, 9, true}, {9, 3, true}, {10, 3, false}, {10, 4, true}, {3, 3, true}, {4, 2, false}, {2, 2, false}, {1, 1, false}, {0, 0, false},
	} {
		guardedTest(t, func(f *fakeSource, r *running) {
			all, gone, left := numbered("h", 0, c.names), numbered("h", 0, c.gone), numbered("h", c.gone, c.names)
			f.show(all)
			f.relist(left)
			when := fmt.Sprintf("%d of %d", c.gone, c.names)
			wait(gatherTime - time.Nanosecond)
			r.expectAll(when+", gathered", all)
			if n := r.held("example.com."); n != 0 {
				t.Errorf("%s: %d names are held before anything is decided", when, n)
			}
			wait(time.Nanosecond)
			if r.expectAll(when+", what is left", left); !c.held {
				r.expectNone(when, gone)
				return
			}
			r.expectAll(when, all)
			r.expect(when, "no=NXDOMAIN")
			if n := r.held("example.com."); n != c.gone {
				t.Errorf("%s: %d names are held", when, n)
			}
			wait(DefaultGuard - time.Nanosecond)
			r.expectAll(when+", just before the end", all)
			wait(time.Nanosecond)
			r.expectNone(when+", at the end", gone)
			r.expectAll(when+", at the end", left)
			if n := r.held("example.com."); n != 0 {
				t.Errorf("%s: %d names are held at the end", when, n)
			}
		})
	}
}

// TestGuardFlapping: an object that lists lack nine times a minute, and have again, is one name of a zone and never held
// (the counts of all that went in a minute were added up).
func TestGuardFlapping(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		all := numbered("h", 0, 10)
		f.show(all)
		without := maps.Clone(all)
		delete(without, "h3")
		for range 30 {
			f.relist(without)
			wait(3 * time.Second)
			r.expectAll("away", all)
			f.show(all)
			wait(4 * time.Second)
			if n := r.held("example.com."); n != 0 || len(r.e.guard.clusters) > 0 {
				t.Fatalf("%d names are held", n)
			}
		}
		f.relist(without)
		wait(gatherTime)
		r.expect("gone", "h3=NXDOMAIN", "h4=192.0.2.5")
	})
}

// TestGuardKindsTogether: an API server is replaced by an empty one, and kinds and namespaces are listed one after the other,
// each by itself within the limit: they are decided on together (the first kind went).
func TestGuardKindsTogether(t *testing.T) {
	for _, names := range []int{9, 2} {
		guardedTest(t, func(f *fakeSource, r *running) {
			all := numbered("h", 0, names)
			f.show(all)
			for left := names - 2; left > 0; left -= 2 {
				f.relist(numbered("h", 0, left))
				wait(5 * time.Second)
			}
			for _, k := range []api.Kind{api.KindGateway, api.KindDNSPolicy, api.KindProbe} {
				next := *f.last
				next.Share(k, new(api.Cluster))
				f.unseen = func(api.Ref) bool { return true }
				f.send(&next)
				wait(time.Second)
			}
			r.expectAll("gathered", all)
			if wait(gatherTime); names < lossNames {
				r.expectNone("decided", all)
				return
			}
			if r.expectAll("decided", all); r.held("example.com.") != names {
				t.Errorf("%d names are held", r.held("example.com."))
			}
			wait(DefaultGuard)
			r.expectNone("at the end", all)
		})
	}
}

// TestGuardZone: a list lacks the Zone of ten Records, which is held, also where structures are compiled beside leaves (what would be
// lost was looked for among the leaves alone, and the Zone went).
func TestGuardZone(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		send := func(zones ...*api.Zone) {
			c := f.cluster(nil)
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			e := c.Zones.Edit()
			for _, z := range zones {
				e.Set(z.Name, z)
			}
			if c.Zones = e.Map(); f.last != nil {
				c.Records = f.last.Records
			} else {
				e := c.Records.Edit()
				for i := range 10 {
					m := api.Meta{Name: fmt.Sprint("ns/h", i), Cluster: "c"}
					e.Set(m.Name, &api.Record{Meta: m, DomainName: fmt.Sprint("h", i), Parent: "ns/z", Type: "A", Class: "IN", RData: "192.0.2.1"})
				}
				c.Records = e.Map()
			}
			f.send(c)
		}
		expect := func(when, answer string, held int) {
			t.Helper()
			r.expect(when, "h0.sub="+answer)
			if n := r.held("sub.example.com."); n != held {
				t.Errorf("%s: %d names are held", when, n)
			}
		}
		all := []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}
		zone := &api.Zone{Meta: api.Meta{Name: "ns/z", Cluster: "c"}, DomainName: "sub.example.com.", TTL: 60, Delegations: all}
		send(zone)
		expect("first", "192.0.2.1", 0)
		f.unseen = func(api.Ref) bool { return true }
		send()
		expect("gathered", "192.0.2.1", 0)
		wait(gatherTime)
		expect("decided", "192.0.2.1", 10)
		wait(DefaultGuard)
		expect("at the end", "NXDOMAIN", 0)
		send(zone)
		expect("back", "192.0.2.1", 0)
		f.unseen = nil
		send()
		expect("deleted", "NXDOMAIN", 0)
	})
}

// TestGuardReplacedRecord: a list lacks a Record. It is answered beside its namespace's others that were there before, and not beside a new
// one, which takes its name and type at once (rule 8.5).
func TestGuardReplacedRecord(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		send := func(records ...string) {
			c := f.cluster(nil)
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			z := c.Zones.Edit()
			all := []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}
			z.Set("ns/z", &api.Zone{Meta: api.Meta{Name: "ns/z", Cluster: "c"}, DomainName: "example.com.", Delegations: all})
			c.Zones = z.Map()
			e := c.Records.Edit()
			for _, text := range records { // name, domain, type and data
				w := strings.Fields(text)
				rec := &api.Record{Meta: api.Meta{Name: w[0], Cluster: "c"}, DomainName: w[1], Type: w[2], Class: "IN", RData: w[3]}
				if !strings.HasSuffix(w[1], ".") {
					rec.Parent = "ns/z"
				}
				e.Set(rec.Name, rec)
			}
			c.Records = e.Map()
			f.send(c)
		}
		send("ns/old a A 192.0.2.1", "ns/one b A 192.0.2.3", "ns/two b A 192.0.2.4", "ns/text d TXT t")
		r.expect("first", "a=192.0.2.1", "b=192.0.2.3")
		f.unseen = func(api.Ref) bool { return true }
		send("ns/new A.example.com. A 192.0.2.2", "ns/two b A 192.0.2.4", "ns/address d A 192.0.2.5")
		r.expect("a list", "a=192.0.2.2", "b=192.0.2.3", "d=192.0.2.5")
		if n := len(r.e.Snapshot().Zone("example.com.").Node("d.example.com.").Static); n != 2 {
			t.Errorf("%d types at d; the text is missing, and no other has come", n)
		}
		send("ns/new A.example.com. A 192.0.2.2", "ns/two b A 192.0.2.4", "ns/address d A 192.0.2.5", "ns/three b A 192.0.2.5")
		r.expect("another in place of the other one", "b=192.0.2.4")
	})
}

// guardedTest runs a test of an engine on one source in a bubble, also with structures compiled beside leaves.
func guardedTest(t *testing.T, test func(*fakeSource, *running)) {
	for _, aside := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			test(f, beginWith(t, "", nil, func(e *Engine, _ *settings) { beside(e, aside) }, f))
		})
	}
}
