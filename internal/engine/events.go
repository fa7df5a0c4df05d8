package engine

import (
	"cmp"
	"fmt"
	"iter"
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
	eventFall       = "TargetDown"
	eventRise       = "TargetUp"
	eventFailOpen   = "FailOpen"
	eventFailClosed = "FailClosed"
	eventServed     = "FailOpenEnded"
	eventConflict   = "Conflicted"
)

// maxEvents bounds the objects that get an Event about one occurrence.
const maxEvents = 20

// event writes an Event about an object; the writer drops it unless this replica writes.
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

// targetEvent tells a target's policies that it has gone up or down.
func (e *Engine) targetEvent(snap *records.Snapshot, key string, before health.State) {
	t, ok := snap.Checks().Get(key)
	if !ok {
		return
	}
	w := t.Cell.Load()
	reason, state := eventRise, " is up"
	switch {
	case before != health.Down && w.Found() == health.Down:
		reason, state = eventFall, " is down: "+w.Reason().String()
	case before != health.Down || w.Found() != health.Up:
		return
	}
	for o, whose := range toldOf(snap, key) {
		e.event(o.Cluster, api.Ref{Kind: api.KindDNSPolicy, Name: o.Name}, reason == eventFall, reason, "target "+t.URL()+whose+state)
	}
}

// toldOf yields the policies to tell of a target, each with the target's owner if that is another object of its pool.
func toldOf(snap *records.Snapshot, key string) iter.Seq2[records.Object, string] {
	return func(yield func(records.Object, string) bool) {
		noted := make(map[records.Object]bool) // a policy has several objects that follow
		own := snap.OfTarget(key)
		for cluster, ref := range snap.Followers(key) {
			o := records.Object{Cluster: cluster, Kind: ref.Kind.String(), Name: ref.Name}
			if ref.Kind != api.KindDNSPolicy || noted[o] || len(noted) == maxEvents {
				continue
			}
			noted[o] = true
			if !yield(o, whose(own, o)) {
				return
			}
		}
	}
}

// whose names the first of the objects that a target belongs to; "" if that is one of o's.
func whose(own map[records.Object]bool, o records.Object) string {
	if own[o] || len(own) == 0 {
		return ""
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(own)), func(a, b records.Object) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	text := " of " + first.Kind + " " + first.Name
	if first.Cluster != o.Cluster {
		text += " in cluster " + first.Cluster
	}
	return text
}

// failEvent tells the owner of a host that nothing is up for some clients; the zero value that it recovered.
func (e *Engine) failEvent(host string, is records.Failing) {
	snap := e.Snapshot()
	if snap == nil {
		return
	}
	reason, message := eventFailOpen, fmt.Sprintf("host %q: all targets for %s are down; %s", host, is.Whom, is.Outcome())
	switch {
	case is.Closed:
		reason = eventFailClosed
	case is.Whom == "":
		reason, message = eventServed, fmt.Sprintf("host %q: recovered: a target is up", host)
	}
	if o, ok := snap.Owner(dns.Fqdn(host)); ok {
		e.event(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}, is.Whom != "", reason, message)
	}
}

// conflictEvents tells objects of conflicts that are not in before, which may be nil.
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

// conflictsOf returns a verdict's conflicts, by host; "" is the object itself. v may be nil.
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
