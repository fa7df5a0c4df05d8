package console

import (
	"bytes"
	"cmp"
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
	Server *Server // nil where the page is about none
	Search string  // what the names are looked through for
	Data   []link  // the same as JSON
	Nav    []navItem
	Body   any
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

// made is one page that is to be shown.
type made struct {
	title, status string
	code          int // 0 for 200
	body          any
	data          []link // the same as JSON; nil where there is none
	server        *Server
}

// pages returns the endpoints of the pages and what they load.
func (c *console) pages() []endpoint {
	show := func(path, name, api, known string, ask func(inspect.View, query) (*made, error)) endpoint {
		return endpoint{path, http.MethodGet, loadPage, answering(c, known, ask, func(w http.ResponseWriter, r *http.Request, m *made) {
			if api != "" {
				u := url.URL{Path: api, RawQuery: r.URL.RawQuery}
				m.data = append([]link{{u.String(), "this page"}}, m.data...)
			}
			c.show(w, r, name, m)
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
			fail(w, r, http.StatusNotFound, "there is no page %.100q", r.URL.Path)
		}},
	}
}

// show writes a page.
func (c *console) show(w http.ResponseWriter, r *http.Request, name string, m *made) {
	if m.server == nil {
		s := c.Source.Server()
		m.server = &s
	}
	p := &page{Title: m.title, Status: m.status, Server: m.server, Data: m.data, Nav: navOf(r.URL.Path), Body: m.body}
	if name == "names" {
		p.Search = r.URL.Query().Get("q")
	}
	body, err := render(name, p)
	if err != nil {
		c.Logf("console: page %s: %v: please report this", name, err)
		http.Error(w, "this should not have happened; the log of the server says more", http.StatusInternalServerError)
		return
	}
	if m.code != 0 {
		w.Header().Set("Content-Type", htmlType)
		w.WriteHeader(m.code)
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
	// Follows is true where it may be over soon: the page follows, and becomes the one that was asked for.
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
		fail(w, r, http.StatusBadRequest, "there are no parameters here")
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := files.ReadFile(name)
	if err != nil {
		fail(w, r, http.StatusNotFound, "there is no file %.100q", r.URL.Path)
		return
	}
	write(w, r, assetTypes[name[strings.LastIndexByte(name, '.')+1:]], data)
}

// assetTypes are the types of the files, by their extension.
var assetTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

// choiceOf is one choice of a form.
type choiceOf struct{ Value, Text string }

var nameStates = []choiceOf{
	{"", "any"},
	{inspect.StateFailing, "nothing is up"},
	{inspect.StateImpaired, "down or not decided"},
	{inspect.StateContended, "contended"},
}

// named is the body of the page names.
type named struct {
	Filter inspect.Filter
	Zones  []string
	States []choiceOf
	Page   *inspect.NamePage
	Next   string
	Near   []string
}

func (c *console) namesPage(v inspect.View, q query) (*made, error) {
	f := inspect.Filter{Zone: q["zone"], Contains: q["q"], State: q["state"], After: q["after"]}
	found, err := v.Names(f)
	if err != nil {
		return nil, err
	}
	body := named{Filter: f, States: nameStates, Page: found}
	if found.Next != "" {
		body.Next = pathOf("/names", "zone", f.Zone, "q", f.Contains, "state", f.State, "after", found.Next)
	}
	if f == (inspect.Filter{}) && found.Next != "" { // the worst of all pages come first, too
		worst, err := c.worst.get(func() (*inspect.NamePage, error) { return v.Names(inspect.Filter{State: inspect.StateImpaired}) })
		if err != nil {
			return nil, err
		}
		known := make(map[string]bool)
		for _, n := range worst.Names {
			known[n.Name] = true
		}
		rest := slices.DeleteFunc(found.Names, func(n records.NameState) bool { return known[n.Name] })
		found.Names = append(slices.Clone(worst.Names), rest...)
	}
	if len(found.Names) == 0 {
		if body.Near, err = near(v, f.Contains); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(found.Names, func(a, b records.NameState) int { return cmp.Compare(trouble(&b), trouble(&a)) })
	for _, z := range v.Zones() {
		if len(body.Zones) < mostZones {
			body.Zones = append(body.Zones, z.Name)
		}
	}
	return &made{title: "Names", status: namesText(found.Names), body: body}, nil
}

// near returns the names that are spelled nearly as one.
func near(v inspect.View, name string) (list []string, err error) {
	const most = 3
	if name == "" {
		return nil, nil
	}
	found, err := v.Names(inspect.Filter{Near: name, Limit: most})
	if err != nil {
		return nil, err
	}
	for _, n := range found.Names {
		list = append(list, n.Name)
	}
	return list, nil
}

// trouble is higher for a name with which more is wrong.
func trouble(n *records.NameState) int {
	switch {
	case n.FailsOpen != "":
		return 4
	case n.Addresses.Down > 0:
		return 3
	case n.Addresses.Unknown > 0:
		return 2
	case n.Losers > 0:
		return 1
	}
	return 0
}

// namesText counts names, and those among them that need attention.
func namesText(names []records.NameState) string {
	failing, contended := 0, 0
	for i := range names {
		if names[i].FailsOpen != "" {
			failing++
		}
		if names[i].Losers > 0 {
			contended++
		}
	}
	text := plural(len(names), "name") + " shown"
	if failing > 0 {
		text += ", " + strconv.Itoa(failing) + " with nothing up"
	}
	if contended > 0 {
		text += ", " + strconv.Itoa(contended) + " contended"
	}
	return text
}

func namePage(v inspect.View, q query) (*made, error) {
	t, err := v.Tree(q["name"])
	if err != nil {
		return nil, err
	}
	inspect.WorstFirst(t)
	m := &made{title: t.Name, status: inspect.HealthText(&t.NameState)}
	asked := "A" // the type whose choice is shown
	if !slices.Contains(t.Types, asked) && slices.Contains(t.Types, "AAAA") {
		asked = "AAAA"
	}
	var w *inspect.World
	if t.Members > 0 && slices.Contains(t.Types, asked) {
		if w, err = v.World(inspect.Question{Name: t.Name, Type: asked}); err != nil {
			return nil, err
		}
		m.data = []link{{pathOf(PathWorld, "name", t.Name, "type", asked), "the map"}}
	}
	m.body = struct {
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

func targetsPage(v inspect.View, q query) (*made, error) {
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
	return &made{title: "Targets", status: status, body: struct {
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

func (c *console) conflictsPage(v inspect.View, q query) (*made, error) {
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
	return &made{title: "Conflicts", status: status, body: body}, nil
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
	Near        []string // where the name does not exist
}

func explainPage(v inspect.View, q query) (*made, error) {
	body := explained{Asked: inspect.Question{Name: q["name"], Type: q["type"], From: q["from"]}}
	if body.Asked.Type == "" {
		body.Asked.Type = "A"
	}
	m := &made{title: "Explain an answer"}
	if q["name"] == "" && len(q) == 0 {
		m.body = body
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
	m.body = body
	if x != nil {
		m.title, m.status = "Why "+x.Name+" has this answer", inspect.AnswerText(x)
		m.data = []link{{pathOf(PathExplain, "name", body.Asked.Name, "type", body.Asked.Type, "from", body.Asked.From), "this page"}}
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
