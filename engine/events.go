package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// The reasons of Events.
const (
	eventFall     = "TargetDown"
	eventRise     = "TargetUp"
	eventFailOpen = "FailOpen"
	eventServed   = "FailOpenEnded"
	eventConflict = "Conflicted"
)

// maxEvents is how many objects are told of one thing that happens.
const maxEvents = 20

// event tells of what has happened to an object in an Event: the writer drops it unless this replica writes.
func (e *Engine) event(cluster string, ref api.Ref, warning bool, reason, message string) {
	if slices.Contains(e.ServedFromState(), cluster) {
		return
	}
	for _, w := range e.Writers() {
		if w.Cluster() == cluster {
			w.Event(ref, warning, reason, message)
		}
	}
}

// targetEvent tells the objects that a target is checked for that it has fallen or risen.
func (e *Engine) targetEvent(snap *records.Snapshot, key string, before health.State) {
	t, ok := snap.Checks().Get(key)
	if !ok {
		return
	}
	w := t.Cell.Load()
	fell, rose := before != health.Down && w.Found() == health.Down, before == health.Down && w.Found() == health.Up
	if !fell && !rose {
		return
	}
	type policy struct{ cluster, name string }
	told := make(map[policy]bool)
	for cluster, ref := range snap.Followers(key) {
		of := policy{cluster, ref.Name}
		if ref.Kind != api.KindDNSPolicy || told[of] {
			continue
		}
		if told[of] = true; len(told) > maxEvents {
			return
		}
		if fell {
			e.event(cluster, ref, true, eventFall, "target "+t.URL()+" is down: "+w.Reason().String())
		} else {
			e.event(cluster, ref, false, eventRise, "target "+t.URL()+" is up")
		}
	}
}

// failOpenEvent tells the owner of a host that it fails open for some, "" where it does not
// any more.
func (e *Engine) failOpenEvent(host, whom string) {
	snap := e.Snapshot()
	if snap == nil {
		return
	}
	o, ok := snap.Owner(dns.Fqdn(host))
	switch {
	case !ok:
	case whom == "":
		e.event(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}, false, eventServed, "host "+host+" fails open no longer")
	default:
		e.event(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}, true, eventFailOpen, "host "+host+" has no target that is up for "+whom+": answers hold those that are down")
	}
}

// conflictEvents tells the objects whose names are another's since before, which may be nil.
func (e *Engine) conflictEvents(before, snap *records.Snapshot) {
	if len(e.Writers()) == 0 || before == nil {
		return // at a start, conflicts are old
	}
	n := 0
	for _, r := range snap.Changed() {
		if r.Verdict == nil || n == maxEvents {
			continue
		}
		was := conflictsOf(before.Verdict(r.Cluster, r.Ref))
		var lines []string
		for host, line := range conflictsOf(r.Verdict) {
			if _, known := was[host]; !known {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		slices.Sort(lines)
		line := lines[0]
		if more := len(lines) - 1; more > 0 {
			line += fmt.Sprintf("; and %d more", more)
		}
		n++
		e.event(r.Cluster, r.Ref, true, eventConflict, line)
	}
}

// conflictsOf returns what a verdict says of conflicts, by host; "" is the object itself. v may
// be nil.
func conflictsOf(v *api.Verdict) map[string]string {
	all := make(map[string]string)
	if v == nil {
		return all
	}
	note := func(host string, list []api.Condition) {
		for _, c := range list {
			if c.Reason == eventConflict && c.Status == api.ConditionFalse {
				all[host] = strings.TrimPrefix(host+": "+c.Message, ": ")
			}
		}
	}
	note("", v.Conditions)
	for _, r := range v.Records {
		note(r.Host, r.Conditions)
	}
	return all
}
