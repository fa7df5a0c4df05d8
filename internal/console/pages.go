package console

import (
	"bytes"
	"embed"
	"hash/fnv"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

//go:embed pages assets
var files embed.FS

// page is what the layout shows.
type page struct {
	Title string
	// Status is what has become of what the page is about, in a few words, for those who hear it.
	Status string
	Server *Server // nil if the page is about none
	Search string  // what the names are looked through for
	Data   []link  // the same as JSON; nil for none
	Nav    []navItem
	Body   any
	code   int // 0 for 200
}

// link leads to a path.
type link struct{ Path, Text string }

// navItem is one link of the navigation.
type navItem struct {
	Path, Text string
	Active     bool
}

// navigation are the pages, in their order.
var navigation = []navItem{
	{Path: "/", Text: "Overview"},
	{Path: "/names", Text: "Names"},
	{Path: "/targets", Text: "Targets"},
	{Path: "/conflicts", Text: "Conflicts"},
	{Path: "/explain", Text: "Explain"},
}

// pageNames are the templates.
var pageNames = []string{"overview", "names", "name", "targets", "conflicts", "explain", "problem"}

// templates are the pages, by name, each with the layout.
var templates = sync.OnceValue(func() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(funcs).ParseFS(files, "pages/layout.html", "pages/world.html"))
	all := make(map[string]*template.Template, len(pageNames))
	for _, name := range pageNames {
		all[name] = template.Must(template.Must(base.Clone()).ParseFS(files, "pages/"+name+".html"))
	}
	return all
})

// pages returns the endpoints of the pages and what they load.
func (c *console) pages() []endpoint {
	show := func(path, name, api, known string, ask func(inspect.View, query) (*page, error)) endpoint {
		return endpoint{path, http.MethodGet, loadPage, answering(c, known, ask, func(w http.ResponseWriter, r *http.Request, p *page) {
			if api != "" {
				u := url.URL{Path: api, RawQuery: r.URL.RawQuery}
				p.Data = append([]link{{u.String(), "this page"}}, p.Data...)
			}
			c.show(w, r, name, p)
		})}
	}
	return []endpoint{
		{"/{$}", http.MethodGet, loadPage, c.overviewPage},
		show("/names", "names", PathNames, "zone q state after", c.namesPage),
		show("/name", "name", PathTree, "name", namePage),
		show("/targets", "targets", PathTargets, "state q", targetsPage),
		show("/conflicts", "conflicts", PathTroubles, "after objectsAfter", c.conflictsPage),
		show("/explain", "explain", "", "name type from", explainPage),
		{"/assets/", http.MethodGet, loadAsset, asset},
		{"/", http.MethodGet, loadAsset, func(w http.ResponseWriter, r *http.Request) {
			fail(w, r, http.StatusNotFound, "no page %.100q", r.URL.Path)
		}},
	}
}

// show writes a page.
func (c *console) show(w http.ResponseWriter, r *http.Request, name string, p *page) {
	p.Nav = navOf(r.URL.Path)
	if p.Server == nil {
		s := c.Source.Server()
		p.Server = &s
	}
	body, err := render(name, p)
	if err != nil {
		c.Logf("console: page %s: %v; please report this", name, err)
		http.Error(w, "internal error; see the server's log", http.StatusInternalServerError)
		return
	}
	if p.code != 0 {
		w.Header().Set("Content-Type", htmlType)
		w.WriteHeader(p.code)
		_, _ = w.Write(body)
		return
	}
	write(w, r, htmlType, body)
}

const htmlType = "text/html; charset=utf-8"

// render returns a page as HTML.
func render(name string, p *page) ([]byte, error) {
	var b bytes.Buffer
	err := templates()[name].ExecuteTemplate(&b, "layout", p)
	return b.Bytes(), err
}

// navOf returns the navigation of a page.
func navOf(path string) []navItem {
	nav := slices.Clone(navigation)
	for i := range nav {
		nav[i].Active = nav[i].Path == path || nav[i].Path == "/names" && path == "/name"
	}
	return nav
}

// problem is the body of a page that says what is wrong.
type problem struct {
	Text string
	// Follows is true if it may be over soon: the page follows, and becomes the one that was asked for.
	Follows bool
}

// failPage writes a page that says what is wrong.
func failPage(w http.ResponseWriter, r *http.Request, code int, field, text string) {
	if field != "" {
		text = field + ": " + text
	}
	p := &page{Title: http.StatusText(code), Status: text, Nav: navOf(r.URL.Path), Body: problem{Text: text}}
	// A page that is there already and looks again keeps what it shows: it does not ask for HTML by its type.
	if momentary := code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable; momentary &&
		strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.Body = problem{text, true}
		for _, n := range p.Nav {
			if n.Active {
				p.Title = n.Text
			}
		}
	}
	body, err := render("problem", p)
	if err != nil {
		http.Error(w, text, code)
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// asset writes a file that pages load.
func asset(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		fail(w, r, http.StatusBadRequest, "no parameters are allowed here")
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := files.ReadFile(name)
	if err != nil {
		fail(w, r, http.StatusNotFound, "no file %.100q", r.URL.Path)
		return
	}
	write(w, r, assetTypes[name[strings.LastIndexByte(name, '.')+1:]], data)
}

// assetTypes are the types of the files, by their extension.
var assetTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

// choiceOf is one choice of a form.
type choiceOf struct{ Value, Text string }

func namePage(v inspect.View, q query) (*page, error) {
	t, err := v.Tree(q["name"])
	if err != nil {
		return nil, err
	}
	inspect.WorstFirst(t)
	m := &page{Title: t.Name, Status: inspect.HealthText(&t.NameState)}
	asked := "A" // the type whose choice is shown
	if !slices.Contains(t.Types, asked) && slices.Contains(t.Types, "AAAA") {
		asked = "AAAA"
	}
	var w *inspect.World
	if t.Members > 0 && slices.Contains(t.Types, asked) {
		if w, err = v.World(inspect.Question{Name: t.Name, Type: asked}); err != nil {
			return nil, err
		}
		m.Data = []link{{pathOf(PathWorld, "name", t.Name, "type", asked), "the map"}}
	}
	m.Body = struct {
		Tree  *records.Tree
		Type  string
		World *inspect.World
	}{t, asked, w}
	return m, nil
}

var targetStates = []choiceOf{
	{"", "any"},
	{"down", "down"},
	{"unknown", "not decided"},
	{inspect.StatePending, "not checked yet"},
	{"up", "up"},
}

func targetsPage(v inspect.View, q query) (*page, error) {
	found, err := v.Targets(q["state"], q["q"], inspect.DefaultPage)
	if err != nil {
		return nil, err
	}
	status := plural(found.Counts["up"], "target") + " up"
	for _, s := range targetStates[1:4] {
		if n := found.Counts[s.Value]; n > 0 {
			status += ", " + strconv.Itoa(n) + " " + s.Text
		}
	}
	return &page{Title: "Targets", Status: status, Body: struct {
		Contains, State string
		States          []choiceOf
		Page            *inspect.TargetPage
	}{q["q"], q["state"], targetStates, found}}, nil
}

// conflicting is the body of the page conflicts.
type conflicting struct {
	*inspect.Troubles
	// Next and NextObjects lead to the pages behind this one; First to the first ones, from others. They are "" for none.
	Next, NextObjects, First string
}

func (c *console) conflictsPage(v inspect.View, q query) (*page, error) {
	f := inspect.TroubleFilter{After: q["after"], ObjectsAfter: q["objectsAfter"]}
	found, err := c.troublesOf(v, f)
	if err != nil {
		return nil, err
	}
	body := conflicting{Troubles: found}
	if found.Next != "" {
		body.Next = pathOf("/conflicts", "after", found.Next, "objectsAfter", f.ObjectsAfter)
	}
	if found.NextObjects != "" {
		body.NextObjects = pathOf("/conflicts", "after", f.After, "objectsAfter", found.NextObjects) + "#objects"
	}
	if f != (inspect.TroubleFilter{}) {
		body.First = "/conflicts"
	}
	status := plural(found.AllConflicts, "conflict") + ", " + plural(found.AllObjects, "object") + " not served in full"
	return &page{Title: "Conflicts", Status: status, Body: body}, nil
}

// pathOf returns the path of a page with parameters, from names and values in turn.
func pathOf(path string, pairs ...string) string {
	u := url.URL{Path: path, RawQuery: values(pairs...).Encode()}
	return u.String()
}

// explained is the body of the page explain.
type explained struct {
	Asked       inspect.Question
	Wrong       string // what is wrong with the question; "" for nothing
	Explanation *records.Explanation
	Near        *inspect.NamePage // where the name does not exist
}

func explainPage(v inspect.View, q query) (*page, error) {
	body := explained{Asked: inspect.Question{Name: q["name"], Type: q["type"], From: q["from"]}}
	if body.Asked.Type == "" {
		body.Asked.Type = "A"
	}
	m := &page{Title: "Explain an answer"}
	if q["name"] == "" && len(q) == 0 {
		m.Body = body
		return m, nil
	}
	x, err := explain(v, body.Asked)
	missing := x != nil && x.Rcode == "NXDOMAIN"
	if of, ok := inspect.IsRequest(err); ok { // the form stays, with what is in it
		body.Wrong, m.code = of.Error(), http.StatusBadRequest
		if missing = of.NotFound; missing {
			m.code = http.StatusNotFound
		}
	} else if err != nil {
		return nil, err
	}
	if missing {
		if body.Near, err = near(v, q["name"]); err != nil {
			return nil, err
		}
	}
	body.Explanation = x
	m.Body = body
	if x != nil {
		m.Title, m.Status = "Why "+x.Name+" has this answer", inspect.AnswerText(x)
		m.Data = []link{{pathOf(PathExplain, "name", body.Asked.Name, "type", body.Asked.Type, "from", body.Asked.From), "this page"}}
	}
	return m, nil
}

// explain explains the answer to a question, of the same draw each time: a page that is looked at again every two
// seconds does not change unless what it shows does, and the API has the same.
func explain(v inspect.View, q inspect.Question) (*records.Explanation, error) {
	v.Random = func() uint64 { return drawOf(q) }
	return v.Explain(q)
}

// drawOf returns the draw of a question, however it is written.
func drawOf(q inspect.Question) uint64 {
	rtype, _ := inspect.ParseType(q.Type)
	name, _ := inspect.ParseName(q.Name)
	h := fnv.New64a()
	for _, part := range []string{name, strconv.Itoa(int(rtype)), strings.TrimSpace(q.From)} {
		_, _ = io.WriteString(h, part+"\n")
	}
	return h.Sum64()
}
