package kuadrant

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestRemotesProperty has Secrets and Corefiles name servers in any way, several of them the same one, while these are
// listed, in part or not at all, and the process is reloaded and restarted. A name of a server that is named, and has been
// listed as it is named, is never denied; what has been listed counts once; and when everything is listed in the end, the
// answers are those of the servers that are named, each is written to once, and nothing else is left.
func TestRemotesProperty(t *testing.T) {
	kept := 0
	for seed := range uint64(100) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := &remotesWorld{T: t, r: rand.New(rand.NewPCG(seed, 26)), dir: dir, secrets: make(map[string]*source.Remote), known: make(map[string]string)}
			w.start(false, false)
			for range 30 {
				w.step()
				if kept += w.check(); t.Failed() {
					t.Fatalf("seed %d: %s", seed, strings.Join(w.story, "; "))
				}
			}
			w.settle()
			w.now.e.stop()
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(w.story, "; "))
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

// remotesServers are the servers that may be named, with how many hosts each has: the guard looks at what goes with the first
// of them.
var remotesServers = map[string]int{"e": 8, "n": 2, "w": 4}

// remotesWorld is a process that reads clusters which Secrets and its Corefile name.
type remotesWorld struct {
	*testing.T
	r        *rand.Rand
	dir      string
	moved    bool                      // the Secrets are in the other one of two places
	corefile []*feed                   // what it names
	secrets  map[string]*source.Remote // what there is, by name
	missing  []*source.Remote          // what is published of Secrets that are not there
	told     bool                      // the Secrets have been published to the process
	now      *remembering
	publish  func([]*source.Remote)
	whole    map[*feed]bool // those that have been listed whole
	refused  map[*feed]int  // which kinds of the others cannot be listed
	// known is the server of each cluster that has been listed whole as it is named.
	known   map[string]string
	writers writings
	story   []string
}

func (w *remotesWorld) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *remotesWorld) some(all ...string) string { return all[w.r.IntN(len(all))] }

func (w *remotesWorld) server() string {
	return w.some(slices.Sorted(maps.Keys(remotesServers))...)
}

// hostsOf are those of a server.
func hostsOf(server string) hosts {
	h := make(hosts)
	for i := range remotesServers[server] {
		h[fmt.Sprintf("%s%d", server, i)] = fmt.Sprintf("192.0.2.%d", 10+i)
	}
	return h
}

// start begins a process, which takes over from the one before where reload is true; the Corefile is another one where changed is.
func (w *remotesWorld) start(reload, changed bool) {
	var others []string
	for _, f := range w.corefile {
		others = append(others, f.name+" "+f.place)
	}
	if changed {
		others = nil
		for _, name := range []string{"corp", "x"} {
			if w.r.IntN(3) == 0 {
				others = append(others, name+" https://"+w.server())
			}
		}
	}
	// What a Corefile's line has been read by, a Secret of its name goes on with over a reload alone, where it could be read.
	was, lines, told := w.claims(), w.corefile, w.told
	w.corefile, w.whole, w.told, w.refused = nil, make(map[*feed]bool), false, make(map[*feed]int)
	for _, one := range others {
		name, place, _ := strings.Cut(one, " ")
		w.corefile = append(w.corefile, &feed{name: name, place: place})
	}
	w.tell("reload %v with %q, moved %v", reload, others, w.moved)
	for name, server := range was {
		lined := func(f *feed) bool { return f.name == name }
		if w.claims()[name] != server || (!reload || !told || w.secrets[name] != nil && w.secrets[name].Fault != "") && slices.ContainsFunc(lines, lined) != slices.ContainsFunc(w.corefile, lined) {
			delete(w.known, name)
		}
	}
	before, main := w.now, &feed{name: "local", place: "api"}
	if !reload && before != nil {
		before.e.stop()
	}
	s := &secrets{t: w.T, feeds: make(map[string]*feed)}
	set := func(e *engine) {
		s.follow(e)
		e.remotes.place = fmt.Sprint("place ", w.moved)
		e.remotes.write = w.writers.make
	}
	if reload {
		w.now = beginWith(w.T, w.dir, before, set, append(w.corefile, main)...)
		before.e.stop()
		w.now.e.ring()
		synctest.Wait()
	} else {
		w.now = beginWith(w.T, w.dir, nil, set, append(w.corefile, main)...)
	}
	w.publish = s.publish
	main.show(hosts{"a": "192.0.2.1"})
}

// forget forgets clusters that the process which ends does not answer with; those that it has read are kept where also is true, be
// they known to be others under another name.
func (w *remotesWorld) forget(also bool) {
	there, running := w.now.clusterNames(), w.now.e.remotes.running
	maps.DeleteFunc(w.known, func(name, _ string) bool {
		return !slices.Contains(there, name) && !(also && running[name] != nil && running[name].heard)
	})
}

// claims are the servers that are named, by the names of the clusters.
func (w *remotesWorld) claims() map[string]string {
	all := make(map[string]string)
	for name, of := range w.secrets {
		if of.Config != nil {
			all[name] = strings.TrimPrefix(of.Config.Host, "https://")
		}
	}
	for _, f := range w.corefile {
		all[f.name] = strings.TrimPrefix(f.place, "https://")
	}
	return all
}

// tellSecrets publishes what the Secrets hold.
func (w *remotesWorld) tellSecrets() {
	all := append([]*source.Remote{}, w.missing...)
	for name, of := range w.secrets {
		if of.Fault != "" {
			of = faulty(name, of.Fault)
		}
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b *source.Remote) int { return strings.Compare(a.Name, b.Name) })
	w.missing, w.told = nil, true
	w.publish(all)
	synctest.Wait()
}

func (w *remotesWorld) step() {
	name := w.some("v", "x", "y", "z")
	of := w.secrets[name]
	switch n := w.r.IntN(20); {
	case n < 5:
		server := w.server()
		w.tell("%s names %s", name, server)
		if of == nil || of.Config == nil || of.Config.Host != "https://"+server {
			delete(w.known, name)
		}
		w.secrets[name] = secretOf(name, server)
		w.secrets[name].Config.BearerToken = w.some("", "new")
	case n == 5 && of != nil:
		w.tell("%s is faulty", name)
		bad := *of
		bad.Fault = "it is wrong"
		w.secrets[name] = &bad
	case n == 6 && of != nil:
		w.tell("%s is deleted", name)
		delete(w.secrets, name)
		delete(w.known, name)
	case n == 7 && of != nil:
		w.tell("%s is missing", name)
		delete(w.secrets, name)
		delete(w.known, name)
		w.missing = []*source.Remote{missing(name)}
	case n == 8:
		d := time.Duration(w.r.Int64N(int64(4 * time.Minute)))
		w.tell("%v pass", d)
		time.Sleep(d)
		synctest.Wait()
		return
	case n == 9:
		if w.r.IntN(4) == 0 {
			w.moved, w.told = !w.moved, false
		}
		w.forget(w.told)
		w.start(true, w.r.IntN(2) == 0)
		return
	case n == 10:
		w.forget(false)
		w.start(false, w.r.IntN(2) == 0)
		return
	default:
		all := w.feeds()
		if len(all) > 0 {
			w.show(all[w.r.IntN(len(all))], w.r.IntN(3) > 0)
		}
		return
	}
	if w.told || w.r.IntN(2) == 0 {
		w.tellSecrets()
	}
}

// feeds are those that are read.
func (w *remotesWorld) feeds() []*feed {
	all := slices.Clone(w.corefile)
	w.now.e.mu.Lock()
	defer w.now.e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(w.now.e.remotes.running)) {
		all = append(all, w.now.e.remotes.running[name].source.(*feed))
	}
	return all
}

// show lists a cluster whole or in part.
func (w *remotesWorld) show(f *feed, whole bool) {
	var forbidden []api.Kind
	if _, is := w.refused[f]; !is {
		w.refused[f] = w.r.IntN(4)
	}
	if whole = whole || w.whole[f]; !whole {
		// Each is refused other kinds, and the same every time: what has been listed is not forgotten.
		forbidden = [][]api.Kind{{api.KindDNSPolicy}, {api.KindGateway}, {api.KindZone}, everything()}[w.refused[f]]
	}
	w.tell("%s at %s shows all but %v", f.name, f.place, forbidden)
	if m := w.now.e.remotes.running[f.name]; m != nil && m.twin != "" && !whole {
		delete(w.known, f.name) // what it is asked for where the first goes is what it has listed last
	}
	w.whole[f] = whole
	f.show(hostsOf(strings.TrimPrefix(f.place, "https://")), forbidden...)
}

// check compares what is answered with what is known. It returns how many answers there were.
func (w *remotesWorld) check() (kept int) {
	e, claims := w.now.e, w.claims()
	listed := make(map[string]bool) // servers
	waiting := len(e.handover.left) > 0
	for _, f := range w.feeds() {
		server := strings.TrimPrefix(f.place, "https://")
		if m := e.remotes.running[f.name]; m != nil && m.twin != "" && w.known[m.twin] != server {
			continue // what the first of two lists in part is not answered with in full
		}
		if w.whole[f] && claims[f.name] == server && !waiting {
			w.known[f.name], listed[server] = server, true
		}
	}
	there := w.now.clusterNames()
	maps.DeleteFunc(w.known, func(name, server string) bool { // it has given way, and cannot be read
		of := w.secrets[name]
		return listed[server] && of != nil && of.Fault != "" && e.remotes.running[name] == nil && !slices.Contains(there, name)
	})
	for name, server := range w.known {
		for host, address := range hostsOf(server) {
			got := w.now.answer(host)
			if got == "NXDOMAIN" || listed[server] && got != address {
				w.Errorf("%s of server %s, which is known as %s, is answered with %s", host, server, name, got)
			}
			kept++
		}
	}
	for host, n := range w.writers.here {
		if n > 1 {
			w.Errorf("%d write to %s", n, host)
		}
	}
	once := make(map[string]string)
	for _, c := range e.snap.Load().Objects().Clusters {
		server := strings.TrimPrefix(c.UID, "https://")
		if e.reserved(c.Name) && e.reserved(once[server]) || !listed[server] {
			continue
		}
		if other := once[server]; other != "" {
			w.Errorf("server %s is answered with as %s and as %s", server, other, c.Name)
		}
		once[server] = c.Name
	}
	return kept
}

// settle has everything be listed, and compares what is left with what is named.
func (w *remotesWorld) settle() {
	for _, of := range w.secrets {
		of.Fault = ""
	}
	maps.DeleteFunc(w.secrets, func(_ string, of *source.Remote) bool { return of.Config == nil })
	w.tell("settle")
	w.tellSecrets()
	for range 2 { // some are read anew for what others are
		for _, f := range w.feeds() {
			w.show(f, true)
		}
	}
	w.check()
	time.Sleep(2 * defaultGuard)
	synctest.Wait()
	w.check()
	e, claims := w.now.e, w.claims()
	named, want := make(map[string]bool), make(map[string]int)
	for name, server := range claims {
		named[server] = true
		if !e.reserved(name) {
			want["https://"+server] = 1
		}
	}
	for _, f := range w.corefile {
		delete(want, f.place)
	}
	if !maps.Equal(w.writers.here, want) {
		w.Errorf("writing are %v at the end, want %v", w.writers.here, want)
	}
	for server := range remotesServers {
		for host, address := range hostsOf(server) {
			if !named[server] {
				address = "NXDOMAIN"
			}
			w.now.expect("at the end", host+"="+address)
		}
	}
	r := &e.remotes
	if len(r.recalled)+len(r.lost) > 0 {
		w.Errorf("recalled are %v at the end, lost are %v", r.recalled, r.lost)
	}
	if there := w.now.clusterNames(); !slices.Equal(there, slices.Sorted(maps.Keys(e.origins))) {
		w.Errorf("there are %v, which come from %v", there, e.origins)
	}
}
