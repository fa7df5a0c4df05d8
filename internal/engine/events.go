package engine

import (
	"fmt"
	"maps"
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
	if slices.Contains(e.Current().FromState, cluster) {
		return
	}
	for _, w := range e.Writers() {
		if w.Cluster() == cluster {
			w.Event(ref, warning, reason, message)
		}
	}
}

// targetEvent tells the policies that a target is checked for that it has fallen or risen.
func (e *Engine) targetEvent(snap *records.Snapshot, key string, before health.State) {
	t, ok := snap.Checks().Get(key)
	if !ok {
		return
	}
	w := t.Cell.Load()
	fell, rose := before != health.Down && w.Found() == health.Down, before == health.Down && w.Found() == health.Up
	reason, message := eventRise, "target "+t.URL()+" is up"
	if fell {
		reason, message = eventFall, "target "+t.URL()+" is down: "+w.Reason().String()
	}
	told := make(map[string]bool) // a policy has several objects that follow
	for cluster, ref := range snap.Followers(key) {
		if policy := cluster + " " + ref.Name; (fell || rose) && ref.Kind == api.KindDNSPolicy && !told[policy] && len(told) < maxEvents {
			told[policy] = true
			e.event(cluster, ref, fell, reason, message)
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
	reason, message := eventFailOpen, fmt.Sprintf("host %q: no target is up for %s; answering with targets that are down", host, whom)
	if whom == "" {
		reason, message = eventServed, fmt.Sprintf("host %q: recovered: a target is up", host)
	}
	if o, ok := snap.Owner(dns.Fqdn(host)); ok {
		e.event(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}, whom != "", reason, message)
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
		was, now := conflictsOf(before.Verdict(r.Cluster, r.Ref)), conflictsOf(r.Verdict)
		maps.DeleteFunc(now, func(host, _ string) bool { return was[host] != "" })
		if len(now) == 0 {
			continue
		}
		line := slices.Min(slices.Collect(maps.Values(now)))
		if more := len(now) - 1; more > 0 {
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
	for _, r := range slices.Concat([]api.RecordVerdict{{Conditions: v.Conditions}}, v.Records) {
		for _, c := range r.Conditions {
			if c.Reason == eventConflict && c.Status == api.ConditionFalse {
				all[r.Host] = strings.TrimPrefix(r.Host+": "+c.Message, ": ")
			}
		}
	}
	return all
}
