package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/inspect"
)

// alarm is one kind of thing that somebody should look at.
type alarm struct {
	Grave     string // "grave" where users notice, or will; else ""
	Head, Why string
	Items     []alarmItem
	// Rest is how many there are besides, and All the page that has them; "" for none.
	Rest int
	All  string
}

type alarmItem struct{ Text, Link, More string }

// mostItems is how many things of one kind the first page names.
const mostItems = 8

// grave is alarm.Grave of what users notice.
const grave = "grave"

// alarmsOf returns what is wrong with a server, the gravest first.
func (o *overview) alarmsOf(now time.Time) {
	s := &o.Server
	o.add(readyAlarm(s))
	o.add(failOpenAlarm(s))
	o.add(unreadAlarm(s, o.unread))
	o.add(clusterAlarm(s))
	o.add(heldAlarm(s, now))
	o.add(targetAlarm(o.Targets["down"], o.Targets["unknown"]))
	o.add(overdueAlarm(s))
	o.add(overrideAlarm(s))
	o.add(tokenAlarm(s))
	if o.troubles != nil {
		o.add(conflictAlarm(o.troubles))
		o.add(troubleAlarm(o.troubles))
	}
	slices.SortStableFunc(o.Alarms, func(a, b alarm) int { return len(b.Grave) - len(a.Grave) })
}

func (o *overview) add(a *alarm) {
	if a != nil {
		o.Alarms = append(o.Alarms, *a)
	}
}

// status says in a few words what there is to look at.
func (o *overview) status() string {
	if len(o.Alarms) == 0 {
		return "nothing needs attention"
	}
	heads := make([]string, len(o.Alarms))
	for i, a := range o.Alarms {
		heads[i] = a.Head
	}
	return plural(len(heads), "thing") + " to look at: " + strings.Join(heads, ", ")
}

// readyAlarm says that queries should not be sent here yet.
func readyAlarm(s *Server) *alarm {
	switch {
	case s.Ready:
		return nil
	case s.Snapshot.IsZero():
		return &alarm{
			Grave: grave, Head: "Nothing is known yet",
			Why: "The objects are being listed. Until then queries are answered with SERVFAIL, and /ready says no. The log of the server " +
				"says what is missing.",
		}
	}
	return &alarm{
		Grave: grave, Head: "The server is not ready",
		Why: "Too little is known to answer for all clusters, or the first checks have not ended. Until then /ready says no, so that " +
			"queries go to other servers.",
	}
}

func failOpenAlarm(s *Server) *alarm {
	if s.FailingOpen == 0 {
		return nil
	}
	a := &alarm{
		Grave: grave, Head: plural(s.FailingOpen, "name") + " with nothing up", All: pathOf("/names", "state", inspect.StateFailing),
		Why: "Clients get addresses that are down, as there are no others.",
	}
	for _, f := range s.FailOpens[:min(len(s.FailOpens), mostItems)] {
		a.Items = append(a.Items, alarmItem{f.Host, pathOf("/name", "name", f.Host), f.Whom})
	}
	a.Rest = s.FailingOpen - len(a.Items)
	return a
}

func unreadAlarm(s *Server, some []inspect.Unread) *alarm {
	if s.UnreadOwners == 0 {
		return nil
	}
	a := &alarm{
		Grave: grave, Head: plural(s.UnreadOwners, "name") + " whose owners cannot be read",
		Why: "It is on record whose they are. What only the owner knows is answered with SERVFAIL until its cluster or kind can be read.",
	}
	for _, u := range some {
		a.Items = append(a.Items, alarmItem{u.Name, pathOf("/explain", "name", u.Name), inspect.ObjectText(u.Owner)})
	}
	a.Rest = max(0, s.UnreadOwners-len(a.Items))
	return a
}

func clusterAlarm(s *Server) *alarm {
	a := &alarm{
		Head: "Clusters that are not read in full",
		Why:  "What was known of them last is answered. Changes there are not seen until they can be read again.",
	}
	for _, c := range s.Clusters {
		if !c.Synced {
			more := "last heard " + stamp(c.LastEvent)
			if c.Problem != "" {
				more += ": " + c.Problem
			}
			a.Items = append(a.Items, alarmItem{Text: c.Name, More: more})
		}
	}
	if a.Items == nil {
		return nil
	}
	a.limit("#clusters")
	return a
}

// limit keeps the first items; a page has all.
func (a *alarm) limit(all string) {
	if a.Rest = max(0, len(a.Items)-mostItems); a.Rest > 0 {
		a.Items, a.All = a.Items[:mostItems], all
	}
}

func heldAlarm(s *Server, now time.Time) *alarm {
	if len(s.Held) == 0 {
		return nil
	}
	held := slices.Clone(s.Held)
	slices.SortStableFunc(held, func(a, b Held) int { return a.Until.Compare(b.Until) })
	a := &alarm{Why: "Objects are missing whose deletion nobody has reported. They go at the time that is named, unless they are " +
		"back by then."}
	names := 0
	for _, h := range held {
		names += h.Names
		if len(a.Items) < mostItems {
			a.Items = append(a.Items, alarmItem{h.Zone, pathOf("/names", "zone", h.Zone), plural(h.Names, "name") + " until " +
				stamp(h.Until) + ", " + inTime(h.Until.Sub(now))})
		}
	}
	a.Head = "Removals are held back: " + plural(names, "name") + " in " + plural(len(held), "zone")
	if a.Rest = len(held) - len(a.Items); a.Rest > 0 {
		a.All = "#zones"
	}
	return a
}

// inTime says how long there is until something, to the minute.
func inTime(left time.Duration) string {
	switch minutes := int(left.Round(time.Minute).Minutes()); {
	case left <= 0:
		return "now"
	case minutes == 0:
		return "in less than a minute"
	case minutes < 60:
		return "in " + plural(minutes, "minute")
	default:
		return fmt.Sprintf("in %d h %d min", minutes/60, minutes%60)
	}
}

func targetAlarm(down, unknown int) *alarm {
	if down+unknown == 0 {
		return nil
	}
	a := &alarm{
		Head: plural(down, "target") + " down", All: pathOf("/targets", "state", "down"), Rest: down + unknown,
		Why: "A name with others that are up is answered with these.",
	}
	switch {
	case down == 0:
		a.Head, a.All = plural(unknown, "target")+" not decided", pathOf("/targets", "state", "unknown")
	case unknown > 0:
		a.Head, a.All = a.Head+", "+plural(unknown, "target")+" not decided", "/targets" // the worst first
	}
	return a
}

// lateChecks is how many seconds checks may be late, as the alert KuadrantProbesOverdue has it.
const lateChecks = 5

func overdueAlarm(s *Server) *alarm {
	if s.Overdue <= lateChecks {
		return nil
	}
	return &alarm{
		Head: "Checks are late",
		Why:  "The one that has waited longest is " + plural(int(s.Overdue), "second") + " past its time. What is down leaves the answers late.",
	}
}

func overrideAlarm(s *Server) *alarm {
	if s.OverridesInForce == 0 {
		return nil
	}
	a := &alarm{
		Head: plural(s.OverridesInForce, "override") + " in force",
		Why:  "What the operator's file says goes before what is found, until it is taken out there.",
	}
	for _, text := range s.Overrides[:min(len(s.Overrides), mostItems)] {
		a.Items = append(a.Items, alarmItem{Text: text})
	}
	a.Rest = s.OverridesInForce - len(a.Items)
	return a
}

func tokenAlarm(s *Server) *alarm {
	if s.TokenProblem == "" {
		return nil
	}
	return &alarm{Head: "The console's token cannot be read", Why: "The token of before counts on: " + s.TokenProblem + "."}
}

func conflictAlarm(t *inspect.Troubles) *alarm {
	n := t.AllConflicts
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
	n := t.AllObjects
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
