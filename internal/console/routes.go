package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// endpoints returns all paths.
func (c *console) endpoints() []endpoint {
	api := func(path, known string, ask func(inspect.View, query) (any, error)) endpoint {
		return endpoint{path, http.MethodGet, loadPage, answering(c, known, ask, writeJSON)}
	}
	all := []endpoint{
		{PathServer, http.MethodGet, loadPage, func(w http.ResponseWriter, r *http.Request) {
			if _, err := readQuery(r.URL, ""); err != nil {
				failError(w, r, err)
				return
			}
			writeJSON(w, r, c.server())
		}},
		api(PathZones, "", func(v inspect.View, _ query) (any, error) { return v.Zones(), nil }),
		api(PathNames, "zone q state near after limit", func(v inspect.View, q query) (any, error) {
			return v.Names(inspect.Filter{
				Zone: q["zone"], Contains: q["q"], State: q["state"], Near: q["near"], After: q["after"], Limit: q.limit(),
			})
		}),
		api(PathTree, "name", func(v inspect.View, q query) (any, error) { return v.Tree(q["name"]) }),
		api(PathTargets, "state q limit", func(v inspect.View, q query) (any, error) {
			return v.Targets(q["state"], q["q"], q.limit())
		}),
		api(PathTroubles, "after objectsAfter limit", func(v inspect.View, q query) (any, error) {
			return c.troublesOf(v, inspect.TroubleFilter{After: q["after"], ObjectsAfter: q["objectsAfter"], Limit: q.limit()})
		}),
		api(PathExplain, "name type from", func(v inspect.View, q query) (any, error) {
			return explain(v, inspect.Question{Name: q["name"], Type: q["type"], From: q["from"]})
		}),
		api(PathWorld, "name type", func(v inspect.View, q query) (any, error) {
			return v.World(inspect.Question{Name: q["name"], Type: q["type"]})
		}),
		{PathPreview, http.MethodPost, loadPreview, c.preview},
		{"/api/", http.MethodGet, loadAsset, func(w http.ResponseWriter, r *http.Request) {
			fail(w, r, http.StatusNotFound, "nothing at %.100q; the API is %s", r.URL.Path,
				strings.Join([]string{
					PathServer, PathZones, PathNames, PathTree, PathTargets, PathTroubles, PathExplain, PathWorld,
					PathPreview,
				}, ", "))
		}},
	}
	return append(all, c.pages()...)
}

// pages returns the endpoints of the pages and of their assets.
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

// New returns the handler of the console. It is safe for concurrent use.
func New(opt Options) http.Handler {
	if opt.Logf == nil {
		opt.Logf = func(string, ...any) {}
	}
	if opt.Infof == nil {
		opt.Infof = opt.Logf
	}
	c := &console{Options: opt, load: newLoad()}
	mux := http.NewServeMux()
	for _, e := range c.endpoints() {
		mux.Handle(e.path, c.bounded(e))
	}
	return c.guarded(mux)
}
