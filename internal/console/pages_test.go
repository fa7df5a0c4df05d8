package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestLinksToData: a page links to all data that it shows, and each link works; pages without data have no link.
func TestLinksToData(t *testing.T) {
	h := New(Options{Source: newServer(t)})
	links := regexp.MustCompile(`href="(/api/[^"]*)">([^<]*)</a>`)
	for path, want := range map[string]string{
		"/":                                 "/api/v1/server the server, /api/v1/zones the zones, /api/v1/conflicts the conflicts",
		"/names?q=a&state=":                 "/api/v1/names?q=a&amp;state= this page",
		"/name?name=a.example.com":          "/api/v1/tree?name=a.example.com this page, /api/v1/world?name=a.example.com&amp;type=A the map",
		"/name?name=example.com":            "/api/v1/tree?name=example.com this page",
		"/explain":                          "",
		"/explain?name=..":                  "",
		"/explain?name=A.example.com&type=": "/api/v1/explain?name=A.example.com&amp;type=A this page",
		"/nothing":                          "",
	} {
		var found []string
		body := ask(h, http.MethodGet, path, nil).Body.String()
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			found = append(found, m[1]+" "+m[2])
			if w := ask(h, http.MethodGet, strings.ReplaceAll(m[1], "&amp;", "&"), nil); w.Code != http.StatusOK {
				t.Errorf("%s leads to %s: %d %s", path, m[1], w.Code, w.Body)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}

// TestSameDraw: the API explains the same draw as the page, whatever the question's spelling.
func TestSameDraw(t *testing.T) {
	s := newServer(t)
	draws := uint64(0)
	s.view.Random = func() uint64 { draws++; return draws << 60 }
	h := New(Options{Source: s})
	var first string
	for range 3 {
		for _, question := range []string{"?name=a.example.com", "?name=A.Example.com.&type=A", "?name=a.example.com&type=a&from="} {
			var x records.Explanation
			if err := json.Unmarshal(ask(h, http.MethodGet, PathExplain+question, nil).Body.Bytes(), &x); err != nil || len(x.Answer) == 0 {
				t.Fatal(err)
			}
			answer := inspect.AnswerText(&x)
			if first == "" {
				first = answer
			}
			if page := ask(h, http.MethodGet, "/explain"+question, nil).Body.String(); answer != first || summary(page) != answer {
				t.Errorf("%s: the answer is %s, the page has %s, and the first was %s", question, answer, summary(page), first)
			}
		}
	}
	if draws > 0 {
		t.Errorf("%d draws are others than those of the questions", draws)
	}
}

// TestSummaries: the screen reader text matches the page, and the visible text has the counts.
func TestSummaries(t *testing.T) {
	s, targets := checkedServer(t)
	h := New(Options{Source: s})
	targets[0].Cell.Set(health.Down)
	contended := New(Options{Source: newServer(t)})
	for _, c := range []struct {
		h              http.Handler
		path, summary  string
		visible, never string
	}{
		{h, "/names", "5 names shown, 1 with nothing up", "fails open for all clients", ""},
		{contended, "/names", "4 names shown, 1 contended", "chain, 1 member ", "1 members"},
		{h, "/targets", "2 targets up, 1 down", `<p class="quiet">2 targets up, 1 down.</p>`, ""},
		{h, "/name?name=h1.example.com", "1 of 1 up", "1 up</span>", ""},
		{contended, "/name?name=a.example.com", "2 not checked", `<span class="state unchecked">`, `class="state up"`},
		{contended, "/names?q=a.example", "1 name shown, 1 contended", `○</span> 2 not checked</span>`, `class="state up"`},
		{contended, "/name?name=example.com", "-", "Data of the Corefile", "Nobody"},
		{contended, "/names?q=example.com", "4 names shown, 1 contended", `<span class="quiet">data of</span> the Corefile`, ""},
	} {
		body := ask(c.h, http.MethodGet, c.path, nil).Body.String()
		if got := summary(body); got != c.summary {
			t.Errorf("%s: the summary is %q, want %q", c.path, got, c.summary)
		}
		if !strings.Contains(body, c.visible) || c.never != "" && strings.Contains(body, c.never) {
			t.Errorf("%s lacks %q, or has %q:\n%s", c.path, c.visible, c.never, body)
		}
	}
	targets[1].Cell.Observe(health.Outcome{Reason: health.Forbidden}, health.Terms{})
	body := ask(h, http.MethodGet, "/targets?state=pending", nil).Body.String()
	if got := summary(body); got != "1 target up, 1 down, 1 not checked yet" ||
		!strings.Contains(body, "192.0.2.2") || strings.Contains(body, "192.0.2.1:") {
		t.Errorf("the summary is %q: %s", got, body)
	}
	if body := ask(h, http.MethodGet, "/", nil).Body.String(); !strings.Contains(body, "3 targets are checked, 1 of them not yet.") {
		t.Errorf("the overview is %s", body)
	}
}

// TestPeopleFirst: a member's familiar name comes before its identifier, and the worst member first.
func TestPeopleFirst(t *testing.T) {
	s := serverOf(t, `
gateway n/eu host=a.example.com addr=192.0.2.1
policy n/eu weight=1 geo=GEO-EU default check=HTTP:80/,failures=1
gateway n/us host=a.example.com addr=192.0.2.2
policy n/us weight=1 geo=US check=HTTP:80/,failures=1`)
	began := time.Now().Add(-4*time.Minute - time.Second)
	s.view.Since = func(string) time.Time { return began }
	s.view.Locator = nobody{}
	for _, target := range s.view.Snapshot.Checks().All() {
		target.Cell.Set(map[string]health.State{"192.0.2.1": health.Up, "192.0.2.2": health.Down}[target.Address])
	}
	h := New(Options{Source: s})
	body := ask(h, http.MethodGet, "/name?name=a.example.com", nil).Body.String()
	us, eu := strings.Index(body, `<b class="who">n/us in c</b>`), strings.Index(body, `<b class="who">n/eu in c</b>`)
	if id := strings.Index(body, `<code class="copy" `); us < 0 || eu < us || id < us {
		t.Errorf("n/us stands at %d, n/eu at %d, and the first identifier at %d:\n%s", us, eu, id, body)
	}
	down := `<span class="since">for <time datetime="` + began.UTC().Format(time.RFC3339) + `" title="` + stamp(began) +
		`">4 min</time></span>`
	for path, wants := range map[string][]string{
		"/name?name=a.example.com": {
			down, `class="swatch hatched"`, "<b>US</b>", "fails over", `fill="url(#hatch)"`, "United States: GEO-EU, up, in place of US",
			`<a href="/explain?from=US&amp;name=a.example.com&amp;type=A" tabindex="-1"`,
		},
		"/explain?name=a.example.com&type=A&from=us": {"For a client in US, GEO-NA; for clients there", "n/eu in c", down},
		"/targets": {down}, "/": {"1 target down " + down},
	} {
		h := New(Options{Source: s}) // one each, as in TestPages
		body := ask(h, http.MethodGet, path, nil).Body.String()
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s:\n%s", path, want, body)
			}
		}
	}
}

// TestWorstOfAll: the list of all names starts with the worst, whatever page they would be on.
func TestWorstOfAll(t *testing.T) {
	var lines []string
	for i := range 150 {
		lines = append(lines, fmt.Sprintf("gateway n/g%[1]d host=h%03[1]d.example.com addr=192.0.2.1\npolicy n/g%[1]d check=HTTP:80/", i))
	}
	s := serverOf(t, lines...)
	for _, target := range s.view.Snapshot.Checks().All() {
		target.Cell.Set(map[bool]health.State{true: health.Down, false: health.Up}[target.Host == "h149.example.com"])
	}
	body := ask(New(Options{Source: s}), http.MethodGet, "/names", nil).Body.String()
	if _, first, _ := strings.Cut(body, `<a href="/name?name=`); !strings.HasPrefix(first, "h149.example.com") ||
		strings.Count(body, ">h149.example.com<") != 1 {
		t.Errorf("the names are %s", body)
	}
}

// nobody is a Locator that locates no client.
type nobody struct{}

func (nobody) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return new(geo.Codes), 0 }

// TestConflictPages: the conflicts page leads to all conflicts.
func TestConflictPages(t *testing.T) {
	all := []string{"gateway n/first host=a.example.com addr=192.0.2.1\npolicy n/first"}
	for i := range 250 {
		all = append(all, fmt.Sprintf("gateway m/g%[1]d host=a.example.com addr=192.0.2.1\npolicy m/g%[1]d", i))
	}
	h := New(Options{Source: serverOf(t, all...)})
	seen := make(map[string]bool)
	next := regexp.MustCompile(`class="next" href="([^"]*)"`)
	path, pages := "/conflicts", 0
	for ; path != ""; pages++ {
		w := ask(h, http.MethodGet, path, nil)
		for _, m := range regexp.MustCompile(`<b>(m/g[0-9]+)</b>`).FindAllStringSubmatch(w.Body.String(), -1) {
			seen[m[1]] = true
		}
		if got := summary(w.Body.String()); w.Code != http.StatusOK || !strings.HasPrefix(got, "250 conflicts, ") {
			t.Fatalf("%s: %d, the summary is %q", path, w.Code, got)
		}
		if path = ""; strings.Contains(w.Body.String(), `class="next"`) {
			path = strings.ReplaceAll(next.FindStringSubmatch(w.Body.String())[1], "&amp;", "&")
		}
		if first := strings.Contains(w.Body.String(), `<a href="/conflicts">To the first page</a>`); first != (pages > 0) {
			t.Errorf("page %d leads back: %v", pages, first)
		}
	}
	if pages != 3 || len(seen) != 250 {
		t.Errorf("%d pages have %d conflicts", pages, len(seen))
	}
	if w := ask(h, http.MethodGet, PathTroubles+"?after=200&limit=20", nil); !strings.Contains(w.Body.String(),
		`"moreConflicts":30,"next":"220"`) {
		t.Errorf("the API says %s", w.Body)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	client, err := NewClient(server.URL, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if page, err := client.Troubles(t.Context(), inspect.TroubleFilter{After: "240", Limit: 5}); err != nil ||
		len(page.Conflicts) != 5 || page.MoreConflicts != 5 {
		t.Errorf("a client gets %+v, %v", page, err)
	}
	if w := ask(h, http.MethodGet, "/conflicts?after=x", nil); w.Code != http.StatusBadRequest {
		t.Errorf("after nothing: %d", w.Code)
	}
}

// TestSlowUploadIsAnswered: manifests that time out get an error message.
func TestSlowUploadIsAnswered(t *testing.T) {
	t.Parallel()
	var c net.Conn
	served(t, Options{Source: newServer(t)}, func(s *httptest.Server) {
		if s.Config.WriteTimeout < s.Config.ReadTimeout+5*time.Second {
			t.Errorf("%v after a request has begun no answer may be written any more, and it may be read for %v", s.Config.WriteTimeout,
				s.Config.ReadTimeout)
		}
		s.Config.WriteTimeout -= s.Config.ReadTimeout - 300*time.Millisecond
		s.Config.ReadTimeout = 300 * time.Millisecond
		c = dial(t, s.Listener.Addr()) // all that is sent arrives before the timeout starts
		_, _ = io.WriteString(c, "POST "+PathPreview+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\nContent-Length: 10\r\n\r\nkind")
	})
	answer, err := io.ReadAll(c) // the server closes the connection
	if text := string(answer); err != nil || !strings.HasPrefix(text, "HTTP/1.1 408 ") ||
		!strings.Contains(text, `"message":"the manifests did not arrive within 30 seconds`) {
		t.Errorf("it is answered with %s, %v", text, err)
	}
}
