package kuadrant

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestRestartProperty restarts, kills and reloads servers that keep their state, in any order,
// with sources that are away, come back and are listed in part. A host that was answered, and
// exists, is answered over all of that, as long as there was time to write it down. Serials
// never go back, and without reloads one serial never means two contents.
func TestRestartProperty(t *testing.T) {
	kept := 0
	for seed := range uint64(100) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := &restarts{T: t, r: rand.New(rand.NewPCG(seed, 24)), dir: dir, answered: make(map[string]bool), hashes: make(map[uint32]string)}
			w.truth = map[string]hosts{"c": {}, "d": {}}
			w.start(nil)
			for _, f := range w.feeds {
				f.show(nil)
			}
			time.Sleep(time.Minute) // whoever has no state begins with the hour
			for range 30 {
				w.step(seed%3 == 0)
				kept += w.check(seed%3 != 0)
			}
			w.now.e.stop()
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(w.story, ", "))
			}
		})
		if t.Failed() {
			return
		}
	}
	if kept < 1000 {
		t.Errorf("only %d answers were there to be kept", kept)
	}
}

// restarts is a server that is started again and again, with the two clusters that it reads.
type restarts struct {
	*testing.T
	r        *rand.Rand
	dir      string
	truth    map[string]hosts // what exists, by cluster
	feeds    []*feed
	whole    map[*feed]bool // those of which everything has been listed
	now      *remembering
	serial   uint32
	hashes   map[uint32]string
	answered map[string]bool // the hosts that are to be answered for as long as they exist
	story    []string
}

func (w *restarts) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *restarts) start(before *remembering) {
	w.feeds, w.whole = []*feed{{name: "c", place: "c"}, {name: "d", place: "d"}}, make(map[*feed]bool)
	w.now = begin(w.T, w.dir, before, w.feeds...)
}

func (w *restarts) step(reloads bool) {
	switch n := w.r.IntN(10); {
	case n == 0:
		w.tell("stop")
		w.now.e.stop()
		w.start(nil)
	case n == 1:
		// It is killed: nothing of it is written any more.
		if w.r.IntN(2) == 0 {
			time.Sleep(time.Minute)
			w.tell("wait")
		} else {
			clear(w.answered)
		}
		w.tell("kill")
		w.now.e.heir.Store(&engine{keeper: &stateKeeper{dir: w.dir}})
		w.now.e.stop()
		w.start(nil)
	case n == 2 && reloads:
		w.tell("reload")
		before := w.now
		w.start(before)
		before.e.stop()
		w.now.e.ring()
		synctest.Wait()
	case n == 3:
		time.Sleep(time.Duration(w.r.IntN(20)) * time.Second)
	default:
		w.change(w.feeds[w.r.IntN(len(w.feeds))])
	}
}

// change adds, moves or removes a host of a cluster, and shows all of it or a part.
func (w *restarts) change(f *feed) {
	h := maps.Clone(w.truth[f.name])
	host := fmt.Sprintf("%s%d", f.name, w.r.IntN(4))
	if w.r.IntN(3) == 0 {
		delete(h, host)
	} else {
		h[host] = fmt.Sprintf("192.0.2.%d", 1+w.r.IntN(200))
	}
	w.truth[f.name] = h
	switch n := w.r.IntN(4); {
	case n == 0:
		w.tell("%s is %v", f.name, h)
	case n == 1 && !w.whole[f]:
		w.tell("%s shows Gateways of %v", f.name, h)
		f.show(h, api.KindDNSPolicy)
	default:
		w.tell("%s shows %v", f.name, h)
		f.show(h)
		w.whole[f] = true
	}
}

// check compares what is answered with what exists and with what was answered before.
func (w *restarts) check(alone bool) (kept int) {
	snap := w.now.e.snap.Load()
	if snap == nil {
		if len(w.answered) > 0 {
			w.Errorf("nothing is known, and %v were", w.answered)
		}
		return 0
	}
	zone := snap.Zones()[0]
	if int32(zone.Serial()-w.serial) < 0 {
		w.Errorf("serial %d after %d", zone.Serial(), w.serial)
	}
	w.serial = zone.Serial()
	if hash, ok := w.hashes[w.serial]; ok && hash != zone.Hash() && alone {
		w.Errorf("serial %d is of %s and of %s", w.serial, hash, zone.Hash())
	}
	w.hashes[w.serial] = zone.Hash()
	for cluster, h := range w.truth {
		for i := range 4 {
			host := fmt.Sprintf("%s%d", cluster, i)
			_, exists := h[host]
			got := w.now.answer(host)
			has := strings.HasPrefix(got, "192.")
			switch {
			case exists && has:
				if w.answered[host] {
					kept++
				}
				w.answered[host] = true
			case exists && w.answered[host]:
				w.Errorf("%s is lost: %s", host, got)
			default:
				delete(w.answered, host)
			}
		}
	}
	return kept
}
