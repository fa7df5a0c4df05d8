package kuadrant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// moreText tells how many objects have which reason.
func moreText(more map[string]int) string {
	total, reasons := 0, make([]string, 0, len(more))
	for _, reason := range slices.Sorted(maps.Keys(more)) {
		total += more[reason]
		reasons = append(reasons, fmt.Sprintf("%d %s", more[reason], reason))
	}
	return fmt.Sprintf("%d more objects are not served in full either, by reason: %s", total, strings.Join(reasons, ", "))
}
