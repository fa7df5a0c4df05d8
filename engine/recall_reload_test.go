package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReloadOfState: what is served from the state goes on to be after a reload, and says so;
// what was listed does not.
func TestReloadOfState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := begin(t, dir, nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		second := begin(t, dir, first, &fakeSource{name: "c", place: "api"})
		second.stale("after a reload", false)
		second.e.Stop()

		third := begin(t, dir, nil, &fakeSource{name: "c", place: "api"})
		third.stale("from the state", true)
		last := &fakeSource{name: "c", place: "api"}
		fourth := begin(t, dir, third, last)
		fourth.expect("reloaded with the source away", "a=192.0.2.1", "no=NXDOMAIN")
		fourth.stale("reloaded with the source away", true)
		last.show(hosts{"a": "192.0.2.2"})
		fourth.stale("listed before the old one has ended", false)
		time.Sleep(time.Minute)
		serial := fourth.serial()
		fourth.e.Stop()
		fifth := begin(t, dir, nil, &fakeSource{name: "c", place: "api"})
		fifth.expect("what the new one has listed", "a=192.0.2.2")
		if fifth.serial() != serial {
			t.Errorf("serial %d, want %d", fifth.serial(), serial)
		}
	})
}

// TestReloadFindsState: a reload that brings the property takes serials of the file as they
// are, and its objects only where nothing was known.
func TestReloadFindsState(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		first := beginWith(t, dir, nil, func(_ *Engine, s *settings) {
			s.opt.Published = map[string]api.Kept{"example.com.": {Serial: 2099010100}}
		}, f)
		f.show(hosts{"a": "192.0.2.1"})
		first.e.Stop()
		f = &fakeSource{name: "c", place: "api"}
		second := begin(t, "", nil, f)
		third := begin(t, dir, second, &fakeSource{name: "c", place: "api"})
		third.expect("nothing was known", "a=192.0.2.1")
		f = &fakeSource{name: "c", place: "api"}
		fourth := begin(t, "", nil, f)
		f.show(hosts{"a": "192.0.2.2"})
		fifth := begin(t, dir, fourth, &fakeSource{name: "c", place: "api"})
		fifth.expect("more was known", "a=192.0.2.2")
		fifth.stale("more was known", false)
		if s := fifth.serial(); s <= 2099020101 {
			t.Errorf("serial %d", s)
		}
	})
}
