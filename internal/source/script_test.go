package source

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestScripts plays the scripts in testdata, each the life of a source. testdata/README.md explains
// their words.
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
			for i, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
				for n, text := range variants(part) {
					t.Run(fmt.Sprintf("%d.%d", i+1, n+1), func(t *testing.T) { play(t, text) })
				}
			}
		})
	}
}

// variants returns a part once for each row of the table after its line "each A | B", with the
// cells in place of A and B; or once for each word of "each A: ".
func variants(part string) (all []string) {
	head, rest, ok := strings.Cut(part, "\neach ")
	if !ok {
		return []string{part}
	}
	line, rest, _ := strings.Cut(rest, "\n")
	names, listed, isList := strings.Cut(line, ": ")
	rows := words(listed)
	for !isList && strings.HasPrefix(rest, "|") {
		line, rest, _ = strings.Cut(rest, "\n")
		rows = append(rows, line[1:])
	}
	for _, row := range rows {
		text, cells := head+"\n"+rest, strings.Split(row, "|")
		for i, name := range strings.Split(names, "|") {
			text = strings.ReplaceAll(text, strings.TrimSpace(name), strings.TrimSpace(cells[i]))
		}
		all = append(all, text)
	}
	return all
}

// words returns the words of a line, with Go's quotes removed.
func words(line string) (all []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word, err := strconv.QuotedPrefix(line)
		if err != nil {
			word, line, _ = strings.Cut(line, " ")
			all = append(all, word)
			continue
		}
		line = line[len(word):]
		word, _ = strconv.Unquote(word)
		all = append(all, word)
	}
	return all
}

// subject is a source under test.
type subject struct {
	*recorder
	source Source
	stats  *Stats
	stop   func()
}

func newSubject(t *testing.T) subject { return subject{recorder: newRecorder(t), stats: new(Stats)} }

func (s *subject) start() { s.stop = s.run(s.source) }

// script is the life of a source: of a directory, or of an API server's feed.
type script struct {
	*subject
	t       *testing.T
	dir     string // the directory read
	line    string
	kept    *api.Cluster // as of the line keep
	since   int          // the number of clusters published then
	server  *kubetest.Server
	spaces  map[string]string // the server's namespaces, by their names in the script
	rights  []string          // of the next feed's user
	user    string
	feeds   map[string]*feed
	feed    *feed
	asked   int           // what asking counted
	over    chan struct{} // closed when the disturbance ends
	restore func()

	goroutines, files int // at baseline
}

func play(t *testing.T, text string) {
	s := &script{t: t, spaces: make(map[string]string), feeds: make(map[string]*feed)}
	title, text, _ := strings.Cut(text, "\n")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\nat: %s", title, s.line)
		}
		if s.subject != nil {
			s.keepsSecrets()
			s.keepsName()
		}
	})
	for s.line = range strings.Lines(text) {
		if s.line = strings.TrimSpace(s.line); s.line == "" || s.line[0] == '#' {
			continue
		}
		all := words(s.line)
		do := commands[all[0]]
		if do == nil {
			t.Fatalf("%q has an unknown word", s.line)
		}
		do(s, all[1:])
	}
}

// keepsName checks that every cluster and log line names its cluster.
func (s *script) keepsName() {
	for _, c := range s.clusters {
		for _, ref := range c.Changed {
			if m := c.MetaOf(ref); c.Name != s.source.Name() || m != nil && (m.Cluster != c.Name || m.Name != ref.Name) {
				s.t.Errorf("cluster %q has %v: %+v", c.Name, ref, m)
			}
		}
	}
}

// check fails the test if got is not what the line wants.
func (s *script) check(got, want any) {
	s.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: is %v\n%s", s.line, got, s.report())
	}
}

// texts makes the manifests for the words before a colon.
var texts = map[string]func(ns, name, version, value string) string{
	"g": func(ns, name, _, address string) string {
		return strings.Replace(manifest(ns, name), "192.0.2.1", address, 1)
	},
	"p": func(ns, name, version, secret string) string {
		if secret != "" {
			return referringPolicy(ns, name, secret)
		}
		return policyManifest(ns, name, version)
	},
	"labelled": func(ns, name, version, label string) string {
		return strings.Replace(policyManifest(ns, name, version), "name: "+name+"}", "name: "+name+", labels: {"+label+"}}", 1)
	},
	"provided": providedPolicy,
	"probe":    func(ns, name, _, healthy string) string { return probeManifest(ns, name, "healthy: "+healthy) },
	"zones":    func(ns, _, _, _ string) string { return zoneManifests(ns) },
	"secret":   func(ns, name, _, value string) string { return secretManifest(ns, name, headersLabel, value) },
	"plain": func(ns, name, _, value string) string {
		return secretManifest(ns, name, "kuadrant.io/probe-headers: 'no'", value)
	},
	"provider": func(ns, name, _, value string) string {
		zone, labels, _ := strings.Cut(value, ";")
		return providerManifest(ns, name, labels, zone)
	},
}

// text returns what the words stand for: manifests, for KIND:[NAMESPACE/]NAME[@VERSION][=VALUE], or
// the words themselves.
func (s *script) text(all []string) string {
	var b strings.Builder
	for _, word := range all {
		kind, rest, _ := strings.Cut(word, ":")
		text := texts[kind]
		if text == nil {
			b.WriteString(s.expand(word))
			continue
		}
		name, value, given := strings.Cut(rest, "=")
		if !given && kind == "g" {
			value = "192.0.2.1"
		}
		name, version, _ := strings.Cut(name, "@")
		if version == "" {
			version = "v1"
		}
		ns, name, _ := strings.Cut(s.place(name), "/")
		b.WriteString(text(ns, name, version, value))
	}
	return b.String()
}

// place returns an object's namespace/name; a server's namespaces have names of their own.
func (s *script) place(name string) string {
	ns, bare, ok := strings.Cut(name, "/")
	if !ok {
		ns, bare = "ns", name
	}
	return s.space(ns) + "/" + bare
}

func (s *script) space(word string) string {
	if s.dir != "" || word == "default" || word == "" {
		return word
	}
	if s.spaces[word] == "" {
		s.spaces[word] = s.at().Namespace(s.t)
	}
	return s.spaces[word]
}

// expand inserts values that differ between runs.
func (s *script) expand(word string) string {
	if strings.Contains(word, "%host") {
		word = strings.ReplaceAll(word, "%host", s.server.Config.Host)
	}
	for _, ns := range []string{"ns", "one", "two"} {
		if strings.Contains(word, "%"+ns) {
			word = strings.ReplaceAll(word, "%"+ns, s.space(ns))
		}
	}
	return strings.ReplaceAll(word, "%dir", s.dir)
}

// refs returns the objects for words such as g:a, in the form of names.
func (s *script) refs(all []string) (refs []string) {
	for _, word := range all {
		kind, name, _ := strings.Cut(word, ":")
		if kind == "zones" {
			refs = append(refs, zoneObjects(s.space("ns"))...)
			continue
		}
		refs = append(refs, kind+" "+s.place(name))
	}
	slices.Sort(refs)
	return refs
}

// refOf returns the object with that name in the form of names.
func refOf(name string) api.Ref {
	kind, name, _ := strings.Cut(name, " ")
	return api.Ref{Kind: api.Kind(slices.Index(prefixes[:], kind+" ")), Name: name}
}

// at returns the API server: the shared one, unless a line server started another.
func (s *script) at() *kubetest.Server {
	if s.server == nil {
		s.server = sharedServer(s.t)
	}
	return s.server
}

var listings = map[string]api.Listing{
	"unlisted": api.NotListed, "listed": api.Listed, "none": api.NotInstalled, "unwatched": api.NotWatched, "missing": api.Missing,
}

// states reads KIND=LISTING... .
func states(all []string) map[api.Kind]api.Listing {
	of := make(map[api.Kind]api.Listing)
	for _, word := range all {
		name, value, _ := strings.Cut(word, "=")
		kind, ok := api.ParseKind(name)
		listing, known := listings[value]
		if !ok || !known {
			panic(word)
		}
		of[kind] = listing
	}
	return of
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}

func yes(word string) bool { return word == "yes" }

var commands = map[string]func(*script, []string){
	"directory": func(s *script, flags []string) {
		f := newFolder(s.t)
		s.dir, s.subject = f.dir, &f.subject
		f.src.opts.Selection, _ = s.selection(flags)
	},
	"start":    func(s *script, _ []string) { s.start() },
	"stop":     func(s *script, _ []string) { s.stop() },
	"baseline": func(s *script, _ []string) { s.goroutines, s.files = runtime.NumGoroutine(), openFiles() },
	"ended": func(s *script, _ []string) { // nothing that started after baseline is left
		eventually(s.t, "end of goroutines and files", func() bool {
			if s.feed != nil { // a connection that was being opened is idle by now
				client, err := rest.HTTPClientFor(s.at().Config)
				s.must(err)
				utilnet.CloseIdleConnectionsFor(client.Transport)
			}
			return runtime.NumGoroutine() <= s.goroutines && (s.feed != nil || openFiles() <= s.files)
		})
	},
	"objects": func(s *script, all []string) {
		s.objects(s.refs(all)...)
	},
	"has": func(s *script, all []string) { // among others
		s.wait(s.line, func() bool {
			c := s.newest()
			return c != nil && !slices.ContainsFunc(s.refs(all), func(name string) bool { return !c.Has(refOf(name)) })
		})
	},
	"values": func(s *script, all []string) { // OBJECT N: it has had N values since keep
		ref := refOf(s.refs(all[:1])[0])
		s.wait(s.line, func() bool {
			n, last := 0, (*api.Meta)(nil)
			for _, c := range s.clusters[max(0, s.since-1):] {
				if now := c.MetaOf(ref); now != last {
					n, last = n+1, now
				}
			}
			return n == number(all[1])
		})
	},
	"published": func(s *script, all []string) { s.check(s.subject.published(), all[0]) },
	"silent":    func(s *script, _ []string) { s.check(s.subject.published(), s.since) }, // since keep
	"complete":  func(s *script, all []string) { s.check(s.latest().Complete(), yes(all[0])) },
	"listed": func(s *script, all []string) {
		want := map[api.Kind]api.Listing{api.KindGateway: api.Listed, api.KindDNSPolicy: api.Listed}
		maps.Copy(want, states(all))
		s.wait(s.line, func() bool {
			for kind, listing := range want {
				if c := s.newest(); c == nil || c.Listings[kind] != listing {
					return false
				}
			}
			return true
		})
	},
	"listings": func(s *script, all []string) {
		want := allListed(nil)
		if kind, only := strings.CutPrefix(all[0], "only="); only {
			one, _ := api.ParseKind(kind)
			want = onlyListed(one)
		} else if all[0] != "all" {
			want = allListed(states(all))
		}
		s.check(s.latest().Listings, want)
	},
	"in": func(s *script, all []string) { // KIND NAMESPACE...
		kind, _ := api.ParseKind(all[0])
		for i := range all[1:] {
			all[i+1] = s.space(all[i+1])
		}
		s.check(s.latest().ListedIn[kind], all[1:])
	},
	"log": func(s *script, all []string) {
		for i := range all {
			all[i] = s.expand(all[i])
		}
		s.log(all...)
	},
	"said":     func(s *script, all []string) { s.check(s.logged(s.expand(all[1])), all[0]) },
	"good":     func(s *script, all []string) { s.goodNews(s.expand(all[0])) },
	"unsynced": func(s *script, _ []string) { eventually(s.t, "not synced", func() bool { return !s.stats.Synced() }) },
	"synced": func(s *script, _ []string) {
		eventually(s.t, "synced", s.stats.Synced)
		if s.stats.LastEvent().IsZero() {
			s.t.Error("no last event")
		}
	},
	"problem": func(s *script, all []string) { s.check(s.stats.Problem(), s.expand(all[0])) },
	"keep":    func(s *script, _ []string) { s.kept, s.since = s.latest(), s.subject.published() },
	"same": func(s *script, all []string) { // objects that are unchanged since keep
		for _, name := range s.refs(all) {
			if ref := refOf(name); s.kept.MetaOf(ref) != s.latest().MetaOf(ref) {
				s.t.Errorf("%s: %s is another one", s.line, name)
			}
		}
	},
	"always": func(s *script, all []string) { // since keep
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.clusters[max(0, s.since-1):] {
			if slices.ContainsFunc(s.refs(all), func(name string) bool { return !c.Has(refOf(name)) }) || !c.Complete() {
				s.t.Errorf("%s: there was a moment with %v and listings %v", s.line, names(c), c.Listings)
			}
		}
	},
	"ever": func(s *script, all []string) { // KIND LISTING...
		kind, _ := api.ParseKind(all[0])
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.clusters {
			if !slices.ContainsFunc(all[1:], func(w string) bool { return listings[w] == c.Listings[kind] }) {
				s.t.Errorf("%s: there was a moment with %v", s.line, c.Listings)
			}
		}
	},
	"address": func(s *script, all []string) { // of a Gateway, and its namespace/name
		s.wait(s.line, func() bool { return s.newest() != nil && hasAddress(s.newest(), s.place(all[0]), all[1]) })
	},
	"uid": func(s *script, all []string) {
		want := all[0]
		if want == "system" {
			want = systemUID(s.t, s.at())
		}
		s.check(s.latest().UID, want)
	},
	"changed":  func(s *script, all []string) { s.check(refNames(s.latest().Changed), s.refs(all)) },
	"inferred": func(s *script, all []string) { s.check(refNames(s.latest().Inferred), s.refs(all)) },
	"healthy": func(s *script, all []string) {
		want := map[string]api.ConditionStatus{"yes": api.ConditionTrue, "no": api.ConditionFalse}[all[1]]
		s.wait(s.line, func() bool {
			p, ok := s.newest().Probes.Get(s.place(all[0]))
			return ok && p.Healthy == want
		})
	},
	"token": func(s *script, all []string) { s.token(s.place(all[0]), all[1]) },
	"zones": func(s *script, all []string) { // NAME=ZONE...: the existing Secrets, and each one's zones
		s.wait(s.line, func() bool {
			c := s.newest()
			for _, word := range all {
				name, zone, _ := strings.Cut(word, "=")
				if c == nil || zonesOf(c, s.place(name)) != "["+zone+".]" {
					return false
				}
			}
			return c.Secrets.Len() == len(all)
		})
	},
}

// openFiles counts the process's file descriptors, on systems that show them.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func refNames(refs []api.Ref) (all []string) {
	for _, ref := range refs {
		all = append(all, prefixes[ref.Kind]+ref.Name)
	}
	slices.Sort(all)
	return all
}

// selection reads the flags that select; rest are the others.
func (s *script) selection(flags []string) (sel Selection, rest map[string]string) {
	rest = make(map[string]string)
	for _, flag := range flags {
		key, value, _ := strings.Cut(flag, "=")
		switch key {
		case "in":
			for ns := range strings.SplitSeq(value, ",") {
				sel.Namespaces = append(sel.Namespaces, s.space(ns))
			}
		case "policies":
			sel.Policies = labels.SelectorFromSet(labels.Set{"dns": value})
		case "secrets":
			sel.NoSecrets = value == "off"
		case "kinds":
			for name := range strings.SplitSeq(value, ",") {
				kind, ok := api.ParseKind(name)
				s.check(ok, true)
				sel.Kinds = append(sel.Kinds, kind)
			}
		default:
			rest[key] = value
		}
	}
	return sel, rest
}

func init() { maps.Copy(commands, fileCommands); maps.Copy(commands, kubeCommands) }

// fileCommands change the files of a directory.
var fileCommands = map[string]func(*script, []string){
	"write": func(s *script, all []string) { s.must(os.WriteFile(s.path(all[0]), []byte(s.text(all[1:])), 0o644)) },
	"replace": func(s *script, all []string) { // at once: nobody sees a half-written file
		s.must(os.WriteFile(s.path(all[0]+".tmp"), []byte(s.text(all[1:])), 0o644))
		s.must(os.Rename(s.path(all[0]+".tmp"), s.path(all[0])))
	},
	"remove": func(s *script, all []string) { s.must(os.RemoveAll(s.path(all[0]))) },
	"rename": func(s *script, all []string) { s.must(os.Rename(s.path(all[0]), s.path(all[1]))) },
	"mkdir":  func(s *script, all []string) { s.must(os.Mkdir(s.path(all[0]), 0o755)) },
	"link":   func(s *script, all []string) { s.must(os.Symlink(all[0], s.path(all[1]))) },
	"fifo":   func(s *script, all []string) { s.must(syscall.Mkfifo(s.path(all[0]), 0o644)) },
	"large": func(s *script, all []string) { // a sparse file
		s.must(os.WriteFile(s.path(all[0]), nil, 0o644))
		s.must(os.Truncate(s.path(all[0]), maxFileSize+1))
	},
}

func (s *script) path(name string) string { return filepath.Join(s.dir, name) }

func (s *script) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", s.line, err)
	}
}
