package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
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

// alarmsOf adds what is wrong with a server, the gravest first.
func (o *overview) alarmsOf(now time.Time) {
	s := &o.Server
	o.readyAlarm()
	o.add(s.FailingOpen, alarm{
		Grave: grave, Head: plural(s.FailingOpen, "name") + " with nothing up", All: pathOf("/names", "state", inspect.StateFailing),
		Why: "Clients get addresses that are down, as there are no others.",
		Items: items(s.FailOpens, func(f FailOpen) alarmItem {
			return alarmItem{f.Host, pathOf("/name", "name", f.Host), f.Whom}
		}),
	})
	o.add(s.UnreadOwners, alarm{
		Grave: grave, Head: plural(s.UnreadOwners, "name") + " whose owners cannot be read",
		Why:   "It is on record whose they are. What only the owner knows is answered with SERVFAIL until its cluster or kind can be read.",
		Items: append([]alarmItem{}, o.unread...),
	})
	away := slices.DeleteFunc(slices.Clone(s.Clusters), func(c Cluster) bool { return c.Synced })
	o.add(len(away), alarm{
		Head: "Clusters that are not read in full", All: "#clusters",
		Why:   "What was known of them last is answered. Changes there are not seen until they can be read again.",
		Items: items(away, clusterItem),
	})
	o.heldAlarm(now)
	o.targetAlarm(o.Targets["down"], o.Targets["unknown"])
	if s.Overdue > lateChecks {
		o.add(1, alarm{
			Head: "Checks are late",
			Why: "The one that has waited longest is " + plural(int(s.Overdue), "second") +
				" past its time. What is down leaves the answers late.",
		})
	}
	o.add(s.OverridesInForce, alarm{
		Head:  plural(s.OverridesInForce, "override") + " in force",
		Why:   "What the operator's file says goes before what is found, until it is taken out there.",
		Items: items(s.Overrides, func(text string) alarmItem { return alarmItem{Text: text} }),
	})
	if s.TokenProblem != "" {
		o.add(1, alarm{Head: "The console's token cannot be read", Why: "The previous token stays in force: " + s.TokenProblem + "."})
	}
	if o.troubles != nil {
		o.troubleAlarms(o.troubles)
	}
	slices.SortStableFunc(o.Alarms, func(a, b alarm) int { return len(b.Grave) - len(a.Grave) })
}

// lateChecks is how many seconds checks may be late, as the alert KuadrantProbesOverdue has it.
const lateChecks = 5

// add adds an alarm about n things; none for 0.
func (o *overview) add(n int, a alarm) {
	if n == 0 {
		return
	}
	if a.Items != nil {
		a.Rest = n - len(a.Items)
	}
	o.Alarms = append(o.Alarms, a)
}

// items returns the first things of one kind, as an alarm names them.
func items[T any](all []T, item func(T) alarmItem) []alarmItem {
	list := []alarmItem{}
	for _, one := range all[:min(len(all), mostItems)] {
		list = append(list, item(one))
	}
	return list
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
func (o *overview) readyAlarm() {
	switch s := &o.Server; {
	case s.Ready:
	case s.Snapshot.IsZero():
		o.add(1, alarm{
			Grave: grave, Head: "Nothing is known yet",
			Why: "The objects are being listed. Until then queries are answered with SERVFAIL, and /ready says no. The log of the server " +
				"says what is missing.",
		})
	default:
		o.add(1, alarm{
			Grave: grave, Head: "The server is not ready",
			Why: "Too little is known to answer for all clusters, or the first checks have not ended. Until then /ready says no, so that " +
				"queries go to other servers.",
		})
	}
}

func clusterItem(c Cluster) alarmItem {
	more := "last heard " + stamp(c.LastEvent)
	if c.Problem != "" {
		more += ": " + c.Problem
	}
	return alarmItem{Text: c.Name, More: more}
}

func (o *overview) heldAlarm(now time.Time) {
	held := slices.Clone(o.Server.Held)
	slices.SortStableFunc(held, func(a, b Held) int { return a.Until.Compare(b.Until) })
	names := 0
	for _, h := range held {
		names += h.Names
	}
	o.add(len(held), alarm{
		Head: "Removals are held back: " + plural(names, "name") + " in " + plural(len(held), "zone"), All: "#zones",
		Why: "Objects are missing whose deletion nobody has reported. They go at the time that is named, unless they are " +
			"back by then.",
		Items: items(held, func(h Held) alarmItem {
			return alarmItem{h.Zone, pathOf("/names", "zone", h.Zone), plural(h.Names, "name") + " until " + stamp(h.Until) + ", " +
				inTime(h.Until.Sub(now))}
		}),
	})
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

func (o *overview) targetAlarm(down, unknown int) {
	a := alarm{
		Head: plural(down, "target") + " down", All: pathOf("/targets", "state", "down"), Rest: down + unknown,
		Why: "A name with others that are up is answered with these.",
	}
	switch {
	case down == 0:
		a.Head, a.All = plural(unknown, "target")+" not decided", pathOf("/targets", "state", "unknown")
	case unknown > 0:
		a.Head, a.All = a.Head+", "+plural(unknown, "target")+" not decided", "/targets" // the worst first
	}
	o.add(down+unknown, a)
}

func (o *overview) troubleAlarms(t *inspect.Troubles) {
	o.add(t.AllConflicts, alarm{
		Head: plural(t.AllConflicts, "conflict"), Why: "An object wants a name that another one has. The older one keeps it.",
		All: "/conflicts", Items: items(t.Conflicts, func(c records.Conflict) alarmItem {
			return alarmItem{c.Name, pathOf("/name", "name", c.Name), "wanted by " + inspect.ObjectText(c.Loser)}
		}),
	})
	o.add(t.AllObjects, alarm{
		Head: plural(t.AllObjects, "object") + " not served in full", Why: "Their status says the same.",
		All: "/conflicts#objects", Items: items(t.Objects, func(o records.Trouble) alarmItem {
			return alarmItem{Text: inspect.ObjectText(o.Object), More: o.Why}
		}),
	})
}
