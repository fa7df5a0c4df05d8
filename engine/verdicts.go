package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// maxLoggedVerdicts bounds the lines of one compile: the first list of a large
// cluster may hold thousands of policies with the same fault.
const maxLoggedVerdicts = 20

// maxLoggedText bounds a line, in bytes: a Gateway may have any number of
// addresses that are wrong.
const maxLoggedText = 1000

// fault is what is wrong with one object.
type fault struct {
	r            records.Reported
	reason, line string
}

// logVerdicts writes one line for each object that is not served in full, and
// was not for another reason in the snapshot before, which may be nil.
func logVerdicts(warnf func(format string, args ...any), before, snap *records.Snapshot) {
	var faults []fault
	for _, r := range snap.Changed() {
		if r.Verdict == nil {
			continue
		}
		reason, line := r.Verdict.Problem()
		if line == "" {
			continue
		}
		if before != nil {
			if old := before.Verdict(r.Cluster, r.Ref); old != nil {
				if _, said := old.Problem(); said == line {
					continue
				}
			}
		}
		faults = append(faults, fault{r, reason, line})
	}
	faults = inTurn(faults, func(f fault) string { return namespaceOf(f.r.Ref.Name) })
	for _, f := range faults[:min(len(faults), maxLoggedVerdicts)] {
		line := api.Cut(f.line, maxLoggedText)
		if n := len(f.r.Verdict.Records); n > 1 {
			line += fmt.Sprintf("; %d hosts are concerned", n)
		}
		warnf("%s %s of cluster %s: %s", f.r.Ref.Kind, f.r.Ref.Name, f.r.Cluster, line)
	}
	if len(faults) > maxLoggedVerdicts {
		warnf("%s", moreText(faults[maxLoggedVerdicts:]))
	}
}

// logOpen says, once, in which zones every namespace may publish (rule 5.1): when all
// clusters have listed their Zones, each of which may close one.
func logOpen(infof func(format string, args ...any), before, snap *records.Snapshot) {
	open := snap.Open()
	if len(open) == 0 || !zonesListed(snap) || before != nil && zonesListed(before) {
		return
	}
	more := ""
	if n := len(open); n > maxLoggedVerdicts {
		open, more = open[:maxLoggedVerdicts], fmt.Sprintf(" and %d more", n-maxLoggedVerdicts)
	}
	infof("Every namespace may publish in %s%s: a line publish, or a Zone with delegations, limits that", strings.Join(open, " "), more)
}

// zonesListed tells whether there is no cluster that may have Zones which are not known.
func zonesListed(snap *records.Snapshot) bool {
	return !slices.ContainsFunc(snap.Objects().Clusters, func(c *api.Cluster) bool { return !c.Listings[api.KindZone].Complete() })
}

// inTurn returns all in an order in which each namespace has its first before any has
// its second: nobody's faults keep those of others out of the log.
func inTurn[T any](all []T, namespace func(T) string) []T {
	turns := make(map[string]int)
	type turn struct {
		n int
		t T
	}
	ordered := make([]turn, len(all))
	for i, t := range all {
		ns := namespace(t)
		ordered[i] = turn{turns[ns], t}
		turns[ns]++
	}
	slices.SortStableFunc(ordered, func(a, b turn) int { return cmp.Compare(a.n, b.n) })
	out := make([]T, len(all))
	for i, o := range ordered {
		out[i] = o.t
	}
	return out
}

func namespaceOf(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	return namespace
}

// logProbes writes one line for each probe that has come or changed since before,
// which may be nil, and has no effect.
func logProbes(warnf func(format string, args ...any), before, snap *records.Snapshot) {
	type useless struct {
		p       *api.HealthCheckProbe
		problem string
	}
	var all []useless
	for p, problem := range snap.ProbeProblems(newProbes(before, snap)) {
		all = append(all, useless{p, problem})
	}
	all = inTurn(all, func(u useless) string { return u.p.Namespace() })
	for _, u := range all[:min(len(all), maxLoggedVerdicts)] {
		warnf("%s %s of cluster %s: %s", api.KindProbe, u.p.Name, u.p.Cluster, u.problem)
	}
	if more := len(all) - maxLoggedVerdicts; more > 0 {
		warnf("%d more %ss count for nothing either", more, api.KindProbe)
	}
}

// newProbes returns the probes of snap that before, which may be nil, has not.
func newProbes(before, snap *records.Snapshot) (all []*api.HealthCheckProbe) {
	for _, c := range snap.Objects().Clusters {
		var old *api.Cluster
		if before != nil {
			clusters := before.Objects().Clusters
			if i := slices.IndexFunc(clusters, func(o *api.Cluster) bool { return o.Name == c.Name && o.Complete() == c.Complete() }); i >= 0 {
				old = clusters[i]
			}
		}
		if old != nil && old.Epoch == c.Epoch {
			for _, ref := range c.Changed {
				if p, ok := c.Probes.Get(ref.Name); ok && ref.Kind == api.KindProbe {
					all = append(all, p)
				}
			}
			continue
		}
		for name, p := range c.Probes.All() {
			if old != nil {
				if was, ok := old.Probes.Get(name); ok && (was == p || p.Generation > 0 && was.UID == p.UID && was.Generation == p.Generation) {
					continue
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// moreText tells how many objects have which reason.
func moreText(faults []fault) string {
	more := make(map[string]int)
	for _, f := range faults {
		more[f.reason]++
	}
	reasons := make([]string, 0, len(more))
	for _, reason := range slices.Sorted(maps.Keys(more)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", more[reason], reason))
	}
	return fmt.Sprintf("%d more objects are not served in full either, by reason: %s", len(faults), strings.Join(reasons, ", "))
}
