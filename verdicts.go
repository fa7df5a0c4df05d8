package kuadrant

import (
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

// logVerdicts writes one line for each object that is not served in full, and
// was not for another reason in the snapshot before, which may be nil.
func logVerdicts(warnf func(format string, args ...any), before, snap *records.Snapshot) {
	logged, more := 0, make(map[string]int)
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
		if logged == maxLoggedVerdicts {
			more[reason]++
			continue
		}
		logged++
		if len(line) > maxLoggedText {
			line = strings.ToValidUTF8(line[:maxLoggedText], "") + "…"
		}
		if n := len(r.Verdict.Records); n > 1 {
			line += fmt.Sprintf("; %d hosts are concerned", n)
		}
		warnf("%s %s of cluster %s: %s", r.Ref.Kind, r.Ref.Name, r.Cluster, line)
	}
	if len(more) > 0 {
		warnf("%s", moreText(more))
	}
}

// logProbes writes one line for each probe that has come or changed since before,
// which may be nil, and has no effect.
func logProbes(warnf func(format string, args ...any), before, snap *records.Snapshot) {
	logged, more := 0, 0
	for p, problem := range snap.ProbeProblems(newProbes(before, snap)) {
		if logged == maxLoggedVerdicts {
			more++
			continue
		}
		logged++
		warnf("%s %s of cluster %s: %s", api.KindProbe, p.Name, p.Cluster, problem)
	}
	if more > 0 {
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
func moreText(more map[string]int) string {
	total, reasons := 0, make([]string, 0, len(more))
	for _, reason := range slices.Sorted(maps.Keys(more)) {
		total += more[reason]
		reasons = append(reasons, fmt.Sprintf("%d %s", more[reason], reason))
	}
	return fmt.Sprintf("%d more objects are not served in full either, by reason: %s", total, strings.Join(reasons, ", "))
}
