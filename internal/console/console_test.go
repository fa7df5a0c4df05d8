package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// someServer is a Source of one zone with a few hosts.
type someServer struct {
	view   inspect.View
	unread bool // nothing is loaded yet
	panics bool
	asked  []PreviewRequest
	says   *Server // what Server returns; nil for a server with problems
}

func (s *someServer) Look() (inspect.View, bool) {
	if s.panics {
		panic("a secret word")
	}
	return s.view, !s.unread
}

func (s *someServer) Server() Server {
	if s.says != nil {
		return *s.says
	}
	return Server{
		Version: "v1", Ready: !s.unread, FailOpens: []FailOpen{{Host: "a.example.com", Whom: "all clients"}}, FailingOpen: 12,
		Held:     []Held{{Zone: "example.com", Names: 3, Until: time.Unix(1e9, 0)}},
		Clusters: []Cluster{{Name: "c", Synced: true}, {Name: "<b>", LastEvent: time.Unix(1e9, 0)}}, UnreadOwners: 2,
	}
}

func (s *someServer) Preview(p PreviewRequest) (*inspect.Preview, error) {
	s.asked = append(s.asked, p)
	if p.Cluster == "x" {
		return nil, &inspect.RequestError{Field: "cluster", Text: "there is no such cluster", NotFound: true}
	}
	return &inspect.Preview{Added: len(p.Manifests)}, nil
}

// serverOf returns a server of example.com with objects of cluster c in the short form of recordstest.
func serverOf(t testing.TB, lines ...string) *someServer {
	t.Helper()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, ZoneNamespaces: []string{"n"}}
	w := recordstest.New(t, opt, append([]string{"cluster c"}, lines...)...)
	return &someServer{view: inspect.View{Snapshot: records.Compile(nil, w.Objects(), opt, w.Now)}}
}

// newServer returns a server with the hosts a and *.b, whose members are in two geos, and an object that loses a
// conflict for a.
func newServer(t testing.TB) *someServer {
	t.Helper()
	return serverOf(t, `
gateway n/eu host=a.example.com addr=192.0.2.1
policy n/eu geo=GEO-EU weight=120 default
gateway n/us host=a.example.com addr=192.0.2.2
policy n/us geo=US weight=120
gateway n/b host=*.b.example.com addr=2001:db8::1
policy n/b strategy=weightedGeo weight=120
gateway m/late host=a.example.com addr=192.0.2.9
policy m/late strategy=weightedGeo weight=120`)
}

// preview posts manifests for a preview.
func preview(h http.Handler, text string) *httptest.ResponseRecorder {
	return ask(h, http.MethodPost, PathPreview, strings.NewReader(text), "Content-Type", "application/yaml")
}

// ask sends a request to a handler, as a browser on this machine would.
func ask(h http.Handler, method, target string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8090/", body)
	u, err := url.ParseRequestURI(target)
	if err != nil { // as the server would set it
		u = &url.URL{Path: "/"}
	}
	r.URL, r.RequestURI = u, target
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestGroupsPages: which groups are active is on the first page, and an inactive one on those of its names.
func TestGroupsPages(t *testing.T) {
	s := serverOf(t, `
gateway n/a host=a.example.com addr=192.0.2.1
policy n/a
record n/groups kuadrant-active-groups.example.com. TXT "version=1;groups=green&&gone"
cluster c group=blue
cluster d group=green
gateway n/a host=a.example.com addr=192.0.2.2
policy n/a`)
	h := New(Options{Source: s})
	const inactive = "group blue of cluster c is not active: its targets are not answered"
	for path, want := range map[string]string{
		"/":                           "active groups: green; not active: blue (c); no cluster has the group gone",
		"/name?name=a.example.com":    inactive,
		"/explain?name=a.example.com": inactive,
	} {
		if page := ask(h, http.MethodGet, path, nil).Body.String(); !strings.Contains(page, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, page)
		}
	}
}

// TestPages asks for every page and every path of the API, and finds what each is there for.
func TestPages(t *testing.T) {
	s := newServer(t)
	for path, wants := range map[string][]string{
		"/": {
			"12 names with nothing up", `href="/name?name=a.example.com"`,
			"3 names until 2001-09-09 01:46:40 UTC, in &lt; 1 min", "2 names whose owners cannot be read", "&lt;b&gt;", "1 conflict",
			"wanted by DNSPolicy m/late in cluster c",
		},
		"/names":                     {"a.example.com", "*.b.example.com", ">contended<"},
		"/names?q=B.EX&state=&zone=": {"*.b.example.com"},
		"/names?q=aa":                {"No name fits", `Near it: <a href="/name?name=a.example.com">`},
		"/names?q=a.exmaple.com":     {"No name fits", `Near it: <a href="/name?name=a.example.com">`},
		"/name?name=a.example.com": {
			"GEO-EU", "192.0.2.2", "default", "world.svg#US", "Who else wants the name",
			"United States", "for A queries",
		},
		"/name?name=*.b.example.com":            {"2001:db8::1", `name="type" value="AAAA"`, "for AAAA queries"},
		"/targets":                              {"Nothing that fits is checked"},
		"/conflicts":                            {"m/late", "the host belongs to DNSPolicy n/eu"},
		"/explain":                              {"Explain"},
		"/explain?name=aa.example.com":          {"NXDOMAIN", `Near it: <a href="/name?name=a.example.com">`},
		"/explain?name=a.example.com&type=aaaa": {"NOERROR", "klb.a.example.com.", "taken"},
		"/explain?name=www.b.example.com&type=AAAA&from=2001:db8::5": {"the wildcard *.b.example.com", "2001:db8::1"},
		"/assets/console.css":            {"prefers-color-scheme: dark"},
		"/assets/console.js":             {"If-None-Match"},
		PathServer:                       {`"failingOpen":12`},
		PathZones:                        {`"name":"example.com"`, `"conflicts":1`},
		PathNames + "?limit=1":           {`"next":"*.b.example.com"`},
		PathTree + "?name=a.example.com": {`"geo":"US"`},
		PathTargets:                      {`"targets":[]`},
		PathTroubles:                     {`"kind":"DNSPolicy","name":"m/late"`},
		PathExplain + "?name=nothing.example.com": {`"rcode":"NXDOMAIN"`, `"found":"nothing"`},
		PathWorld + "?name=a.example.com":         {`"code":"US"`, `"match":"country"`},
	} {
		h := New(Options{Source: s}) // one each: all pages together may exceed a console's limits
		w := ask(h, http.MethodGet, path, nil)
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q:\n%s", path, want, w.Body)
			}
		}
		if tag := w.Header().Get("ETag"); tag == "" || ask(h, http.MethodGet, path, nil, "If-None-Match", tag).Code != http.StatusNotModified {
			t.Errorf("%s: asked for again with its tag %q, it is sent again", path, tag)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
	}
}

// TestDocumentedPaths: docs/console.md lists exactly the API paths, with their parameters.
func TestDocumentedPaths(t *testing.T) {
	text, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(/api/v1/[a-z]+)` \\| (.*?) \\|").FindAllStringSubmatch(string(text), -1)
	documented := make(map[string]string)
	for _, row := range rows {
		documented[row[1]] = row[2]
	}
	h := New(Options{Source: newServer(t)})
	paths := []string{PathServer, PathZones, PathNames, PathTree, PathTargets, PathTroubles, PathExplain, PathWorld, PathPreview}
	for _, path := range paths {
		parameters, ok := documented[path]
		if !ok {
			t.Errorf("docs/console.md lacks %s", path)
		}
		method := http.MethodGet
		if path == PathPreview {
			method = http.MethodPost
		}
		known := "no parameters"
		if body := ask(h, method, path+"?nix=1", nil).Body.String(); !strings.Contains(body, "no parameters are allowed here") {
			_, known, _ = strings.Cut(body, "want one of ")
			known, _, _ = strings.Cut(known, `"`)
		}
		for name := range strings.SplitSeq(known, ", ") {
			if name != "no parameters" && !strings.Contains(parameters, "`"+name+"`") {
				t.Errorf("docs/console.md lacks the parameter %s of %s", name, path)
			}
		}
	}
	if len(documented) != len(paths) {
		t.Errorf("docs/console.md has %d paths, and there are %d", len(documented), len(paths))
	}
}

// TestBadRequests: every bad request gets an error message.
func TestBadRequests(t *testing.T) {
	h := New(Options{Source: newServer(t), Hosts: []string{"dns.example.net"}})
	for _, c := range []struct {
		method, target string
		body           string
		header         []string
		code           int
		want           string
	}{
		{"GET", "/nothing", "", nil, 404, "no page"},
		{"GET", "/api/v2/zones", "", nil, 404, "the API is"},
		{"GET", "/assets/../pages/layout.html", "", nil, 404, ""},
		{"GET", "/assets/pages", "", nil, 404, "no file"},
		{"GET", "/assets/console.css?x=1", "", nil, 400, "no parameters"},
		{"POST", "/names", "", nil, 405, "use GET"},
		{"DELETE", PathNames, "", nil, 405, "use GET"},
		{"GET", PathPreview, "", nil, 405, "use POST"},
		{"GET", PathNames, "body", nil, 400, "no body is allowed"},
		{"GET", PathNames + "?sate=failing", "", nil, 400, "unknown parameter; want one of zone, q"},
		{"GET", PathNames + "?q=a&q=b", "", nil, 400, "it appears twice"},
		{"GET", PathNames + "?q=%zz", "", nil, 400, "invalid query string"},
		{"GET", PathNames + "?limit=0", "", nil, 400, "is not a number from 1 to 1000"},
		{"GET", PathNames + "?limit=1001", "", nil, 400, "1001 is not from 1 to 1000"},
		{"GET", PathNames + "?limit=99999999999999999999", "", nil, 400, "is not a number"},
		{"GET", PathNames + "?zone=example.org", "", nil, 404, "the zones are example.com"},
		{"GET", PathNames + "?after=x.example.org", "", nil, 400, "not the last name of a page"},
		{"GET", PathNames + "?state=bad", "", nil, 400, "is none of failing"},
		{"GET", PathTargets + "?state=bad", "", nil, 400, "is none of up"},
		{"GET", PathExplain, "", nil, 400, "write a name"},
		{"GET", PathExplain + "?name=" + strings.Repeat("a.", 600), "", nil, 400, "longer than the 1020 characters"},
		{"GET", PathExplain + "?name=https://a.example.com/x", "", nil, 400, "without https://"},
		{"GET", PathExplain + "?name=b%C3%BCcher.example.com", "", nil, 400, "non-ASCII"},
		{"GET", PathExplain + "?name=a..b", "", nil, 400, "is not a domain name"},
		{"GET", PathExplain + "?name=a.example.com&type=AXFR", "", nil, 400, "not a type of data"},
		{"GET", PathExplain + "?name=a.example.com&type=TYPE0", "", nil, 400, "is not a type"},
		{"GET", PathExplain + "?name=a.example.com&from=1.2.3", "", nil, 400, "neither an address nor a network"},
		{"GET", PathExplain + "?name=a.example.com&from=fe80::1%25eth0", "", nil, 400, "neither an address nor a network"},
		{"GET", PathExplain + "?name=a.example.org", "", nil, 404, "is in no zone served here"},
		{"GET", PathTree + "?name=nothing.example.com", "", nil, 404, "has no data"},
		{"GET", "/name?name=nothing.example.com", "", nil, 404, "has no data"},
		{"GET", "/explain?name=..", "", nil, 400, "is not a domain name"},
		{"GET", PathZones, "", []string{"Host", "evil.example"}, 421, "unknown host"},
		{"GET", PathZones, "", []string{"Host", ""}, 421, "unknown host"},
		{"GET", PathZones, "", []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"GET", PathZones, "", []string{"Host", "dns.example.net:8090"}, 200, ""},
		{"GET", PathZones, "", []string{"Host", "[::1]:8090"}, 200, ""},
		{"GET", "/", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200, ""},
		{"POST", PathPreview, "kind: Gateway", nil, 415, "send manifests as application/yaml"},
		{"POST", PathPreview, "x=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "send manifests as"},
		{"POST", PathPreview, strings.Repeat("a", MaxManifests+1), []string{"Content-Type", "application/yaml"}, 413, "larger than 1 MiB"},
		{"POST", PathPreview, " \n", []string{"Content-Type", "application/yaml"}, 400, "no manifests; send them as the body"},
		{"POST", PathPreview + "?prune=maybe", "a", []string{"Content-Type", "application/yaml"}, 400, "must be true or false"},
		{"POST", PathPreview + "?cluster=x", "a", []string{"Content-Type", "application/yaml"}, 404, "there is no such cluster"},
		{"POST", PathPreview + "?prune=1", "abc", []string{"Content-Type", "application/yaml; charset=utf-8"}, 200, `"added":3`},
		{"BREW", PathZones, "", nil, 405, "is not allowed"},
		{"GET", "//names", "", nil, 404, "nothing at"},
		{"GET", "/names/", "", nil, 404, "nothing at"},
	} {
		var body io.Reader
		if c.body != "" {
			body = strings.NewReader(c.body)
		}
		w := ask(h, c.method, c.target, body, c.header...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.60s: status %d, want %d with %q:\n%s", c.method, c.target, w.Code, c.code, c.want, w.Body)
		}
		if strings.HasPrefix(c.target, "/api/") && c.code >= 400 {
			var f Failure
			if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || f.Error.Message == "" {
				t.Errorf("%s: the answer is %s", c.target, w.Body)
			}
		}
	}
}

// TestNothingKnown: before anything is loaded, pages say so and /server still answers.
func TestNothingKnown(t *testing.T) {
	s := newServer(t)
	s.unread = true
	h := New(Options{Source: s})
	for _, path := range []string{"/names", PathNames} {
		if w := ask(h, http.MethodGet, path, nil); w.Code != http.StatusServiceUnavailable ||
			!strings.Contains(w.Body.String(), "no objects are listed yet") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(h, http.MethodGet, PathServer, nil); w.Code != http.StatusOK {
		t.Errorf("the server says %d", w.Code)
	}
	if w := preview(h, "a"); w.Code != http.StatusServiceUnavailable || s.asked != nil {
		t.Errorf("a preview is answered with %d", w.Code)
	}
}

// TestPanicIsAnAnswer: a panic becomes an error answer that does not reveal its cause.
func TestPanicIsAnAnswer(t *testing.T) {
	s := newServer(t)
	s.panics = true
	logged := ""
	h := New(Options{Source: s, Logf: func(format string, args ...any) { logged = fmt.Sprintf(format, args...) }})
	w := ask(h, http.MethodGet, PathNames, nil)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") ||
		strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(logged, "please report this") || !strings.Contains(logged, "console_test.go") {
		t.Errorf("the log has %q", logged)
	}
	s.panics = false
	if w := ask(h, http.MethodGet, PathNames, nil); w.Code != http.StatusOK {
		t.Errorf("after it: %d %s", w.Code, w.Body)
	}
}

// TestLoad: previews and wrong tokens are limited, and excess requests are told so.
func TestLoad(t *testing.T) {
	c := &console{Options: Options{Source: newServer(t)}, load: newLoad()}
	c.load.previewing <- struct{}{}
	w := preview(c.bounded(endpoint{PathPreview, http.MethodPost, loadPreview, c.preview}), "a")
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "another preview") {
		t.Errorf("a second preview is answered with %d %s", w.Code, w.Body)
	}
	for range 2 { // more than the burst
		c.load.work.ReserveN(time.Now(), c.load.work.Burst())
	}
	if w := ask(c.bounded(endpoint{"/x", http.MethodGet, loadPage, nil}), http.MethodGet, "/x", nil); w.Code != http.StatusTooManyRequests ||
		w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "try again in ") {
		t.Errorf("beyond the bounds, a page is answered with %d %s", w.Code, w.Body)
	}
}

// TestClient queries a console over real connections, and a server that is not one.
func TestClient(t *testing.T) {
	s := newServer(t)
	server := httptest.NewServer(New(Options{Source: s}))
	defer server.Close()
	c, err := NewClient(server.URL+"/", "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	x, err := c.Explain(ctx, inspect.Question{Name: "a.example.com", From: "192.0.2.7"})
	if err != nil || x.Rcode != "NOERROR" || len(x.Steps) != 1 || len(x.Steps[0].Choices[0].Members) != 2 {
		t.Errorf("explain: %+v, %v", x, err)
	}
	if page, err := c.Names(ctx, inspect.Filter{Contains: "b.ex", Limit: 5}); err != nil || len(page.Names) != 1 {
		t.Errorf("names: %+v, %v", page, err)
	}
	if p, err := c.Preview(ctx, PreviewRequest{Manifests: []byte("1234"), Prune: true}); err != nil || p.Added != 4 || !s.asked[0].Prune {
		t.Errorf("preview: %+v, %v", p, err)
	}
	if z, err := c.Zones(ctx); err != nil || len(z) != 1 {
		t.Errorf("zones: %+v, %v", z, err)
	}
	_, err = c.Explain(ctx, inspect.Question{Name: "a.example.org"})
	if of, ok := inspect.IsRequest(err); !ok || of.Field != "name" || !of.NotFound {
		t.Errorf("a name elsewhere: %v", err)
	}
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != PathTargets {
			w.Header().Set(versionHeader, apiVersion)
		}
		switch r.URL.Path {
		case PathTargets, PathExplain:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{}`))
		case PathZones:
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		case PathTroubles:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"conf`))
		case PathTree:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`[]`))
		default:
			_, _ = w.Write([]byte("<html>"))
		}
	}))
	defer odd.Close()
	c, _ = NewClient(odd.URL, "", time.Minute)
	for want, ask := range map[string]func() error{
		"302 Found, but not as a console": func() error { _, err := c.Zones(ctx); return err },
		"stopped while it answered":       func() error { _, err := c.Troubles(ctx, inspect.TroubleFilter{}); return err },
		"cannot understand":               func() error { _, err := c.Tree(ctx, "a"); return err },
		"200 OK, but not as a console":    func() error { _, err := c.Server(ctx); return err },
		"it is another server":            func() error { _, err := c.Targets(ctx, "", "", 0); return err }, // it speaks JSON
		"it explains nothing":             func() error { _, err := c.Explain(ctx, inspect.Question{Name: "a"}); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Nothing listens, or can, on the local address of an open connection.
	gone := dial(t, server.Listener.Addr()).LocalAddr().String()
	c, _ = NewClient("http://"+gone, "", time.Minute)
	if _, err := c.Zones(ctx); err == nil || !strings.Contains(err.Error(), "no answer from") {
		t.Errorf("a server that is gone: %v", err)
	}
	for _, bad := range []string{"", "localhost:8090?a=b", "ftp://x", "http://", "http://a?b=c", "http://u:p@a"} {
		if _, err := NewClient(bad, "", time.Minute); err == nil {
			t.Errorf("%q is taken for a server", bad)
		}
	}
}

// FuzzRequests: no request causes a server error.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/names?q=a", "Host", "localhost", []byte(nil))
	f.Add("POST", PathPreview, "Content-Type", "application/yaml", []byte("kind: Gateway"))
	f.Add("GET", PathExplain+"?name=a.example.com&type=A&from=192.0.2.1", "Sec-Fetch-Site", "none", []byte(nil))
	f.Add("GET", PathTree+"?name=*.b.example.com", "Authorization", "Basic eDp5", []byte(nil))
	s := newServer(f)
	f.Fuzz(func(t *testing.T, method, target, name, value string, body []byte) {
		if _, err := http.NewRequest(method, "/", nil); err != nil || strings.ContainsAny(name+value, "\r\n") {
			return
		}
		h := New(Options{Source: s, Logf: t.Errorf})
		var b io.Reader
		if len(body) > 0 {
			b = bytes.NewReader(body)
		}
		if w := ask(h, method, target, b, name, value); w.Code >= 500 || w.Code < 200 {
			t.Errorf("%q %q %q: %q: status %d: %s", method, target, name, value, w.Code, w.Body)
		}
	})
}

// TestManyRequestsAtOnce: concurrent requests of all kinds end, each with an expected status.
func TestManyRequestsAtOnce(t *testing.T) {
	h := New(Options{Source: newServer(t)})
	paths := []string{
		"/", "/names", "/name?name=a.example.com", PathNames, PathExplain + "?name=a.example.com",
		"/assets/world.svg", PathTroubles, "/nothing",
	}
	done := make(chan int)
	const many = 200
	for i := range many {
		go func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			done <- ask(h, http.MethodGet, paths[r.IntN(len(paths))], nil).Code
		}()
	}
	for range many {
		if code := <-done; code != http.StatusOK && code != http.StatusNotFound && code != http.StatusTooManyRequests {
			t.Errorf("status %d", code)
		}
	}
}
