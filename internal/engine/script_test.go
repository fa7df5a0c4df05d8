package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
)

// TestScripts plays the scripts in testdata, a server's life with its sources each. testdata/README.md has their words.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for i, part := range strings.Split(strings.ReplaceAll(string(text), "\n== ", "\n==\n# "), "\n==\n") {
				for _, text := range variants(part) {
					for _, aside := range []bool{false, true} {
						dir := t.TempDir()
						synctest.Test(t, func(t *testing.T) {
							w := &world{running: &running{t: t}, dir: dir, part: fmt.Sprintf("%s, part %d, aside %v", file, i+1, aside), aside: aside}
							w.play(text)
						})
					}
				}
			}
		})
	}
}

// variants returns a part with each of the values of its line "each", such as "each X: one two" or "each X,Y: one,1 two,2", in the place
// of X and Y.
func variants(part string) (all []string) {
	head, rest, ok := strings.Cut(part, "\neach ")
	if !ok {
		return []string{part}
	}
	line, rest, _ := strings.Cut(rest, "\n")
	name, values, _ := strings.Cut(line, ":")
	for _, value := range strings.Fields(values) {
		text, into := head+"\n"+rest, strings.Split(value, ",")
		for i, name := range strings.Split(name, ",") {
			text = strings.ReplaceAll(text, name, into[i])
		}
		all = append(all, text)
	}
	return all
}

// world is a server with its sources. running is nil before the first start. With aside, structures are compiled beside leaves.
type world struct {
	*running
	aside           bool
	dir, part, line string
	chain           string                 // that was looked at first
	sources         map[string]*fakeSource // of the Corefile
	secrets         *fakeSecrets
	stored          api.Serials // what a writer has kept
	last            uint32      // the serial that was looked at last
	file            []byte      // the objects on disk that were saved
}

func (w *world) play(text string) {
	for line := range strings.Lines(text) {
		w.line = strings.TrimSpace(line)
		words := strings.Fields(w.line)
		if len(words) == 0 || strings.HasPrefix(w.line, "#") {
			continue
		}
		name, isSource := strings.CutSuffix(words[0], ":")
		do := commands[words[0]]
		if isSource && name != "secrets" {
			do = func(w *world, words []string) { w.show(name, words) }
		}
		if do == nil {
			w.t.Fatalf("%s: unknown word in %q", w.part, w.line)
		}
		do(w, words[1:])
	}
}

// check fails the test where something is not as the line has it.
func (w *world) check(got, want any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: %s: is %v, want %v", w.part, w.line, got, want)
	}
}

var commands map[string]func(*world, []string)

func init() {
	yes := func(words []string) bool { return words[0] == "yes" }
	commands = map[string]func(*world, []string){
		"start":    func(w *world, words []string) { w.begin(nil, words) },
		"reload":   func(w *world, words []string) { w.begin(w.running, words) },
		"stop":     func(w *world, _ []string) { w.e.Stop() },
		"secrets:": (*world).showSecrets,
		"wait": func(w *world, words []string) {
			d, err := time.ParseDuration(words[0])
			if err != nil {
				w.t.Fatal(err)
			}
			wait(d)
		},
		"expect": func(w *world, words []string) {
			for _, word := range words {
				name, want, _ := strings.Cut(word, "=")
				if got := w.answer(name); got != address(want) {
					w.t.Errorf("%s: %s: %s is answered with %s", w.part, w.line, name, got)
				}
			}
		},
		"pool": func(w *world, words []string) {
			all := strings.Fields(allA(w.reply(words[0])))
			slices.Sort(all)
			for i, word := range words {
				words[i] = address(word)
			}
			w.check(all, words[1:])
		},
		"ready": func(w *world, words []string) { w.check(w.e.Ready(), yes(words)) },
		"clusters": func(w *world, words []string) {
			var names []string
			for _, c := range w.e.Snapshot().Objects().Clusters {
				names = append(names, c.Name)
				for _, ref := range everyRef(c) {
					if m := c.MetaOf(ref); m.Cluster != c.Name {
						w.t.Errorf("%s: %s: %v of cluster %q says that it is of %q", w.part, w.line, ref, c.Name, m.Cluster)
					}
				}
			}
			w.check(names, words)
		},
		"known": func(w *world, words []string) { w.check(len(w.e.known), words[0]) },
		"not": func(w *world, words []string) {
			name, answer, _ := strings.Cut(words[0], "=")
			w.check(w.answer(name) == answer, false)
		},
		"chain": func(w *world, words []string) {
			chain := fmt.Sprint(w.reply(words[0]).Answer)
			if w.chain == "" {
				w.chain = chain
			}
			w.check(chain, w.chain)
		},
		"objects": func(w *world, words []string) {
			all := w.e.Snapshot().Objects().Clusters
			k, _ := api.ParseKind(words[1])
			w.check(all[slices.IndexFunc(all, func(c *api.Cluster) bool { return c.Name == words[0] })].Count(k), words[2])
		},
		"from-state": func(w *world, words []string) {
			w.check(w.e.Current().FromState, words)
			w.check(w.e.Current().Stale(), len(words) > 0)
		},
		"said":   func(w *world, _ []string) { w.check(w.said(w.text()), 1) },
		"unsaid": func(w *world, _ []string) { w.check(w.said(w.text()), 0) },
		"problem": func(w *world, words []string) {
			w.e.mu.Lock()
			got, want := w.e.problems["cluster Secret dns/"+words[0]], strings.Join(words[1:], " ")
			w.e.mu.Unlock()
			if !strings.Contains(got, want) || want == "" && got != "" {
				w.check(got, want)
			}
		},
		"held": func(w *world, words []string) { w.check(w.held(append(words, "example.com.")[1]), words[0]) },
		"uid": func(w *world, words []string) {
			w.check(w.e.Snapshot().Objects().Clusters[0].UID, words[0])
		},
		"serial": (*world).checkSerial,
		"store":  func(w *world, _ []string) { w.stored = w.proposed() },
		"save": func(w *world, _ []string) {
			var err error
			if w.file, err = os.ReadFile(filepath.Join(w.dir, statefile.Name)); err != nil {
				w.t.Fatal(err)
			}
		},
		"lines": func(w *world, words []string) { w.check(w.said(""), words[0]) },
		"on-record": func(w *world, words []string) {
			all := (&toRegister{snap: w.e.Snapshot()}).Owners()
			for _, word := range words {
				key, o := owner(strings.Replace(word, "=", "=c/", 1))
				w.check(all[key].Name, o.Name)
			}
		},
		"kept": (*world).keepThat,
		"shown": func(w *world, words []string) {
			w.check(w.e.Snapshot().Zones()[0].PublishedVersion() != nil, yes(words))
		},
		"settled": func(w *world, _ []string) {
			p := w.e.Snapshot().Proposals()
			w.check(len(p) == 1 && p[0].Kept == p[0].After, true)
		},
		"says": func(w *world, words []string) {
			var names []string
			for _, c := range w.e.Snapshot().Objects().Clusters {
				if w.e.SaysOf(w.e.Snapshot(), c.Name) != nil {
					names = append(names, c.Name)
				}
			}
			w.check(names, words)
		},
		"keeps": func(w *world, words []string) { w.check(w.e.keepsWith(w.e.Current()), yes(words)) },
		"gone": func(w *world, words []string) {
			key, o := owner(words[0])
			gone, _ := w.e.toRegister(w.e.Current()).Gone(key, o)
			w.check(gone, yes(words[1:]))
		},
	}
}

// everyRef returns the objects of a cluster.
func everyRef(c *api.Cluster) (all []api.Ref) {
	for _, k := range everything() {
		for name := range c.Names(k, "") {
			all = append(all, api.Ref{Kind: k, Name: name})
		}
	}
	return all
}

// text returns what follows the first word of the line.
func (w *world) text() string {
	_, text, _ := strings.Cut(w.line, " ")
	return strings.ReplaceAll(text, "DIR", w.dir)
}

// address returns an address, of which ".1" is a short form.
func address(text string) string {
	if strings.HasPrefix(text, ".") {
		return "192.0.2" + text
	}
	return text
}

// owner reads a host and its owner, such as "a=cluster/namespace/name".
func owner(word string) (key string, o api.Owner) {
	host, of, _ := strings.Cut(word, "=")
	cluster, name, _ := strings.Cut(of, "/")
	return host + ".example.com.", api.Owner{Cluster: cluster, Kind: api.KindDNSPolicy, Name: name}
}

// begin starts a server, or reloads that of before.
func (w *world) begin(before *running, words []string) {
	var feeds []*fakeSource
	var sets []func(*settings)
	sources, secrets, dir := make(map[string]*fakeSource), w.secrets, ""
	for _, word := range words {
		flag, value, valued := strings.Cut(word, "=")
		set := func(*settings) {}
		switch name, place, isFeed := strings.Cut(word, "@"); {
		case isFeed:
			f := &fakeSource{name: name}
			place, extra := strings.CutSuffix(place, "+extra")
			f.place, f.uid, _ = strings.Cut(place, "#")
			if i := len(feeds); extra {
				set = func(s *settings) { s.feeds[i].extra = true }
			}
			feeds, sources[name] = append(feeds, f), f
		case flag == "": // the same source, which goes on
			feeds, sources[value] = append(feeds, w.sources[value]), w.sources[value]
		case flag == "state":
			if value == "saved" {
				if err := os.WriteFile(filepath.Join(w.dir, statefile.Name), w.file, 0o600); err != nil {
					w.t.Fatal(err)
				}
			}
			dir = w.dir
		case flag == "secrets":
			if value != "same" {
				secrets = &fakeSecrets{t: w.t, feeds: make(map[string]*fakeSource)}
			}
			set = func(s *settings) {
				if s.secrets = secrets.config(); value == "moved" {
					s.secrets.place = value
				}
			}
		case flag == "keeps":
			set = func(s *settings) { s.feeds[0].writesRegistry = true }
		case flag == "ttl":
			ttl, _ := strconv.Atoi(value)
			set = func(s *settings) { s.opt = simpleOptions(uint32(ttl)) }
		case flag == "zones":
			set = func(s *settings) { s.opt = simpleOptions(60, strings.Split(value, ",")...) }
		case flag == "published":
			n, _ := strconv.ParseUint(value, 10, 32)
			set = func(s *settings) { s.opt.Published = map[string]api.Kept{"example.com.": {Serial: uint32(n)}} }
		case flag == "guard":
			d, _ := time.ParseDuration(value)
			set = func(s *settings) { s.guard = &d }
		case flag == "selection":
			set = func(s *settings) { s.selection = value }
		case flag == "without":
			k, _ := api.ParseKind(value)
			set = func(s *settings) {
				s.reads.Kinds = slices.DeleteFunc(everything(), func(o api.Kind) bool { return o == k })
			}
		default:
			w.t.Fatalf("%s: %s: unknown %q, valued %v", w.part, w.line, word, valued)
		}
		sets = append(sets, set)
	}
	w.sources, w.secrets = sources, secrets
	if before == nil && w.e != nil {
		w.e.cancel() // if it was not stopped, it is killed, and writes no more
		synctest.Wait()
	}
	w.running = beginWith(w.t, dir, before, func(e *Engine, s *settings) {
		beside(e, w.aside)
		for _, set := range sets {
			set(s)
		}
	}, feeds...)
}

// source returns the newest source of a name; that before with a prime behind the name.
func (w *world) source(name string) *fakeSource {
	if f := w.sources[name]; f != nil {
		return f
	}
	if w.secrets != nil && w.secrets.feed(name) != nil {
		return w.secrets.feed(name)
	}
	w.t.Fatalf("%s: %s: nothing reads %q", w.part, w.line, name)
	return nil
}

// listings are the words for how a kind is listed.
var listings = map[string]api.Listing{"": api.NotListed, "Missing": api.Missing, "NotInstalled": api.NotInstalled, "NotWatched": api.NotWatched}

// show has a source publish hosts.
func (w *world) show(name string, words []string) {
	f, h, as := w.source(name), make(hosts), make(map[api.Kind]api.Listing)
	for k := range api.NumKinds {
		as[k] = api.Listed
	}
	var in []string
	var unpoliced []string
	geo := false
	for _, word := range words {
		flag, value, valued := strings.Cut(word, "=")
		from, to, ranged := strings.Cut(flag, "..")
		switch kind, not := strings.CutPrefix(word, "-"); {
		case word == "partly", flag == "in":
			clear(as)
			if valued {
				in = []string{value}
			}
		case flag == "relist":
			f.unseen = func(ref api.Ref) bool { return value == "" || ref.Name == "ns/"+value }
		case flag == "reports":
			for _, k := range someKinds {
				f.also = append(f.also, refOf(k, value))
			}
		case strings.HasPrefix(word, "~"):
			unpoliced = append(unpoliced, strings.TrimPrefix(word, "~"))
		case word == "geo":
			geo = true
		case flag == "uid":
			f.uid = value
		case kind == "all" && not:
			clear(as)
		case kind == "names" && not:
			maps.DeleteFunc(as, func(k api.Kind, _ api.Listing) bool { return k.HoldsNames() })
		case not:
			kind, how, _ := strings.Cut(kind, ":")
			k, ok := api.ParseKind(kind)
			if _, known := listings[how]; !ok || !known {
				w.t.Fatalf("%s: %s: unknown kind %q", w.part, w.line, word)
			}
			as[k] = listings[how]
		case ranged: // h0..9
			for name, own := range ranging(from, to) {
				if h[name] = own; valued {
					h[name] = address(value)
				}
			}
		case value == "":
			delete(h, flag)
		default:
			h[flag] = address(value)
		}
	}
	c := f.cluster(h)
	for _, word := range unpoliced {
		from, to, _ := strings.Cut(word, "..")
		policies := c.Policies.Edit()
		for name := range ranging(from, to) {
			policies.Delete("ns/" + name)
		}
		c.Policies = policies.Map()
	}
	for k := range api.NumKinds {
		if c.Listings[k], c.ListedIn[k] = as[k], in; as[k] != api.Listed && in == nil && !slices.Contains(words, "partly") {
			c.Share(k, new(api.Cluster))
		}
	}
	for _, p := range c.Policies.All() {
		if geo {
			p.Strategy, p.DefaultWeight = api.WeightedGeo, 120
		}
	}
	f.send(c)
	f.unseen, f.also = nil, nil
}

// ranging returns the hosts of a range, such as h0 to 9.
func ranging(from, to string) hosts {
	prefix := strings.TrimRight(from, "0123456789")
	first, _ := strconv.Atoi(from[len(prefix):])
	last, _ := strconv.Atoi(to)
	return numbered(prefix, first, last+1)
}

// showSecrets publishes what the Secrets hold.
func (w *world) showSecrets(words []string) {
	if slices.Equal(words, []string{"-"}) {
		w.secrets.show(nil)
		return
	}
	all := []*source.Remote{}
	for _, word := range words {
		name, server, ok := strings.Cut(word, "@")
		word, pools, _ := strings.Cut(server, ":")
		word, age, _ := strings.Cut(word, "~")
		server, token, _ := strings.Cut(word, "#")
		if !ok {
			name, pools, _ = strings.Cut(name, ":")
		}
		of := secretOf(strings.TrimRight(name, "?"), server)
		of.Config.BearerToken = token
		of.Created, _ = strconv.ParseInt(age, 10, 64)
		if strings.HasSuffix(name, "?") {
			of.Config, of.Fault = nil, "no key kubeconfig"
		}
		switch pools {
		case "":
		case "nowhere":
			of.Pools = api.PoolsIn()
		default:
			of.Pools = api.PoolsIn(pools)
		}
		all = append(all, of)
	}
	w.secrets.show(all)
}

// checkSerial compares the serial with the one that was looked at before.
func (w *world) checkSerial(words []string) {
	now, before := w.serial(), w.last
	w.last = now
	how, plus, _ := strings.Cut(words[0], "+")
	n, _ := strconv.ParseUint(cmp.Or(plus, words[len(words)-1]), 10, 32)
	switch how {
	case "same":
		w.check(now, before)
	case "later":
		w.check(int32(now-before) > 0, true)
	case "not-before":
		w.check(int32(now-before) >= 0, true)
	case "above":
		w.check(now > uint32(n), true)
	case "up-to":
		w.check(now-before-1 < uint32(n), true)
	}
}

// keepThat has a writer say what is kept.
func (w *world) keepThat(words []string) {
	switch words[0] {
	case "nothing":
		w.keep(api.Serials{})
	case "all":
		w.stored = w.proposed()
		w.keep(w.stored)
	case "stored":
		w.keep(w.stored)
	case "unanswered":
		w.e.registryUnanswered()
		synctest.Wait()
	case "away":
		w.take(controller.Kept{Generation: 1, Away: true})
	case "refused":
		w.take(controller.Kept{Generation: 1})
	case "owners", "idle":
		all := make(map[string]api.Owner)
		for _, word := range words[1:] {
			key, o := owner(word)
			all[key] = o
		}
		kept := ownersOnRecord(all)
		kept.Idle = words[0] == "idle"
		w.take(kept)
	}
}
