package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// patience is how long a test waits for a condition before it gives up. Tests go on as soon as it
// is true.
const patience = time.Minute

// recorder collects what a source publishes and logs, and checks the invariants of every published
// cluster.
type recorder struct {
	t *testing.T

	mu       sync.Mutex
	clusters []*api.Cluster
	lines    []string
	good     []string // the lines that are good news
	faults   []string
	woken    chan struct{}    // closed and replaced at each event
	inside   bool             // publish is running
	unseen   map[api.Ref]bool // objects gone without a report
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, woken: make(chan struct{})}
}

func (r *recorder) wake() {
	close(r.woken)
	r.woken = make(chan struct{})
}

func (r *recorder) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	r.wake()
}

func (r *recorder) infof(format string, args ...any) {
	r.mu.Lock()
	r.good = append(r.good, fmt.Sprintf(format, args...))
	r.mu.Unlock()
	r.logf(format, args...)
}

// goodNews waits for a line that contains the word, and checks that all such lines are good news.
func (r *recorder) goodNews(word string) {
	r.t.Helper()
	r.log(word)
	r.mu.Lock()
	defer r.mu.Unlock()
	all, good := 0, 0
	for _, line := range r.lines {
		if strings.Contains(line, word) {
			all++
		}
	}
	for _, line := range r.good {
		if strings.Contains(line, word) {
			good++
		}
	}
	if all != good {
		r.t.Errorf("%d of %d lines with %q are good news", good, all, word)
	}
}

func (r *recorder) publish(c *api.Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside {
		r.faults = append(r.faults, "publish was called while it was running")
	}
	r.inside = true
	last := &api.Cluster{}
	if n := len(r.clusters); n > 0 {
		last = r.clusters[n-1]
	}
	want := slices.Concat(differences(api.KindGateway, last.Gateways, c.Gateways),
		differences(api.KindDNSPolicy, last.Policies, c.Policies), differences(api.KindProbe, last.Probes, c.Probes),
		differences(api.KindZone, last.Zones, c.Zones), differences(api.KindRecord, last.Records, c.Records),
		differences(api.KindDNSRecord, last.DNSRecords, c.DNSRecords), differences(api.KindDNSEndpoint, last.DNSEndpoints, c.DNSEndpoints),
		differences(api.KindSecret, last.Secrets, c.Secrets))
	got := make(map[api.Ref]bool)
	for _, ref := range c.Changed {
		if got[ref] {
			r.faults = append(r.faults, fmt.Sprintf("%v stands twice in Changed", ref))
		}
		got[ref] = true
	}
	for _, ref := range want {
		if !got[ref] {
			r.faults = append(r.faults, fmt.Sprintf("%v is not in Changed", ref))
		}
		delete(got, ref)
	}
	for ref := range got {
		if !r.unseen[ref] { // its deletion may be reported now
			r.faults = append(r.faults, fmt.Sprintf("%v is in Changed and did not change", ref))
		}
	}
	r.noteUnseen(last, c)
	if len(r.clusters) > 0 && len(c.Changed) == 0 && last.Listings == c.Listings && last.UID == c.UID {
		r.faults = append(r.faults, "a cluster was published that says nothing new")
	}
	r.clusters = append(r.clusters, c)
	r.inside = false
	r.wake()
}

// noteUnseen checks the objects that c reports as gone unseen since last.
func (r *recorder) noteUnseen(last, c *api.Cluster) {
	for _, ref := range c.Changed {
		delete(r.unseen, ref)
	}
	if r.unseen == nil {
		r.unseen = make(map[api.Ref]bool)
	}
	for _, ref := range c.Inferred {
		if r.unseen[ref] || !last.Has(ref) || c.Has(ref) || !slices.Contains(c.Changed, ref) {
			r.faults = append(r.faults, fmt.Sprintf("%v is in Inferred, and was there: %v, is there: %v", ref, last.Has(ref), c.Has(ref)))
		}
		r.unseen[ref] = true
	}
}

// differences lists the objects whose pointers differ between the maps.
func differences[T any](kind api.Kind, before, after tree.Map[*T]) (refs []api.Ref) {
	for name, v := range before.All() {
		if now, _ := after.Get(name); now != v {
			refs = append(refs, api.Ref{Kind: kind, Name: name})
		}
	}
	for name := range after.All() {
		if _, ok := before.Get(name); !ok {
			refs = append(refs, api.Ref{Kind: kind, Name: name})
		}
	}
	return refs
}

// wait returns when cond is true. It checks cond after each event, with the recorder locked. what
// names it in messages.
func (r *recorder) wait(what string, cond func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := func() (ok bool, woken chan struct{}) {
		r.mu.Lock()
		defer r.mu.Unlock() // also if cond ends the test: its cleanups lock too
		return cond(), r.woken
	}
	for {
		ok, woken := look()
		if ok {
			return
		}
		select {
		case <-woken:
		case <-deadline.C:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("waited in vain for: %s\n%s", what, r.dump())
		}
	}
}

// report is dump for callers without the lock.
func (r *recorder) report() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dump()
}

// dump describes the recorder's state for a failed test.
func (r *recorder) dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "published: %d\n", len(r.clusters))
	if c := r.newest(); c != nil {
		fmt.Fprintf(&b, "newest: uid %q listings %v objects %v\n", c.UID, c.Listings, names(c))
	}
	b.WriteString(strings.Join(r.lines, "\n"))
	return b.String()
}

// latest is newest for callers without the lock.
func (r *recorder) latest() *api.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest()
}

func (r *recorder) newest() *api.Cluster {
	if len(r.clusters) == 0 {
		return nil
	}
	return r.clusters[len(r.clusters)-1]
}

// prefixes are the names of kinds in tests, sorted as the kinds are.
var prefixes = [api.NumKinds]string{
	api.KindGateway: "g ", api.KindDNSPolicy: "p ", api.KindProbe: "probe ", api.KindZone: "zone ", api.KindRecord: "record ",
	api.KindDNSRecord: "dnsrecord ", api.KindDNSEndpoint: "endpoint ", api.KindSecret: "secret ",
}

// names lists the objects of a cluster, sorted: "g ns/name" is a Gateway, and so on as in prefixes.
func names(c *api.Cluster) []string {
	list := []string{}
	for kind, prefix := range prefixes {
		for name := range c.Names(api.Kind(kind), "") {
			list = append(list, prefix+name)
		}
	}
	slices.Sort(list)
	return list
}

// allListed returns the listings of a cluster in which every kind is listed, except those in
// others.
func allListed(others map[api.Kind]api.Listing) (listings [api.NumKinds]api.Listing) {
	for k := range listings {
		listings[k] = api.Listed
	}
	for k, l := range others {
		listings[k] = l
	}
	return listings
}

// onlyListed returns the listings of a cluster that watches only one kind.
func onlyListed(kind api.Kind) (listings [api.NumKinds]api.Listing) {
	for k := range listings {
		listings[k] = api.NotWatched
	}
	listings[kind] = api.Listed
	return listings
}

// objects waits until the newest cluster holds exactly these objects.
func (r *recorder) objects(want ...string) *api.Cluster {
	r.t.Helper()
	if want == nil {
		want = []string{}
	}
	slices.Sort(want)
	var c *api.Cluster
	r.wait(fmt.Sprintf("objects %v", want), func() bool {
		c = r.newest()
		return c != nil && slices.Equal(names(c), want)
	})
	return c
}

// log waits for a line that contains all of the words.
func (r *recorder) log(words ...string) {
	r.t.Helper()
	r.wait(fmt.Sprintf("a log line with %q", words), func() bool { return r.matches(words) > 0 })
}

// matches counts the lines that contain all of the words. r is locked.
func (r *recorder) matches(words []string) (n int) {
	for _, line := range r.lines {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// logged counts the lines so far that contain all of the words.
func (r *recorder) logged(words ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.matches(words)
}

// published counts the clusters so far.
func (r *recorder) published() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.clusters)
}

// run starts a source, and stops it when the test ends, or earlier with stop.
func (r *recorder) run(s Source) (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, r.publish) }()
	stop = sync.OnceFunc(func() {
		r.t.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				r.t.Errorf("Run returned %v", err)
			}
		case <-time.After(patience):
			buf := make([]byte, 1<<20)
			r.t.Errorf("Run does not end:\n%s", buf[:runtime.Stack(buf, true)])
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, fault := range r.faults {
			r.t.Error(fault)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

// eventually polls cond until it is true, for conditions without an event.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !kubetest.Comes(cond) {
		buf := make([]byte, 1<<20)
		t.Fatalf("waited in vain for: %s\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}

func TestStats(t *testing.T) {
	var s Stats
	if !s.LastEvent().IsZero() || s.Synced() {
		t.Error("the zero Stats claims that something happened")
	}
	before := time.Now()
	s.event()
	s.synced.Store(true)
	if s.LastEvent().Before(before.Truncate(time.Microsecond)) || !s.Synced() {
		t.Errorf("LastEvent = %v, Synced = %v", s.LastEvent(), s.Synced())
	}
}

// TestClusterStore applies random edits. It checks that the store publishes what was put, that
// equal values keep their pointers, and (in the recorder) that Changed is exact.
func TestClusterStore(t *testing.T) {
	r := newRecorder(t)
	g := newClusterStore("c", api.Pools{})
	rnd := newRand(t)
	want := map[string]int64{}
	gone := map[string]bool{} // objects gone in the last publish: true if unreported
	name := func() string { return fmt.Sprintf("ns%d/n%d", rnd.IntN(3), rnd.IntN(20)) }
	value := func(name string, n int64) *api.Gateway {
		return &api.Gateway{Meta: api.Meta{Name: name, Generation: n}}
	}
	var last *api.Cluster
	for range 3000 {
		col := g.kinds[api.KindGateway]
		switch rnd.IntN(10) {
		case 0, 1, 2, 3:
			n := name()
			want[n] = rnd.Int64N(3)
			col.put(n, value(n, want[n]))
		case 4, 5:
			n := name()
			delete(want, n)
			gone[n] = false
			col.remove(n)
		case 6:
			prefix := fmt.Sprintf("ns%d/", rnd.IntN(3))
			for n := range want {
				if strings.HasPrefix(n, prefix) {
					delete(want, n)
					gone[n] = true
				}
			}
			fresh := map[string]any{}
			for range rnd.IntN(20) {
				n := prefix + fmt.Sprint("n", rnd.IntN(20))
				want[n] = rnd.Int64N(3)
				fresh[n] = value(n, want[n])
			}
			col.replace(prefix, fresh)
		default:
			if c := g.cluster(&api.Cluster{UID: "uid"}); c != nil {
				r.publish(c)
				for _, ref := range c.Changed {
					if _, is := want[ref.Name]; slices.Contains(c.Inferred, ref) != (!is && gone[ref.Name]) {
						t.Fatalf("%s: gone unseen: %v, inferred: %v", ref.Name, gone[ref.Name], c.Inferred)
					}
				}
				for n, inferred := range gone {
					if _, is := want[n]; !is && !inferred && r.unseen[api.Ref{Kind: api.KindGateway, Name: n}] {
						t.Fatalf("%s: its deletion was reported, and that is not passed on", n)
					}
				}
				last = c
			}
			got := map[string]int64{}
			for n, v := range last.Gateways.All() {
				got[n] = v.Generation
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			for n, v := range last.Gateways.All() {
				if same := col.same(n, value(n, v.Generation)); same != any(v) {
					t.Fatalf("an equal value of %s would not keep the pointer", n)
				}
			}
		}
		if col.len() != len(want) {
			t.Fatalf("len = %d, want %d", col.len(), len(want))
		}
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// newRand returns a source of random numbers, and logs its seed if the test fails.
func newRand(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}
