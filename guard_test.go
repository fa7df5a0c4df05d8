package kuadrant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// someSelector is a selector as `policies` takes it.
var someSelector = labels.SelectorFromSet(labels.Set{"env": "prod"})

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

// reguarded is r after a reload to another source, with another guard.
func (r *running) reguarded(set func(*guard), f *fakeSource) *running {
	s := &settings{opt: simpleOptions(30), guard: set}
	g := new(guard)
	if set(g); g.selection.Policies != nil {
		s.selection = policiesText + "other"
	}
	apply(r.t, r.plugin.engine, s, f)
	return r
}

// held is how many names of a zone the metrics say are held back.
func (r *running) held(origin string) int {
	return r.plugin.engine.guard.shown.Load().zoneNamed(origin).names
}

// TestGuardLimits: what a new list lacks goes at once up to the limit, and is held back above
// it (rule 8.5).
func TestGuardLimits(t *testing.T) {
	for _, c := range []struct {
		names, gone int
		held        bool
	}{
		{20, 6, false}, {20, 7, true}, {20, 20, true}, {9, 9, false}, {10, 3, false}, {10, 4, true}, {1, 1, false}, {0, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			r := follow(t, nil, 60, f)
			all, gone := numbered("h", 0, c.names), numbered("h", 0, c.gone)
			f.show(all)
			f.relist(numbered("h", c.gone, c.names))
			when := fmt.Sprintf("%d of %d", c.gone, c.names)
			r.expectAll(when, numbered("h", c.gone, c.names))
			if !c.held {
				r.expectNone(when, gone)
				return
			}
			r.expectAll(when, all)
			r.expect(when, "no=NXDOMAIN")
			if n := r.held("example.com."); n != c.gone {
				t.Errorf("%s: %d names are held", when, n)
			}
			time.Sleep(defaultGuard - time.Nanosecond)
			synctest.Wait()
			r.expectAll(when+", just before the end", all)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			r.expectNone(when+", at the end", gone)
			r.expectAll(when+", at the end", numbered("h", c.gone, c.names))
			if n := r.held("example.com."); n != 0 {
				t.Errorf("%s: %d names are held at the end", when, n)
			}
		})
	}
}

// TestGuardLetsThrough: while names are held back, additions, changes and reported deletions
// apply at once, what comes back is held no more, and what else a list lacks is held with the
// rest.
func TestGuardLetsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
		f.show(numbered("h", 0, 20))
		f.relist(numbered("h", 15, 20))
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
		if n := r.held("example.com."); n != 14 {
			t.Errorf("%d names are held, want 14", n)
		}
		delete(h, "h0")
		f.show(h)
		r.expect("and was deleted then", "h0=NXDOMAIN", "h1=192.0.2.2")

		time.Sleep(2 * time.Minute)
		delete(h, "h17")
		f.relist(h)
		r.expect("one more that a list lacks", "h17=192.0.2.18")
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		r.expect("after the first time", "h1=NXDOMAIN", "h17=192.0.2.18")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.expect("after the second", "h17=NXDOMAIN")
		r.expectAll("at the end", h)
	})
}

// TestGuardCameAndWent: an object that is held, comes back and is deleted before anybody looks
// is deleted.
func TestGuardCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
		f.show(numbered("h", 0, 20))
		f.relist(nil)
		r.expectAll("held", numbered("h", 0, 20))
		held := func() bool {
			shown := r.plugin.engine.guard.shown.Load()
			return shown != nil && !shown.objects["c"][refOf(api.KindDNSPolicy, "h3")].IsZero()
		}
		if !held() {
			t.Error("a held object is not known as such")
		}
		c := *f.last
		c.Changed, c.Inferred = []api.Ref{{Kind: api.KindDNSPolicy, Name: "ns/h3"}}, nil
		f.publish(&c)
		synctest.Wait()
		r.expect("reported", "h3=NXDOMAIN", "h4=192.0.2.5")
		if held() {
			t.Error("a deleted object is known as held")
		}
	})
}

// TestGuardCounts: lists that come within a minute count together, as those of several kinds or
// namespaces do; reported deletions count for nothing.
func TestGuardCounts(t *testing.T) {
	for _, c := range []struct {
		pause    time.Duration
		reported bool
		held     bool
	}{{time.Second, false, true}, {2 * time.Minute, false, false}, {time.Second, true, false}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			r := follow(t, nil, 60, f)
			f.show(numbered("h", 0, 20))
			if c.reported {
				f.show(numbered("h", 5, 20))
			} else {
				f.relist(numbered("h", 5, 20))
			}
			r.expectNone("the first five", numbered("h", 0, 5))
			time.Sleep(c.pause)
			f.relist(numbered("h", 9, 20))
			if c.held {
				r.expectAll(fmt.Sprint("four more after ", c.pause), numbered("h", 5, 20))
			} else {
				r.expectNone(fmt.Sprint("four more after ", c.pause), numbered("h", 5, 9))
			}
		})
	}
}

// TestGuardReportedAtOnce: any number of deletions that are reported apply at once, also where a
// list lacks something in the same step.
func TestGuardReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
		f.show(numbered("h", 0, 40))
		f.unseen = func(ref api.Ref) bool { return ref.Name == "ns/h1" }
		f.show(numbered("h", 30, 40))
		f.unseen = nil
		r.expectNone("all of it", numbered("h", 0, 30))
		f.show(nil)
		r.expectNone("the rest", numbered("h", 30, 40))
	})
}

// TestGuardZones: only what concerns a zone that loses too much is held back.
func TestGuardZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		zones := []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "sub.example.com.", TTL: 60, LoadBalancedTTL: 300}}
		r := followWith(t, nil, zones, f)
		sub := hosts{"a.sub": "192.0.2.201", "b.sub": "192.0.2.202"}
		f.show(joined(numbered("h", 0, 20), sub))
		f.relist(numbered("h", 19, 20))
		r.expectAll("the zone above", numbered("h", 0, 20))
		r.expectNone("the small one", sub)
		if n := r.held("sub.example.com."); n != 0 {
			t.Errorf("%d names of the small one are held", n)
		}
		checkHeldSeries(t, r, map[string]float64{"held_removals{example.com.}": 19, "held_removals{sub.example.com.}": 0})
	})
}

func checkHeldSeries(t *testing.T, r *running, want map[string]float64) {
	t.Helper()
	got := scraped(t, r.plugin.engine)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, "held_") })
	checkSeries(t, "held", got, want)
}

// TestGuardKindGone: a kind that is not there any more takes no names with it at once, and no
// name is denied that is held.
func TestGuardKindGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := follow(t, nil, 60, f)
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
		r.expectAll("without policies", all)
		f.show(all)
		if n := r.held("example.com."); n != 0 {
			t.Errorf("%d names are held after the policies came back", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		r.expectAll("an hour later", all)
	})
}

// TestGuardAcrossReloads: what is held stays so after a reload, and ends when it was to; a reload
// with `guard 0` ends it.
func TestGuardAcrossReloads(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			first := follow(t, nil, 60, f)
			all := numbered("h", 0, 20)
			f.show(all)
			f.relist(numbered("h", 18, 20))
			first.expectAll("held", all)
			time.Sleep(time.Minute)

			g := &fakeSource{name: "c", place: "api"}
			second := first.reguarded(func(g *guard) {
				if off {
					g.holdFor(0)
				}
			}, g)
			if off {
				second.expectNone("after a reload with guard 0", numbered("h", 0, 18))
				g.show(numbered("h", 18, 20))
				second.expectNone("listed", numbered("h", 0, 18))
				return
			}
			second.expectAll("after a reload", all)
			g.show(numbered("h", 18, 20))
			second.expectAll("listed", all)
			if n := second.held("example.com."); n != 18 {
				t.Errorf("%d names are held", n)
			}
			time.Sleep(4*time.Minute - time.Second)
			synctest.Wait()
			second.expectAll("just before the end", all)
			time.Sleep(time.Second)
			synctest.Wait()
			second.expectNone("at the end", numbered("h", 0, 18))
			second.expectAll("at the end", numbered("h", 18, 20))
		})
	}
}

// TestGuardLonger: a reload with another time for the guard changes when what is held ends.
func TestGuardLonger(t *testing.T) {
	for _, period := range []time.Duration{2 * time.Hour, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			first := follow(t, nil, 60, f)
			all := numbered("h", 0, 20)
			f.show(all)
			f.relist(nil)
			time.Sleep(time.Minute)
			second := first.reguarded(func(g *guard) { g.holdFor(period) }, &fakeSource{name: "c", place: "api"})
			time.Sleep(period - time.Minute - time.Second)
			synctest.Wait()
			second.expectAll("just before the end", all)
			time.Sleep(time.Second)
			synctest.Wait()
			second.expectNone("at the end", all)
		})
	}
}

// TestGuardFirstList: a first list after a reload that lacks most of what was known is held
// back as any other; what another source at that place does not have goes at once, and so does
// what the Corefile leaves out.
func TestGuardFirstList(t *testing.T) {
	for _, c := range []struct {
		what, place string
		narrow      func(*guard)
		held        bool
	}{
		{"the same source", "api", func(*guard) {}, true},
		{"another source", "elsewhere", func(*guard) {}, false},
		{"other namespaces", "api", func(g *guard) { g.selection.Namespaces = []string{"other"} }, false},
		{"other kinds", "api", func(g *guard) { g.selection.Kinds = []api.Kind{api.KindZone} }, false},
		{"other policies", "api", func(g *guard) { g.selection.Policies = someSelector }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			first := follow(t, nil, 60, f)
			all := numbered("h", 0, 20)
			f.show(all)
			g := &fakeSource{name: "c", place: c.place}
			second := first.reguarded(c.narrow, g)
			second.expectAll(c.what+", before the list", all)
			if c.what == "other policies" { // the Gateways are read as ever
				n := g.cluster(all)
				for k := range n.Listings {
					n.Listings[k] = api.Listed
				}
				n.Share(api.KindDNSPolicy, new(api.Cluster))
				g.send(n)
			} else {
				g.show(numbered("h", 19, 20))
			}
			if c.held {
				second.expectAll(c.what, all)
				return
			}
			second.expectNone(c.what, numbered("h", 0, 19))
		})
	}
}

// TestGuardSays: one line for a zone says what is held back, until when and what to do; another
// one when that ends.
func TestGuardSays(t *testing.T) {
	for _, back := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var lines []string
			f := &fakeSource{name: "c", place: "api"}
			r := follow(t, nil, 60, f)
			note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
			r.plugin.engine.guard.warnf, r.plugin.engine.guard.infof = note, note
			all := numbered("h", 0, 20)
			f.show(all)
			f.relist(numbered("h", 9, 20))
			f.relist(numbered("h", 10, 20))
			if back {
				f.show(all)
			} else {
				time.Sleep(defaultGuard)
				synctest.Wait()
			}
			want := []string{"Zone example.com.: 9 of 20 names are held back until 00:05:00 UTC: what they come from has gone without a report of its deletion " +
				"(Gateway ns/h0 of cluster \"c\", Gateway ns/h1 of cluster \"c\", Gateway ns/h2 of cluster \"c\", 15 more). " +
				"Bring the objects back, and restart no server until then: a new one holds nothing back. `guard 0` and a reload let the names go at once"}
			if back {
				want = append(want, "Zone example.com.: nothing is held back any more: the objects are back, or their deletion was reported")
			} else {
				want = append(want, "Zone example.com.: nothing is held back any more: 20 objects have not come back, and what came from them is removed")
			}
			if !slices.Equal(lines, want) {
				t.Errorf("said\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
