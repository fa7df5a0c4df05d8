package console

import (
	"fmt"
	"strconv"
	"sync"
	"time"
	"weak"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// overview is the body of the first page.
type overview struct {
	Alarms []alarm
	Zones  []inspect.Zone
	Server Server
}

// alarm is one kind of thing that somebody should look at.
type alarm struct {
	Grave     string // "grave" where users notice, or will; else ""
	Head, Why string
	Items     []alarmItem
	// Rest is how many there are besides, and All the page that has them.
	Rest int
	All  string
}

type alarmItem struct{ Text, Link, More string }

// mostItems is how many things of one kind the first page names.
const mostItems = 8

// overviewPage makes the first page: what is wrong comes first.
func (c *console) overviewPage(v inspect.View, _ query) (*made, error) {
	s := c.Source.Server()
	o := overview{Server: s, Zones: v.Zones()}
	o.add(failOpenAlarm(&s))
	o.add(heldAlarm(&s))
	o.add(clusterAlarm(&s))
	o.add(unreadAlarm(&s))
	t, err := c.troubles.get(v)
	if err != nil {
		return nil, err
	}
	o.add(conflictAlarm(t))
	o.add(troubleAlarm(t))
	status := "nothing needs attention"
	if n := len(o.Alarms); n > 0 {
		status = plural(n, "thing") + " to look at: " + o.Alarms[0].Head
	}
	return &made{title: "Overview", status: status, body: o}, nil
}

func (o *overview) add(a *alarm) {
	if a != nil {
		o.Alarms = append(o.Alarms, *a)
	}
}

func failOpenAlarm(s *Server) *alarm {
	if s.FailingOpen == 0 {
		return nil
	}
	a := &alarm{
		Grave: "grave", Head: plural(s.FailingOpen, "name") + " with nothing up", All: pathOf("/names", "state", inspect.StateFailing),
		Why: "Clients get addresses that are down, as there are no others.",
	}
	for _, f := range s.FailOpens[:min(len(s.FailOpens), mostItems)] {
		a.Items = append(a.Items, alarmItem{f.Host, pathOf("/name", "name", f.Host), f.Whom})
	}
	a.Rest = s.FailingOpen - len(a.Items)
	return a
}

func heldAlarm(s *Server) *alarm {
	if len(s.Held) == 0 {
		return nil
	}
	a := &alarm{Head: "Removals are held back", Why: "Objects are missing whose deletion nobody has reported. They go at the time that is named, unless they are back by then."}
	for _, h := range s.Held {
		a.Items = append(a.Items, alarmItem{h.Zone, pathOf("/names", "zone", h.Zone), plural(h.Names, "name") + " until " + h.Until.Format(time.TimeOnly) + " UTC"})
	}
	return a
}

func clusterAlarm(s *Server) *alarm {
	a := &alarm{Head: "Clusters that are not read in full", Why: "What was known of them last is answered. Changes there are not seen until they can be read again."}
	for _, c := range s.Clusters {
		if !c.Synced {
			a.Items = append(a.Items, alarmItem{Text: c.Name, More: "last heard " + stamp(c.LastEvent)})
		}
	}
	if a.Items == nil {
		return nil
	}
	return a
}

func unreadAlarm(s *Server) *alarm {
	if s.UnreadOwners == 0 {
		return nil
	}
	return &alarm{
		Grave: "grave", Head: plural(s.UnreadOwners, "name") + " whose owners cannot be read",
		Why: "It is on record whose they are. What only the owner knows is answered with SERVFAIL until its cluster or kind can be read.",
	}
}

func conflictAlarm(t *inspect.Troubles) *alarm {
	n := len(t.Conflicts) + t.MoreConflicts
	if n == 0 {
		return nil
	}
	a := &alarm{Head: plural(n, "conflict"), Why: "An object wants a name that another one has. The older one keeps it.", All: "/conflicts"}
	for _, c := range t.Conflicts[:min(len(t.Conflicts), mostItems)] {
		a.Items = append(a.Items, alarmItem{c.Name, pathOf("/name", "name", c.Name), "wanted by " + inspect.ObjectText(c.Loser)})
	}
	a.Rest = n - len(a.Items)
	return a
}

func troubleAlarm(t *inspect.Troubles) *alarm {
	n := len(t.Objects) + t.MoreObjects
	if n == 0 {
		return nil
	}
	a := &alarm{Head: plural(n, "object") + " not served in full", Why: "Their status says the same.", All: "/conflicts#objects"}
	for _, o := range t.Objects[:min(len(t.Objects), mostItems)] {
		a.Items = append(a.Items, alarmItem{Text: inspect.ObjectText(o.Object), More: o.Why})
	}
	a.Rest = n - len(a.Items)
	return a
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

// troubleMemo keeps what looking at every object has found, for as long as nothing has been
// compiled since. It does not keep the snapshot: nobody may look again for a day.
type troubleMemo struct {
	mu    sync.Mutex
	of    weak.Pointer[records.Snapshot]
	found *inspect.Troubles
}

// get returns the troubles of a view.
func (m *troubleMemo) get(v inspect.View) (*inspect.Troubles, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := weak.Make(v.Snapshot)
	if m.found != nil && m.of == of {
		return m.found, nil
	}
	found, err := v.Troubles(inspect.DefaultPage)
	if err == nil {
		m.of, m.found = of, found
	}
	return found, err
}
