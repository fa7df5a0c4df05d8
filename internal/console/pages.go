package console

import (
	"bytes"
	"hash/fnv"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// page is the data of the layout.
type page struct {
	Title string
	// Status summarizes the page's subject for screen readers.
	Status string
	Server *Server // nil if the page is not about the server
	Search string  // the search text of the names page
	Data   []link  // links to the same data as JSON
	Nav    []navItem
	Body   any
	code   int // 0 for 200
}

// link is a link to a path of the console.
type link struct{ Path, Text string }

// navItem is a link of the navigation.
type navItem struct {
	Path, Text string
	Active     bool
}

// navigation lists the pages in order.
var navigation = []navItem{
	{Path: "/", Text: "Overview"},
	{Path: "/names", Text: "Names"},
	{Path: "/targets", Text: "Targets"},
	{Path: "/conflicts", Text: "Conflicts"},
	{Path: "/explain", Text: "Explain"},
}

// pageNames are the names of the templates.
var pageNames = []string{"overview", "names", "name", "targets", "conflicts", "explain", "problem"}

// templates maps each page name to its template, with the layout.
var templates = sync.OnceValue(func() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(funcs).ParseFS(files, "pages/layout.html", "pages/world.html"))
	all := make(map[string]*template.Template, len(pageNames))
	for _, name := range pageNames {
		all[name] = template.Must(template.Must(base.Clone()).ParseFS(files, "pages/"+name+".html"))
	}
	return all
})

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

// render renders a page as HTML.
func render(name string, p *page) ([]byte, error) {
	var b bytes.Buffer
	err := templates()[name].ExecuteTemplate(&b, "layout", p)
	return b.Bytes(), err
}

// navOf returns the navigation, with the current page marked.
func navOf(path string) []navItem {
	nav := slices.Clone(navigation)
	for i := range nav {
		nav[i].Active = nav[i].Path == path || nav[i].Path == "/names" && path == "/name"
	}
	return nav
}

// problem is the content of an error page.
type problem struct {
	Text string
	// Follows is true if the problem may be temporary: the page refreshes and becomes the requested one.
	Follows bool
}

// failPage writes an error page.
func failPage(w http.ResponseWriter, r *http.Request, code int, field, text string) {
	if field != "" {
		text = field + ": " + text
	}
	p := &page{Title: http.StatusText(code), Status: text, Nav: navOf(r.URL.Path), Body: problem{Text: text}}
	// When a page refreshes itself, its request does not name text/html, and it keeps its content.
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

// asset serves a static file.
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

// assetTypes maps file extensions to media types.
var assetTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

// choiceOf is an option of a form.
type choiceOf struct{ Value, Text string }

func namePage(v inspect.View, q query) (*page, error) {
	t, err := v.Tree(q["name"])
	if err != nil {
		return nil, err
	}
	inspect.WorstFirst(t)
	m := &page{Title: t.Name, Status: inspect.HealthText(&t.NameState)}
	asked := "A" // the selected type
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

// conflicting is the content of the page conflicts.
type conflicting struct {
	*inspect.Troubles
	// Next and NextObjects are links to the next pages, First from later pages to the first; "" for none.
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

// explained is the content of the page explain.
type explained struct {
	Asked       inspect.Question
	Wrong       string // the error in the question; "" for none
	Explanation *records.Explanation
	Near        *inspect.NamePage // if the name does not exist
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
	if of, ok := inspect.IsRequest(err); ok { // keep the form with its input
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

// explain explains an answer with a draw that depends only on the question: a page that refreshes changes only if the
// answer does, and the API agrees with it.
func explain(v inspect.View, q inspect.Question) (*records.Explanation, error) {
	v.Random = func() uint64 { return drawOf(q) }
	return v.Explain(q)
}

// drawOf returns the draw of a question, whatever its spelling.
func drawOf(q inspect.Question) uint64 {
	rtype, _ := inspect.ParseType(q.Type)
	name, _ := inspect.ParseName(q.Name)
	h := fnv.New64a()
	for _, part := range []string{name, strconv.Itoa(int(rtype)), strings.TrimSpace(q.From)} {
		_, _ = io.WriteString(h, part+"\n")
	}
	return h.Sum64()
}

// near returns names spelled similarly to name.
func near(v inspect.View, name string) (*inspect.NamePage, error) {
	return v.Names(inspect.Filter{Near: name, Limit: mostItems})
}
