package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
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

func joined(all ...hosts) hosts {
	h := make(hosts)
	for _, o := range all {
		maps.Copy(h, o)
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

// held is how many names of a zone the metrics say are held.
func (r *running) held(origin string) int {
	for _, z := range r.plugin.engine.Held() {
		if z.Origin == origin {
			return z.Names
		}
	}
	return 0
}

// wait lets time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// guarded runs a test of an engine on one source in a bubble.
func guardedTest(t *testing.T, test func(*fakeSource, *running)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		test(f, follow(t, nil, 60, f))
	})
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

// TestGuardLetsThrough: while names are held, additions, changes and reported deletions apply at once, what comes back
// is held no more, and what else a list lacks is counted with the rest.
func TestGuardLetsThrough(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		f.show(numbered("h", 0, 20))
		f.relist(numbered("h", 15, 20))
		wait(gatherTime)
		r.expectAll("held", numbered("h", 0, 20))

		h := joined(numbered("h", 15, 20), hosts{"new": "192.0.2.100", "h15": "192.0.2.115"})
		f.show(h)
		r.expectAll("an addition and a change", joined(numbered("h", 0, 20), h))
		delete(h, "h16")
		f.show(h)
		r.expect("a deletion that was reported", "h16=NXDOMAIN", "h17=192.0.2.18")
		h["h0"] = "192.0.2.200"
		f.show(h)
		r.expect("one that came back", "h0=192.0.2.200", "h1=192.0.2.2")
		delete(h, "h0")
		f.show(h)
		r.expect("and was deleted then", "h0=NXDOMAIN", "h1=192.0.2.2")
		c := *f.last
		c.Changed, c.Inferred = []api.Ref{{Kind: api.KindDNSPolicy, Name: "ns/h3"}}, nil
		f.publish(&c)
		synctest.Wait()
		r.expect("held, and reported now", "h3=NXDOMAIN", "h4=192.0.2.5")

		wait(2 * time.Minute)
		delete(h, "h17")
		f.relist(h)
		wait(gatherTime)
		r.expect("one more that a list lacks", "h17=192.0.2.18")
		if n := r.held("example.com."); n != 14 { // h1, h2, h4 to h14, and h17
			t.Errorf("%d names are held, want 14", n)
		}
		wait(3 * time.Minute)
		r.expect("after the first time", "h1=NXDOMAIN", "h17=192.0.2.18")
		wait(2 * time.Minute)
		r.expect("after the second", "h17=NXDOMAIN")
		r.expectAll("at the end", h)
	})
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
			if n := r.held("example.com."); n != 0 || r.plugin.engine.guard.holds("c") {
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

// TestGuardReportedAtOnce: any number of deletions that are reported apply at once, also where a list lacks something in the
// same step, which does not count them.
func TestGuardReportedAtOnce(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		f.show(numbered("h", 0, 40))
		f.unseen = func(ref api.Ref) bool { return ref.Name == "ns/h1" }
		f.show(numbered("h", 30, 40))
		f.unseen = nil
		r.expectNone("what is reported", joined(numbered("h", 0, 1), numbered("h", 2, 30)))
		r.expect("what is not", "h1=192.0.2.2")
		wait(gatherTime)
		r.expect("what is not, after 30 s", "h1=NXDOMAIN")
		f.show(nil)
		r.expectNone("the rest", numbered("h", 30, 40))
	})
}

// TestGuardZones: one zone that loses too much has all held that is missing of the source.
func TestGuardZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		zones := []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "sub.example.com.", TTL: 60, LoadBalancedTTL: 300}}
		r := followWith(t, nil, zones, f)
		sub := hosts{"a.sub": "192.0.2.201", "b.sub": "192.0.2.202"}
		f.show(joined(numbered("h", 0, 20), sub))
		f.relist(numbered("h", 19, 20))
		wait(gatherTime)
		r.expectAll("held", joined(numbered("h", 0, 20), sub))
		if held := r.plugin.engine.Held(); len(held) != 2 || held[0].Names != 19 || held[1].Names != 2 {
			t.Errorf("held are %+v", held)
		}
	})
}

// TestGuardKindGone: a kind that is not there any more takes no names with it at once, and no name is denied that is held.
func TestGuardKindGone(t *testing.T) {
	guardedTest(t, func(f *fakeSource, r *running) {
		all := numbered("h", 0, 20)
		f.show(all)
		c := f.cluster(all)
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		c.Share(api.KindDNSPolicy, new(api.Cluster))
		c.Listings[api.KindDNSPolicy] = api.NotInstalled
		f.unseen = func(api.Ref) bool { return true }
		f.send(c)
		wait(gatherTime)
		r.expectAll("without policies", all)
		f.show(all)
		if n := r.held("example.com."); n != 0 {
			t.Errorf("%d names are held after the policies came back", n)
		}
		wait(time.Hour)
		r.expectAll("an hour later", all)
	})
}

// reloaded is r after a reload to another feed.
func (r *running) reloaded(f *fakeSource, more func(*settings)) *running {
	s := &settings{opt: simpleOptions(30)}
	more(s)
	apply(r.t, r.plugin.engine, s, f)
	return r
}

// TestGuardAcrossReloads: what is held stays so after a reload, for as long as the new Corefile says since it is held.
func TestGuardAcrossReloads(t *testing.T) {
	for _, period := range []time.Duration{DefaultGuard, 2 * time.Hour, 2 * time.Minute, 0} {
		guardedTest(t, func(f *fakeSource, first *running) {
			all, gone := numbered("h", 0, 20), numbered("h", 0, 18)
			f.show(all)
			f.relist(numbered("h", 18, 20))
			wait(gatherTime + time.Minute)
			first.expectAll("held", all)
			again := &fakeSource{name: "c", place: "api"}
			second := first.reloaded(again, func(s *settings) { s.guard = &period })
			if period == 0 {
				second.expectNone("after a reload with guard 0", gone)
				again.show(numbered("h", 19, 20))
				second.expect("guard 0 holds nothing", "h18=NXDOMAIN")
				return
			}
			second.expectAll("after a reload", all)
			again.show(numbered("h", 18, 20))
			wait(period - time.Minute - time.Second)
			second.expectAll("just before the end", all)
			if n := second.held("example.com."); n != 18 {
				t.Errorf("%d names are held", n)
			}
			wait(time.Second)
			second.expectNone("at the end", gone)
			second.expectAll("at the end", numbered("h", 18, 20))
		})
	}
}

// TestGuardFirstList: a first list after a reload that lacks most of what was known counts as any other; what another source
// does not have, and what the Corefile leaves out, goes at once, and a line says how much.
func TestGuardFirstList(t *testing.T) {
	for _, c := range []struct {
		what, place string
		narrow      func(*settings)
		kept        bool
	}{
		{"the same source", "api", func(*settings) {}, true},
		{"another source", "elsewhere", func(*settings) {}, false},
		{"other namespaces", "api", func(s *settings) { s.selection = "other namespaces" }, false},
		{"other kinds", "api", func(s *settings) { s.reads.Kinds = []api.Kind{api.KindZone} }, false},
		{"other policies", "api", func(s *settings) { s.selection = "other policies" }, false},
		{"another zone", "api", func(s *settings) {
			s.opt = &records.Options{Zones: []records.ZoneOptions{{Origin: "h19.example.com.", TTL: 30, LoadBalancedTTL: 300}}}
		}, false},
	} {
		guardedTest(t, func(f *fakeSource, first *running) {
			all := numbered("h", 0, 20)
			f.show(all)
			again := &fakeSource{name: "c", place: c.place}
			said := noted(first.plugin.engine)
			second := first.reloaded(again, c.narrow)
			next := again.cluster(all)
			for k := range next.Listings {
				next.Listings[k] = api.Listed
			}
			next.Share(api.KindDNSPolicy, again.cluster(numbered("h", 19, 20)))
			again.send(next)
			if c.kept {
				if second.expectAll(c.what, all); len(said.log) > 0 {
					t.Errorf("said %q", said.log)
				}
				return
			}
			if c.what != "another zone" { // which answers for none of them
				second.expectNone(c.what, numbered("h", 0, 19))
			}
			gone := 19
			if c.what == "other kinds" { // which lists none
				gone = 20
			}
			want := fmt.Sprintf("warning: reload: the configuration takes away %d of 20 names of example.com.; they are not held. To have them back, undo the change and reload", gone)
			if !slices.Equal(said.log, []string{want}) {
				t.Errorf("%s: said %q, want %q", c.what, said.log, want)
			}
		})
	}
}

// TestGuardSays: one line of a source says what is held, until when and what to do; another one when that ends.
func TestGuardSays(t *testing.T) {
	for _, back := range []bool{true, false} {
		guardedTest(t, func(f *fakeSource, r *running) {
			said := noted(r.plugin.engine)
			all := numbered("h", 0, 20)
			f.show(all)
			f.relist(numbered("h", 9, 20))
			f.relist(numbered("h", 10, 20))
			wait(gatherTime)
			end := `warning: cluster "c": 30 objects did not come back in 5m0s; their names are withdrawn`
			if back {
				f.show(all)
				end = `info: cluster "c": nothing is held any more: the objects are back, were deleted, or are released by ` + "`guard 0`"
			} else {
				wait(DefaultGuard)
			}
			want := []string{`warning: cluster "c": 30 objects vanished without a report of their deletion; ` +
				"holding 10 of 20 names of example.com. until 00:05:30 UTC. Restore them, or release them with `guard 0` and a reload. Do not restart: holds are not kept without `state`", end}
			if !slices.Equal(said.log, want) {
				t.Errorf("said\n%s\nwant\n%s", strings.Join(said.log, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
