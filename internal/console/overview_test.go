package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestNoSnapshotIsKept: an old snapshot is freed even if nobody opens the overview again.
func TestNoSnapshotIsKept(t *testing.T) {
	s := newServer(t)
	h := New(Options{Source: s})
	if w := ask(h, http.MethodGet, "/", nil); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	old := weak.Make(s.view.Snapshot)
	s.view.Snapshot = newServer(t).view.Snapshot
	runtime.GC()
	if old.Value() != nil {
		t.Error("the snapshot of before is kept")
	}
	if w := ask(h, http.MethodGet, "/", nil); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
}

// well is the state of a server without problems.
func well() Server {
	return Server{Version: "v1", Ready: true, Snapshot: time.Unix(1e9, 0), Clusters: []Cluster{{Name: "c", Synced: true}}}
}

// checkedServer returns a server with three names whose addresses are checked, without conflicts.
func checkedServer(t *testing.T) (s *someServer, targets []*health.Target) {
	t.Helper()
	var lines []string
	for i := range 3 {
		lines = append(lines, fmt.Sprintf("gateway n/g%[1]d host=h%[1]d.example.com addr=192.0.2.%[2]d\n"+
			"policy n/g%[1]d check=HTTP:80/,interval=1m,failures=1,successes=1", i, i+1))
	}
	s = serverOf(t, lines...)
	for _, target := range s.view.Snapshot.Checks().All() {
		target.Cell.Set(health.Up)
		targets = append(targets, target)
	}
	slices.SortFunc(targets, func(a, b *health.Target) int { return strings.Compare(a.Address, b.Address) })
	if len(targets) != 3 {
		t.Fatalf("there are %d targets", len(targets))
	}
	said := well()
	said.Targets = len(targets)
	s.says = &said
	return s, targets
}

// TestAlarmsLeadOn: an alarm has a start time, advice and a command, and each runbook exists.
func TestAlarmsLeadOn(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	s, targets := checkedServer(t)
	targets[0].Cell.Set(health.Down)
	hour := time.Now().Add(-time.Hour - time.Minute)
	*s.says = Server{
		Version: "v9", Host: "dns-1", Pod: true, Started: hour, Snapshot: hour,
		Clusters:  []Cluster{{Name: "far", Lost: hour}, {Name: "a"}, {Name: "b"}},
		FailOpens: []FailOpen{{"*.h.example.com", "all clients", hour}}, FailingOpen: 1, UnreadOwners: 1, OverridesInForce: 1, Overdue: 3661,
		Held: []Held{{"example.com", 1, hour, hour}}, Since: map[string]time.Time{SinceUnread: hour, SinceOverrides: hour},
		Events: []Event{{hour, "target <x> is down", true}, {hour, "started", false}},
	}
	body := ask(New(Options{Source: s}), http.MethodGet, "/", nil).Body.String()
	alarms := strings.Split(body, `<section class="alarm`)[1:]
	for _, a := range alarms {
		if head, _, _ := strings.Cut(a, "</h3>"); !strings.Contains(head, ">1 h</time>") && !strings.Contains(head, "1 target down") {
			t.Errorf("since when is not said: %s", a)
		}
		if !strings.Contains(a, `<code class="copy" `) {
			t.Errorf("no command: %s", a)
		}
	}
	sections := regexp.MustCompile(`href="`+regexp.QuoteMeta(runbooks)+`([a-z]+)"`).FindAllStringSubmatch(body, -1)
	for _, m := range sections {
		if !strings.Contains(strings.ToLower(string(text)), "\n## "+m[1]+"\n") {
			t.Errorf("there is no runbook %s", m[1])
		}
	}
	for _, want := range []string{
		"pod dns-1 · clusters a, b, far · up ", "release v9", "kdns explain &#39;*.h.example.com&#39; --server http://localhost:8090",
		"kubectl --context far get --raw /readyz", "target &lt;x&gt; is down</li>", "<td data-label=\"Written to\">no</td>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if len(alarms) != 8 || len(sections) != 7 {
		t.Errorf("%d alarms with %d runbooks", len(alarms), len(sections))
	}
}

// summary returns the text that a page announces to screen readers.
func summary(body string) string {
	_, rest, _ := strings.Cut(body, `data-summary="`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// TestOverviewAlarms: the overview shows no alarm on a healthy server, and each problem otherwise.
func TestOverviewAlarms(t *testing.T) {
	calm := "nothing needs attention"
	for _, c := range []struct {
		what  string
		wrong func(*Server, []*health.Target)
		heads string // headings of the alarms
		wants []string
	}{
		{"nothing", func(*Server, []*health.Target) {}, "", []string{"3 targets are checked."}},
		{"not ready", func(s *Server, _ []*health.Target) { s.Ready = false }, "The server is not ready", []string{`class="alarm grave"`}},
		{"checks that are late", func(s *Server, _ []*health.Target) { s.Overdue = 5.5 }, "Checks are late", []string{"5 seconds late"}},
		{"checks that are a little late", func(s *Server, _ []*health.Target) { s.Overdue = 5 }, "", nil},
		{
			"a target down", func(_ *Server, all []*health.Target) { all[0].Cell.Set(health.Down) }, "1 target down",
			[]string{`href="/targets?state=down"`},
		},
		{"targets not decided", func(_ *Server, all []*health.Target) {
			all[0].Cell.Set(health.Unknown)
			all[1].Cell.Set(health.Unknown)
		}, "2 targets not decided", []string{`href="/targets?state=unknown"`}},
		{"targets of both kinds", func(_ *Server, all []*health.Target) {
			all[0].Cell.Set(health.Unknown)
			all[1].Cell.Set(health.Down)
		}, "1 target down, 1 target not decided", nil},
		{"overrides", func(s *Server, _ []*health.Target) {
			s.Overrides, s.OverridesInForce = []string{"cluster b down", "target 192.0.2.1 down"}, 9
		}, "9 overrides in force", []string{"<b>cluster b down</b>", "and 7 more"}},
		{"a directory", func(s *Server, _ []*health.Target) {
			s.Clusters = append(s.Clusters, Cluster{Name: "d", Problem: "a.yaml: line 3: <what>"})
		}, "Clusters that are not read in full", []string{"last event never: a.yaml: line 3: &lt;what&gt;"}},
		{
			"all of it, the gravest first", func(s *Server, all []*health.Target) {
				all[0].Cell.Set(health.Down)
				s.Overdue, s.OverridesInForce, s.Overrides = 60, 1, []string{"cluster b down"}
				s.Held = []Held{
					{Zone: "example.com", Names: 3, Until: time.Now().Add(24*time.Hour - 10*time.Second)},
					{Zone: "example.net", Names: 4, Until: time.Now().Add(time.Minute)},
				}
				s.Clusters[0].Synced = false
				s.FailingOpen, s.FailOpens = 1, []FailOpen{{Host: "h0.example.com", Whom: "all clients"}}
				s.UnreadOwners, s.Ready = 1, false
				s.Unregistered = map[string]int{"example.com": 5}
			}, "The server is not ready, 1 name with nothing up, 1 name whose owners cannot be read, Clusters that are not read in full, " +
				"Removals are held back: 7 names in 2 zones, 5 names without a line in the registry, 1 target down, Checks are late, 1 override in force",
			[]string{"3 names until ", "UTC, in 23 h", "4 names until ", "UTC, in &lt; 1 min"},
		},
	} {
		s, targets := checkedServer(t)
		c.wrong(s.says, targets)
		w := ask(New(Options{Source: s}), http.MethodGet, "/", nil)
		body := w.Body.String()
		want := calm
		if c.heads != "" {
			_, want, _ = strings.Cut(summary(body), " to look at: ")
			if want != c.heads {
				t.Errorf("%s: the alarms are %q, want %q", c.what, want, c.heads)
			}
		} else if got := summary(body); got != calm {
			t.Errorf("%s: the summary is %q", c.what, got)
		}
		if strings.Contains(body, "Nothing needs attention") != (c.heads == "") {
			t.Errorf("%s: calm where it should not be, or not where it should:\n%s", c.what, body)
		}
		for _, want := range c.wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q:\n%s", c.what, want, body)
			}
		}
		if last := strings.LastIndex(body, `class="alarm grave"`); last > strings.Index(body, `class="alarm "`) &&
			strings.Contains(body, `class="alarm "`) {
			t.Errorf("%s: a grave alarm stands below another", c.what)
		}
	}
}

// TestBugC5Overview: geo codes without effect raise one alarm, with its start time.
func TestBugC5Overview(t *testing.T) {
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, Unlocated: true}
	w := recordstest.New(t, opt, "cluster c", `gateway n/eu host=a.example.com addr=192.0.2.1
policy n/eu weight=1 geo=GEO-EU default
gateway n/na host=a.example.com addr=192.0.2.2
policy n/na weight=1 geo=GEO-NA`)
	said := well()
	s := &someServer{says: &said, view: inspect.View{Snapshot: records.Compile(nil, w.Objects(), opt, w.Now)}}
	s.view.FaultySince = func(records.Object) time.Time { return time.Now().Add(-time.Hour - time.Minute) }
	body := ask(New(Options{Source: s}), http.MethodGet, "/", nil).Body.String()
	for _, want := range []string{
		"Geo codes have no effect <span", ">1 h</time>", "Write geoip FILE or nets FILE", "DNSPolicy n/eu in cluster c",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "not served in full") {
		t.Errorf("it is told twice:\n%s", body)
	}
}

// TestOverviewWhileNothingIsKnown: before anything is loaded, the overview says which cluster is not read.
func TestOverviewWhileNothingIsKnown(t *testing.T) {
	s := newServer(t)
	s.unread = true
	s.says = &Server{Version: "v1", Clusters: []Cluster{{Name: "near", Synced: true}, {Name: "far"}}}
	h := New(Options{Source: s})
	w := ask(h, http.MethodGet, "/", nil)
	for _, want := range []string{"Nothing is known yet", "<b>far</b>: last event never", `<th scope="row">near</th>`, `id="live"`} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, the page lacks %q:\n%s", w.Code, want, w.Body)
		}
	}
	for _, not := range []string{`id="zones"`, "Nothing needs attention", "snapshot"} {
		if strings.Contains(w.Body.String(), not) {
			t.Errorf("the page has %q:\n%s", not, w.Body)
		}
	}
	if w := ask(h, http.MethodGet, "/?x=1", nil); w.Code != http.StatusBadRequest {
		t.Errorf("with a parameter: %d", w.Code)
	}
}

// TestProblemPagesFollow: a page opened while the server could not show it becomes the requested page; a page already
// shown keeps its content.
func TestProblemPagesFollow(t *testing.T) {
	s := newServer(t)
	s.unread = true
	c := &console{Options: Options{Source: newServer(t)}, load: newLoad()}
	for range 2 {
		c.load.work.ReserveN(time.Now(), c.load.work.Burst())
	}
	for code, h := range map[int]http.Handler{
		http.StatusServiceUnavailable: New(Options{Source: s}),
		http.StatusTooManyRequests:    c.bounded(endpoint{"/names", http.MethodGet, loadPage, nil}),
		http.StatusNotFound: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fail(w, r, http.StatusNotFound,
				"nothing")
		}),
	} {
		opened := ask(h, http.MethodGet, "/names", nil, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		follows := code != http.StatusNotFound
		if body := opened.Body.String(); opened.Code != code || strings.Contains(body, `id="live"`) != follows ||
			strings.Contains(body, "<h1>Names</h1>") != follows {
			t.Errorf("%d: the page is %d %s", code, opened.Code, body)
		}
		looked := ask(h, http.MethodGet, "/names", nil, "Accept", "*/*")
		if looked.Code != code || strings.Contains(looked.Body.String(), `id="live"`) {
			t.Errorf("%d: a look at it again is %d %s", code, looked.Code, looked.Body)
		}
		if body := opened.Body.String(); strings.Contains(body, "JSON") || !strings.Contains(body, "<p>read-only</p>") {
			t.Errorf("%d: the footer leads somewhere: %s", code, body)
		}
	}
}

// TestOverviewHasBounds: with any number of zones and held removals, the first page stays small and starts with what
// needs attention.
func TestOverviewHasBounds(t *testing.T) {
	const zones = 2000
	s := newServer(t)
	said := well()
	s.says = &said
	opt := &records.Options{}
	s.view.Held = make(map[string]int)
	for i := range zones {
		origin := fmt.Sprintf("z%04d.example.com", i)
		opt.Zones = append(opt.Zones, records.ZoneOptions{Origin: origin + ".", TTL: 60})
		if i >= 1000 {
			said.Held = append(said.Held, Held{Zone: origin, Names: 12, Until: time.Now().Add(time.Hour + time.Duration(zones-i)*time.Second)})
			s.view.Held[origin+"."] = 12
		}
	}
	s.view.Snapshot = records.Compile(nil, api.Objects{}, opt, time.Unix(1e9, 0))
	h := New(Options{Source: s})
	body := ask(h, http.MethodGet, "/", nil).Body.String()
	if len(body) > 64<<10 {
		t.Errorf("the page has %d octets", len(body))
	}
	for _, want := range []string{
		"Removals are held back: 12000 names in 1000 zones", `>z1999.example.com</a>: 12 names until`,
		"and 996 more", "and 1900 more", `<a href="/api/v1/zones">`, ">z1000.example.com</a></th>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, ">z0000.example.com</a></th>") || strings.Contains(body, ">z1000.example.com</a>: 12") {
		t.Error("what is less urgent comes first")
	}
	body = ask(h, http.MethodGet, "/names?zone=z1999.example.com", nil).Body.String()
	if n := strings.Count(body, "<option>"); n > 100 || len(body) > 32<<10 ||
		!strings.Contains(body, `name="zone" value="z1999.example.com"`) {
		t.Errorf("the page of names has %d choices and %d octets", n, len(body))
	}
}

// TestMemo: a result is cached for a hundred times as long as it took, at most for half a minute; an error is not
// cached.
func TestMemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memo[int]
		n := 0
		for _, step := range []struct {
			wait, takes time.Duration
			err         error
			want        int
		}{
			{0, 0, nil, 1},
			{0, 100 * time.Millisecond, nil, 2},
			{9999 * time.Millisecond, 0, nil, 2},
			{time.Millisecond, time.Minute, nil, 3},
			{29 * time.Second, 0, nil, 3},
			{time.Second, 0, io.EOF, 4},
			{0, 0, nil, 5},
		} {
			time.Sleep(step.wait)
			got, err := m.get(func() (int, error) {
				time.Sleep(step.takes)
				n++
				return n, step.err
			})
			if got != step.want || !errors.Is(err, step.err) {
				t.Errorf("%+v: %d, %v", step, got, err)
			}
		}
	})
}
