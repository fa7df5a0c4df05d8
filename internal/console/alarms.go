package console

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// alarm is one kind of problem that needs attention.
type alarm struct {
	Grave     string // "grave" if users notice or will notice; else ""
	Head, Why string
	// Since is when the first of the items began; zero if unknown. Runbook is a section of docs/runbooks.md, "" for
	// none. Command is for a closer look; "" shows the state of the server.
	Since            time.Time
	Runbook, Command string
	Items            []alarmItem
	// Rest is the number of items not shown; All is the page that lists them all, "" for none.
	Rest int
	All  string
}

type alarmItem struct {
	Text, Link, More string
	Since            time.Time // zero if unknown
}

// mostItems is the maximum number of items per alarm on the first page.
const mostItems = 4

// grave is the alarm.Grave of problems that users notice.
const grave = "grave"

// runbooks is the URL prefix of the runbooks.
const runbooks = "https://github.com/coredns-kuadrant/kuadrant/blob/main/docs/runbooks.md#"

// command joins words into a command, quoted for a shell.
func command(words ...string) string {
	for i, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) }) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// plainRunes need no quoting in a shell.
const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/[]"

// kdns returns a kdns command that queries this console; words follow the program's name.
func (o *overview) kdns(words ...string) string {
	words = append([]string{"kdns"}, append(words, "--server", o.url)...)
	if o.token {
		words = append(words, "--token-file", "FILE")
	}
	return command(words...)
}

// alarmsOf adds the alarms of a server, the gravest first.
func (o *overview) alarmsOf(now time.Time) {
	s := &o.Server
	o.readyAlarm()
	o.failOpenAlarm()
	o.unreadAlarm()
	o.clusterAlarm()
	o.heldAlarm(now)
	o.unregisteredAlarm()
	o.targetAlarm()
	o.groupsAlarm()
	if s.Overdue > lateChecks {
		o.add(1, alarm{
			Head: "Checks are late", Since: now.Add(-time.Duration(s.Overdue * float64(time.Second))), Runbook: "kuadrantprobesoverdue",
			Command: o.kdns("list", "targets"),
			Why: "The most overdue check is " + plural(int(s.Overdue), "second") +
				" late. Targets that are down stay in the answers longer.",
		})
	}
	o.add(s.OverridesInForce, alarm{
		Head: plural(s.OverridesInForce, "override") + " in force", Since: s.Since[SinceOverrides],
		Why:   "The override file takes precedence over checks, until the lines are removed.",
		Items: items(s.Overrides, func(text string) alarmItem { return alarmItem{Text: text} }),
	})
	if s.TokenProblem != "" {
		o.add(1, alarm{
			Head: "The console's token cannot be read", Why: "The previous token is still accepted: " + s.TokenProblem + ".", Since: o.tokenBad,
		})
	}
	if o.troubles != nil {
		o.troubleAlarms(o.troubles)
	}
	slices.SortStableFunc(o.Alarms, func(a, b alarm) int { return len(b.Grave) - len(a.Grave) })
}

// failOpenAlarm lists names that have no target up.
func (o *overview) failOpenAlarm() {
	s := &o.Server
	a := alarm{
		Grave: grave, Head: plural(s.FailingOpen, "name") + " with nothing up", All: pathOf("/names", "state", inspect.StateFailing),
		Why:     "None of their targets is up. Clients get addresses that are down, as there are no others; with fail: closed, they get none.",
		Runbook: "kuadranthostdown", Since: s.Since[SinceFailing],
		Items: items(s.FailOpens, func(f FailOpen) alarmItem {
			return alarmItem{f.Host, pathOf("/name", "name", f.Host), f.Whom, f.Since}
		}),
	}
	if len(s.FailOpens) > 0 {
		a.Command = o.kdns("explain", s.FailOpens[0].Host)
	}
	o.add(s.FailingOpen, a)
}

// unreadAlarm lists names whose owners cannot be read.
func (o *overview) unreadAlarm() {
	a := alarm{
		Grave: grave, Head: plural(o.Server.UnreadOwners, "name") + " whose owners cannot be read",
		Why: "They are registered for objects that cannot be read. Answers that need the owner are SERVFAIL until it can be " +
			"read.",
		Since: o.Server.Since[SinceUnread], Runbook: "kuadrantunreadowners", Items: append([]alarmItem{}, o.unread...),
	}
	if len(o.unread) > 0 {
		a.Command = o.kdns("explain", o.unread[0].Text)
	}
	o.add(o.Server.UnreadOwners, a)
}

// clusterAlarm lists clusters that are not fully read.
func (o *overview) clusterAlarm() {
	away := slices.DeleteFunc(slices.Clone(o.Server.Clusters), func(c Cluster) bool { return c.Synced })
	a := alarm{
		Head: "Clusters that are not read in full", All: "#clusters", Runbook: "kuadrantsourcenotsynced",
		Why:   "Answers come from their last objects. Changes there have no effect until they can be read again.",
		Items: items(away, o.clusterItem),
	}
	if len(away) > 0 && away[0].Problem == "" { // not a directory of manifests
		kubectl := []string{"kubectl", "--context", away[0].Name}
		if away[0].Name == local {
			kubectl = kubectl[:1]
		}
		a.Command = command(append(kubectl, "get", "--raw", "/readyz")...)
	}
	o.add(len(away), a)
}

// local is the name of the server's own cluster, as in package engine.
const local = "local"

// lateChecks is how late checks may be, in seconds, as in the alert KuadrantProbesOverdue.
const lateChecks = 5

// add adds an alarm about n things, unless n is 0.
func (o *overview) add(n int, a alarm) {
	if n == 0 {
		return
	}
	if a.Since.IsZero() && n == len(a.Items) { // if not all are listed, an unlisted one may be older
		for _, i := range a.Items {
			if !i.Since.IsZero() && (a.Since.IsZero() || i.Since.Before(a.Since)) {
				a.Since = i.Since
			}
		}
	}
	if a.Items != nil {
		a.Items = a.Items[:min(len(a.Items), mostItems)]
		a.Rest = n - len(a.Items)
	}
	if a.Command == "" {
		a.Command = command("curl", "-sS", o.url+PathServer)
	}
	o.Alarms = append(o.Alarms, a)
}

// items converts things of one kind to alarm items.
func items[T any](all []T, item func(T) alarmItem) []alarmItem {
	list := []alarmItem{}
	for _, one := range all {
		list = append(list, item(one))
	}
	return list
}

// status summarizes the alarms in a few words.
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

// readyAlarm warns against sending queries here yet.
func (o *overview) readyAlarm() {
	switch s := &o.Server; {
	case s.Ready:
	case s.Snapshot.IsZero():
		o.add(1, alarm{
			Grave: grave, Head: "Nothing is known yet", Since: s.Started, Runbook: "kuadrantnotready",
			Why: "The objects are being listed. Until then queries get SERVFAIL, and /ready says no. The server's log " +
				"says what is missing.",
		})
	default:
		o.add(1, alarm{
			Grave: grave, Head: "The server is not ready", Since: s.Started, Runbook: "kuadrantnotready",
			Why: "Some cluster is not listed yet, or the first checks have not ended. Until then /ready says no, so that " +
				"queries go to other servers.",
		})
	}
}

func (o *overview) clusterItem(c Cluster) alarmItem {
	more := "last event " + stamp(c.LastEvent)
	if c.Problem != "" {
		more += ": " + c.Problem
	}
	since := c.Lost
	if since.IsZero() {
		since = o.Server.Started
	}
	return alarmItem{Text: c.Name, More: more, Since: since}
}

func (o *overview) heldAlarm(now time.Time) {
	held := slices.Clone(o.Server.Held)
	slices.SortStableFunc(held, func(a, b Held) int { return a.Until.Compare(b.Until) })
	names := 0
	for _, h := range held {
		names += h.Names
	}
	a := alarm{
		Head: "Removals are held back: " + plural(names, "name") + " in " + plural(len(held), "zone"), All: "#zones",
		Why: "Objects vanished without a DELETE event. Their names are withdrawn at the time shown, unless they are " +
			"back by then.",
		Runbook: "kuadrantheldremovals",
		Items: items(held, func(h Held) alarmItem {
			return alarmItem{h.Zone, pathOf("/names", "zone", h.Zone), plural(h.Names, "name") + " until " + stamp(h.Until) + ", in " +
				lasting(h.Until.Sub(now)), h.Since}
		}),
	}
	if len(held) > 0 {
		a.Command = o.kdns("list", "names", "--in", held[0].Zone)
	}
	o.add(len(held), a)
}

// unregisteredAlarm lists zones with names that the registry lacks.
func (o *overview) unregisteredAlarm() {
	names, zones := 0, slices.Sorted(maps.Keys(o.Server.Unregistered))
	for _, n := range o.Server.Unregistered {
		names += n
	}
	o.add(len(zones), alarm{
		Head: plural(names, "name") + " without a line in the registry",
		Why:  "After a restart, an older object may get them. Look in the log for ConfigMaps that cannot be written, or have no room.",
		Items: items(zones, func(zone string) alarmItem {
			return alarmItem{Text: zone, Link: pathOf("/names", "zone", zone), More: plural(o.Server.Unregistered[zone], "name")}
		}),
	})
}

// groupsAlarm lists zones whose active groups cannot be read, or are no cluster's.
func (o *overview) groupsAlarm() {
	wrong := slices.DeleteFunc(slices.Clone(o.Zones), func(z inspect.Zone) bool { return z.Groups == nil || !z.Groups.Wrong() })
	o.add(len(wrong), alarm{
		Head: "Active groups to look at in " + plural(len(wrong), "zone"), Command: o.kdns("group", "list"), Runbook: "kuadrantgroupsunread",
		Why: "The TXT record that names a zone's active groups cannot be read, or names a group that no cluster has.",
		Items: items(wrong, func(z inspect.Zone) alarmItem {
			return alarmItem{Text: z.Name, Link: pathOf("/name", "name", z.Groups.Record), More: z.Groups.Text()}
		}),
	})
}

// targetAlarm lists targets that are down or not decided.
func (o *overview) targetAlarm() {
	if o.Targets == nil {
		return
	}
	down, unknown := o.Targets.Counts["down"], o.Targets.Counts["unknown"]
	a := alarm{
		Head: plural(down, "target") + " down", All: pathOf("/targets", "state", "down"), Command: o.kdns("list", "targets", "--state", "down"),
		Why: "Their checks fail. A name is answered with targets that are up, if it has any.", Runbook: "kuadranttargetdown",
	}
	switch {
	case down == 0:
		a.Head, a.All = plural(unknown, "target")+" not decided", pathOf("/targets", "state", "unknown")
		a.Why, a.Runbook = "Checks have failed, but not often enough to decide.", "kuadranttargetsunknown"
		a.Command = o.kdns("list", "targets", "--state", "unknown")
	case unknown > 0:
		a.Head, a.All = a.Head+", "+plural(unknown, "target")+" not decided", "/targets" // the page lists the worst first
	}
	bad := slices.DeleteFunc(slices.Clone(o.Targets.Targets), func(t inspect.Target) bool { return t.Pending || t.State == "up" })
	a.Items = items(bad, func(t inspect.Target) alarmItem {
		more := t.Target + " is " + inspect.ClassText(t.State)
		if t.Reason != "" {
			more += ", " + t.Reason
		}
		return alarmItem{t.Host, pathOf("/name", "name", t.Host), more, t.Since}
	})
	o.add(down+unknown, a)
}

func (o *overview) troubleAlarms(t *inspect.Troubles) {
	o.add(t.AllConflicts, alarm{
		Head: plural(t.AllConflicts, "conflict"), Why: "An object wants a name of another one. The owner keeps it.",
		Runbook: "kuadrantconflictsgrowing", Command: o.kdns("list", "conflicts"),
		All: "/conflicts", Items: items(t.Conflicts, func(c records.Conflict) alarmItem {
			return alarmItem{Text: c.Name, Link: pathOf("/name", "name", c.Name), More: "wanted by " + inspect.ObjectText(c.Loser), Since: c.Since}
		}),
	})
	var unlocated, others []alarmItem
	for _, o := range t.Objects {
		if text := inspect.ObjectText(o.Object); o.Reason == records.ReasonUnlocated {
			unlocated = append(unlocated, alarmItem{Text: text, Since: o.Since})
		} else {
			others = append(others, alarmItem{Text: text, More: o.Why, Since: o.Since})
		}
	}
	o.add(len(unlocated), alarm{
		Head: "Geo codes have no effect", Runbook: "kuadrantobjectsrefused", Command: o.kdns("list", "conflicts"), All: "/conflicts#objects",
		Why:   "Nothing locates clients, so all of them get the default. Write geoip FILE or nets FILE in the Corefile.",
		Items: unlocated,
	})
	rest := t.AllObjects - len(unlocated)
	o.add(rest, alarm{
		Head: plural(rest, "object") + " not served in full", Why: "Part of each object is not served. Fix the object, or what it depends on.",
		Runbook: "kuadrantobjectsrefused", Command: o.kdns("list", "conflicts"), All: "/conflicts#objects", Items: others,
	})
}
