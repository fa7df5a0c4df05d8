package console

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// overview is the content of the first page.
type overview struct {
	Alarms []alarm
	Server Server
	// Known is false until there is something to answer from; the fields below depend on it.
	Known bool
	// Zones are the first zones, noteworthy ones first; MoreZones is the number of the others.
	Zones     []inspect.Zone
	MoreZones int
	Targets   *inspect.TargetPage // the worst targets; nil if Known is false

	unread   []alarmItem
	troubles *inspect.Troubles
	url      string    // URL of the console
	token    bool      // the console requires a token
	tokenBad time.Time // when the token file became unreadable
}

// mostZones is the maximum number of zones on the first page.
const mostZones = 100

// overviewPage serves the first page, with problems first. It works before anything is loaded.
func (c *console) overviewPage(w http.ResponseWriter, r *http.Request) {
	if _, err := readQuery(r.URL, ""); err != nil {
		failError(w, r, err)
		return
	}
	o := overview{Server: c.Source.Server(), url: "http://" + r.Host, token: c.Token != nil}
	if c.Token != nil {
		o.Server.TokenProblem, o.tokenBad = c.Token.problem()
	}
	v, known := c.Source.Look()
	if known {
		if err := c.survey(&o, v); err != nil {
			failError(w, r, err)
			return
		}
	}
	o.alarmsOf(time.Now())
	c.show(w, r, "overview", &page{Title: "Overview", Status: o.status(), Body: o, Server: &o.Server, Data: []link{
		{PathServer, "the server"}, {PathZones, "the zones"}, {PathTroubles, "the conflicts"},
	}})
}

// survey adds the content that comes from a view.
func (c *console) survey(o *overview, v inspect.View) (err error) {
	o.Known = true
	o.Zones = v.Zones()
	slices.SortStableFunc(o.Server.Clusters, func(a, b Cluster) int { return cmp.Compare(boolean.Int(a.Synced), boolean.Int(b.Synced)) })
	slices.SortStableFunc(o.Zones, func(a, b inspect.Zone) int { return cmp.Compare(noteworthy(&b), noteworthy(&a)) })
	if o.MoreZones = max(0, len(o.Zones)-mostZones); o.MoreZones > 0 {
		o.Zones = o.Zones[:mostZones]
	}
	if o.Targets, err = c.targets.get(func() (*inspect.TargetPage, error) { return v.Targets("", "", inspect.DefaultPage) }); err != nil {
		return err
	}
	for name, owner := range v.Snapshot.UnreadNames() {
		if len(o.unread) == mostItems {
			break
		}
		o.unread = append(o.unread, alarmItem{Text: name, Link: pathOf("/explain", "name", name), More: inspect.ObjectText(owner)})
	}
	o.troubles, err = c.troublesOf(v, inspect.TroubleFilter{})
	return err
}

// noteworthy ranks a zone by how much there is to say about it; higher is more.
func noteworthy(z *inspect.Zone) int {
	switch {
	case z.Held > 0 || z.Groups != nil && z.Groups.Wrong():
		return 3
	case z.Conflicts > 0:
		return 2
	case z.Open:
		return 1
	}
	return 0
}

// server returns the state of the server and of the console.
func (c *console) server() Server {
	s := c.Source.Server()
	if c.Token != nil {
		s.TokenProblem, _ = c.Token.problem()
	}
	return s
}

// memo caches the result of a full scan for memoShare times as long as the scan took, so that scans use at most 1 %
// of a core; for memoStay at most, so that problems show up soon.
type memo[T any] struct {
	mu    sync.Mutex
	found T
	until time.Time
}

const (
	memoShare = 100
	memoStay  = 30 * time.Second
)

// get returns the cached value, or calls find.
func (m *memo[T]) get(find func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	begin := time.Now()
	if begin.Before(m.until) {
		return m.found, nil
	}
	found, err := find()
	if err == nil {
		end := time.Now()
		m.found, m.until = found, end.Add(min(memoShare*end.Sub(begin), memoStay))
	}
	return found, err
}

// troublesOf returns one page of the conflicts of a view. The first page is cached.
func (c *console) troublesOf(v inspect.View, f inspect.TroubleFilter) (*inspect.Troubles, error) {
	if f != (inspect.TroubleFilter{}) {
		return v.Troubles(f)
	}
	return c.troubles.get(func() (*inspect.Troubles, error) { return v.Troubles(f) })
}
