package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// TestStateSaysNothing: of a cluster that is answered for from the state nothing is said to its
// writer before its source has listed all that was served; after a reload of what was listed,
// it is said on. What is to be kept waits for the clusters of the Corefile, and for those that
// Secrets name until their time is over.
func TestStateSaysNothing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		all := stateOfSecrets(t, dir)
		main := &fakeSource{name: "local", place: "api"}
		r, s := beginSecrets(t, dir, nil, main)
		check := func(when string, r *remembering, local, east, keeps bool) {
			t.Helper()
			snap := r.e.Snapshot()
			if got := r.e.SaysOf(snap, "local") != nil; got != local {
				t.Errorf("%s: something is said of local: %v", when, got)
			}
			if got := r.e.SaysOf(snap, "east") != nil; got != east {
				t.Errorf("%s: something is said of east: %v", when, got)
			}
			if got := r.e.keepsWith(r.e.Current()); got != keeps {
				t.Errorf("%s: what is to be kept is told: %v", when, got)
			}
		}
		check("from the state", r, false, false, false)
		main.show(hosts{"a": "192.0.2.2"}, api.KindDNSPolicy)
		check("listed in part", r, false, false, false)
		main.show(hosts{"a": "192.0.2.2"})
		s.show(all)
		check("the main cluster is listed", r, true, false, false)
		time.Sleep(clusterPatience + time.Second)
		synctest.Wait()
		check("the others are away", r, true, false, true)
		kept := &keeps{snap: r.e.Snapshot(), fromState: r.e.Current().FromState}
		for cluster, want := range map[string]bool{"local": true, "east": false} {
			if gone, known := kept.Gone("x.example.com.", api.Owner{Cluster: cluster, Kind: api.KindDNSPolicy, Name: "ns/x"}); gone != want || !known {
				t.Errorf("%s : owners that are not there are gone %v, known %v", cluster, gone, known)
			}
		}
		s.feed("east").show(hosts{"e": "192.0.2.12"})
		check("east is listed", r, true, true, true)
		again, _ := beginSecrets(t, dir, r, &fakeSource{name: "local", place: "api"})
		check("after a reload", again, true, true, true)
		time.Sleep(clusterPatience + time.Second)
		synctest.Wait()
		check("some time after a reload", again, true, true, true)
	})
	synctest.Test(t, func(t *testing.T) { // the same for two clusters of the Corefile
		dir := t.TempDir()
		c, d := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d", place: "api", uid: "d"}
		first := begin(t, dir, nil, c, d)
		c.show(hosts{"a": "192.0.2.1"})
		d.show(hosts{"b": "192.0.2.2"})
		first.e.Stop()
		c = &fakeSource{name: "c", place: "api"}
		r := beginWith(t, dir, nil, func(_ *Engine, s *settings) { s.feeds[1].extra = true }, c, &fakeSource{name: "d", place: "api", uid: "d"})
		c.show(hosts{"a": "192.0.2.1"})
		time.Sleep(time.Hour)
		if r.e.keepsWith(r.e.Current()) {
			t.Error("what is to be kept is told while a cluster of the Corefile comes from the state")
		}
	})
}

// TestGuardKeepsOwners: what is held back stays on record: who owns a name that nobody has
// reported as deleted loses it to nobody (rules 5.4 and 8.5).
func TestGuardKeepsOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api", unseen: func(api.Ref) bool { return true }}
		r := follow(t, nil, 60, f)
		all := make(hosts)
		for i := range 20 {
			all[fmt.Sprint("h", i)] = fmt.Sprintf("192.0.2.%d", 1+i)
		}
		f.show(all)
		f.show(hosts{"h0": "192.0.2.1"})
		kept := &keeps{snap: r.plugin.engine.Snapshot()}
		holdings := kept.Holdings()
		for name := range all {
			if got := holdings[name+".example.com."]; got.Name != "ns/"+name {
				t.Errorf("%s is on record as that of %+v", name, got)
			}
		}
		if !r.plugin.engine.guard.holds("c") {
			t.Error("nothing is held")
		}
	})
}

// onDisk returns a server that reads one cluster, with its source and the serials that are kept, all of which is in the
// state in dir.
func onDisk(t *testing.T, dir string) (r *remembering, f *fakeSource, stored api.Serials) {
	f = &fakeSource{name: "c", place: "api"}
	r = beginWith(t, dir, nil, keepsFirst, f)
	f.show(hosts{"a": "192.0.2.1"})
	r.e.keep(api.Serials{})
	synctest.Wait()
	stored = kept(r.e.Snapshot())
	r.e.keep(stored)
	time.Sleep(time.Minute) // and it is written to disk
	return r, f, stored
}

// TestStateKeepsSerials: a server that was killed and starts from its state shows what was kept,
// whether anybody answers that knows of it or not; nothing is raised (rule 6.7).
func TestStateKeepsSerials(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		expect := keepsFirst
		first, _, stored := onDisk(t, dir)
		serial := first.serial()
		for range 3 {
			f := &fakeSource{name: "c", place: "api"}
			killed := beginWith(t, dir, nil, expect, f) // the one before has not stopped
			time.Sleep(time.Minute)
			check := func(when string) {
				t.Helper()
				if got := killed.serial(); got != serial {
					t.Errorf("%s: serial %d, and %d is kept", when, got, serial)
				}
				if killed.e.Snapshot().Zones()[0].Shown() == nil {
					t.Errorf("%s: nothing is shown to secondaries", when)
				}
			}
			check("the API server is away")
			killed.e.TakeKept(controller.Kept{Generation: 1, Away: true})
			time.Sleep(time.Minute)
			check("it does not answer")
			f.show(hosts{"a": "192.0.2.1"})
			check("it lists the objects")
			killed.e.keep(stored)
			time.Sleep(time.Minute)
			check("it lists what is kept")
			if p := killed.e.Snapshot().Proposals(); len(p) != 1 || p[0].Kept != p[0].After {
				t.Errorf("something else is to be kept: %+v", p)
			}
		}
	})
}

// TestStateIsOlderThanWhatIsKept: the state on disk lacks the last serial that a server showed
// before it was killed. The next one does not begin with that of the state where somebody says
// what is kept; where nobody answers, it does so at once, and where nobody says anything, after
// a second (rule 6.7).
func TestStateIsOlderThanWhatIsKept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		expect := keepsFirst
		first, f, _ := onDisk(t, dir)
		onDisk := first.serial()
		file, err := os.ReadFile(filepath.Join(dir, statefile.Name))
		if err != nil {
			t.Fatal(err)
		}
		f.show(hosts{"a": "192.0.2.2"})
		stored := kept(first.e.Snapshot())
		first.e.keep(stored)
		synctest.Wait()
		last := first.serial()
		if int32(last-onDisk) <= 0 {
			t.Fatalf("serial %d after %d", last, onDisk)
		}
		for what, one := range map[string]struct {
			then   func(*Engine)
			serial uint32
		}{
			"it is said":           {func(e *Engine) { e.keep(stored) }, last},
			"nobody answers":       {(*Engine).keptUnanswered, onDisk},
			"nobody says anything": {func(*Engine) { time.Sleep(keptWait) }, onDisk},
			"nobody may say it":    {func(e *Engine) { e.TakeKept(controller.Kept{Generation: 1}) }, onDisk + unsaved + 1},
			"it is said too late":  {func(e *Engine) { time.Sleep(time.Hour); e.keep(stored) }, onDisk}, // until the objects are listed
		} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, statefile.Name), file, 0o600); err != nil {
				t.Fatal(err)
			}
			killed := beginWith(t, dir, nil, expect, &fakeSource{name: "c", place: "api"})
			synctest.Wait()
			if killed.e.Snapshot() != nil {
				t.Errorf("%s: there is a snapshot before", what)
			}
			one.then(killed.e)
			synctest.Wait()
			if got := killed.serial(); got != one.serial {
				t.Errorf("%s: serial %d, want %d; %d is on disk", what, got, one.serial, onDisk)
			}
		}
	})
}

// TestGuardAfterStateOfKilled: a server that was killed waits for what is kept before it answers. What the first
// lists lack meanwhile of the state on disk is held back as after any start (rule 8.5).
func TestGuardAfterStateOfKilled(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		expect := keepsFirst
		f := &fakeSource{name: "c", place: "api"}
		first := beginWith(t, dir, nil, expect, f)
		f.show(manyHosts())
		first.e.keep(api.Serials{})
		time.Sleep(time.Minute) // and it is written to disk
		file, err := os.ReadFile(filepath.Join(dir, statefile.Name))
		if err != nil {
			t.Fatal(err)
		}
		stored := kept(first.e.Snapshot())
		first.e.Stop()
		dir := t.TempDir() // as if it had been killed
		if err := os.WriteFile(filepath.Join(dir, statefile.Name), file, 0o600); err != nil {
			t.Fatal(err)
		}
		again := &fakeSource{name: "c", place: "api"}
		killed := beginWith(t, dir, nil, expect, again)
		again.show(hosts{"h1": "192.0.2.3"})
		if killed.e.Snapshot() != nil {
			t.Error("there is a snapshot before it is known what is kept")
		}
		killed.e.keep(stored)
		synctest.Wait()
		killed.expect("what the list lacks", "h1=192.0.2.3", "h2=192.0.2.2", "no=NXDOMAIN")
		killed.stale("all is listed", false)
		time.Sleep(heldTime + time.Second)
		synctest.Wait()
		killed.expect("the time has come", "h1=192.0.2.3", "h2=NXDOMAIN")
	})
}

// TestStateOfRefusedMaps: where the API server says that it may not be read what is kept, a server
// that was killed goes on with serials of its own, and none goes back (rule 6.7).
func TestStateOfRefusedMaps(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		expect := keepsFirst
		refuse := func(r *remembering) {
			r.e.TakeKept(controller.Kept{Generation: 1})
			synctest.Wait()
		}
		f := &fakeSource{name: "c", place: "api"}
		first := beginWith(t, dir, nil, expect, f)
		refuse(first)
		for i := range 200 {
			f.show(hosts{"a": fmt.Sprintf("192.0.2.%d", i)})
		}
		time.Sleep(time.Minute)
		f.show(hosts{"a": "192.0.2.250"}) // which is not on disk yet
		last := first.serial()
		f = &fakeSource{name: "c", place: "api"}
		killed := beginWith(t, dir, nil, expect, f)
		killed.e.TakeKept(controller.Kept{Generation: 1, Away: true})
		refuse(killed)
		f.show(hosts{"a": "192.0.2.251"})
		if got := killed.serial(); int32(got-last) <= 0 {
			t.Errorf("serial %d after %d", got, last)
		}
	})
}

// TestStateOfOtherPolicies: where policies are selected by other labels than those of the state,
// what the first list lacks of them is what the operator has asked for, and nothing is held.
func TestStateOfOtherPolicies(t *testing.T) {
	for then, want := range map[string]string{`namespaces=[] policies="a"`: "192.0.2.8", `namespaces=[] policies="b"`: "NXDOMAIN"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			f := &fakeSource{name: "c", place: "api"}
			first := beginWith(t, dir, nil, func(_ *Engine, s *settings) { s.selection = `namespaces=[] policies="a"` }, f)
			all := make(hosts)
			for i := range 20 {
				all[fmt.Sprint("h", i)] = fmt.Sprintf("192.0.2.%d", 1+i)
			}
			f.show(all)
			first.e.Stop()
			f = &fakeSource{name: "c", place: "api"}
			r := beginWith(t, dir, nil, func(_ *Engine, s *settings) { s.selection = then }, f)
			c := f.cluster(all)
			policies := c.Policies.Edit()
			for i := 2; i < 20; i++ {
				policies.Delete(fmt.Sprint("ns/h", i))
			}
			c.Policies = policies.Map()
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			f.send(c)
			r.expect("the first list, with "+then, "h0=192.0.2.1", "h7="+want)
		})
	}
}
