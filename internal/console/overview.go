package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"weak"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// overview is the body of the first page.
type overview struct {
	Alarms []alarm
	Server Server
	// Known is false until there is something to answer from; what follows is of that.
	Known bool
	// Zones are the first, those about which there is something to say before the others; MoreZones is how many there
	// are besides.
	Zones     []inspect.Zone
	MoreZones int
	Targets   map[string]int // by state

	unread   []alarmItem
	troubles *inspect.Troubles
}

// mostZones is how many zones the first page has.
const mostZones = 100

// overviewPage serves the first page: what is wrong comes first. It is there while nothing is known yet, too.
func (c *console) overviewPage(w http.ResponseWriter, r *http.Request) {
	if _, err := readQuery(r.URL, ""); err != nil {
		failError(w, r, err)
		return
	}
	o := overview{Server: c.server()}
	v, known := c.Source.Look()
	if known {
		if err := c.survey(&o, v); err != nil {
			failError(w, r, err)
			return
		}
	}
	o.alarmsOf(time.Now())
	c.show(w, r, "overview", &made{title: "Overview", status: o.status(), body: o, data: []link{
		{PathServer, "the server"}, {PathZones, "the zones"}, {PathTroubles, "the conflicts"},
	}})
}

// survey adds what a view has.
func (c *console) survey(o *overview, v inspect.View) (err error) {
	o.Known = true
	o.Zones = v.Zones()
	slices.SortStableFunc(o.Zones, func(a, b inspect.Zone) int { return cmp.Compare(noteworthy(&b), noteworthy(&a)) })
	if o.MoreZones = max(0, len(o.Zones)-mostZones); o.MoreZones > 0 {
		o.Zones = o.Zones[:mostZones]
	}
	o.Targets = c.targets.get(v, time.Now())
	for name, owner := range v.Snapshot.UnreadNames() {
		if len(o.unread) == mostItems {
			break
		}
		o.unread = append(o.unread, alarmItem{name, pathOf("/explain", "name", name), inspect.ObjectText(owner)})
	}
	o.troubles, err = c.troubles.get(v, inspect.TroubleFilter{})
	return err
}

// noteworthy is higher for a zone about which there is more to say.
func noteworthy(z *inspect.Zone) int {
	switch {
	case z.Held > 0:
		return 3
	case z.Conflicts > 0:
		return 2
	case z.Open:
		return 1
	}
	return 0
}

// server says how the server is, and the console.
func (c *console) server() Server {
	s := c.Source.Server()
	if c.Token != nil {
		s.TokenProblem = c.Token.problem()
	}
	return s
}

// plural returns a count with its word.
func plural(n int, word string) string { return strconv.Itoa(n) + " " + inspect.Plural(n, word) }

// stamp returns a time to the second, in UTC.
func stamp(t time.Time) string {
	if t.IsZero() || t.Unix() <= 0 {
		return "never"
	}
	return fmt.Sprint(t.UTC().Format(time.DateTime), " UTC")
}

// troubleMemo keeps what looking at every object has found: for as long as nothing has been compiled since, and else for a
// while, which is the longer the longer it took, but for troublesStay at the most. It does not keep the snapshot:
// nobody may look again for a day.
type troubleMemo struct {
	mu    sync.Mutex
	found map[inspect.TroubleFilter]*foundTroubles
}

// foundTroubles is one page of a troubleMemo.
type foundTroubles struct {
	*inspect.Troubles
	of    weak.Pointer[records.Snapshot]
	until time.Time
}

// mostPages is how many pages a troubleMemo keeps.
const mostPages = 8

// troubleShare is how many times as long as it took to find a page, that one is good: looks at one page take no more than a
// hundredth of a core, where they take less than a third of a second.
const troubleShare = 100

// troublesStay is how long a page is good at the most, however long it took: what is wrong is what people look for.
const troublesStay = 30 * time.Second

// get returns one page of the troubles of a view.
func (m *troubleMemo) get(v inspect.View, f inspect.TroubleFilter) (*inspect.Troubles, error) {
	if f.Limit != 0 {
		return v.Troubles(f)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, now := weak.Make(v.Snapshot), time.Now()
	if was := m.found[f]; was != nil && (was.of == of || now.Before(was.until)) {
		return was.Troubles, nil
	}
	found, err := v.Troubles(f)
	if err != nil {
		return nil, err
	}
	if m.found == nil || len(m.found) >= mostPages && m.found[f] == nil {
		m.found = make(map[inspect.TroubleFilter]*foundTroubles)
	}
	end := time.Now()
	m.found[f] = &foundTroubles{found, of, end.Add(goodFor(end.Sub(now)))}
	return found, nil
}

// goodFor is for how long a page is good that it took so long to find.
func goodFor(took time.Duration) time.Duration { return min(troubleShare*took, troublesStay) }

// targetMemo keeps how many targets there are of each state for a while: each has to be looked at.
type targetMemo struct {
	mu    sync.Mutex
	found map[string]int
	until time.Time
}

// countEach is for how long a count is good, for each target that was counted: of a few it is one of the moment, of 200,000
// one of the last ten seconds.
const countEach = 50 * time.Microsecond

// get returns how many targets a view has.
func (m *targetMemo) get(v inspect.View, now time.Time) map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.until) {
		return m.found
	}
	m.found = v.TargetCounts()
	m.until = now.Add(countEach * time.Duration(v.Snapshot.Checks().Len()))
	return m.found
}
