package inspect

import (
	"cmp"
	"fmt"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// verdicts say why a member was not taken, if no details are needed.
var verdicts = map[pool.Verdict]string{
	pool.VerdictNotDrawn: "equally good and near, but not drawn",
	pool.VerdictBounded:  "too far: kuadrant.io/geo-fallback keeps answers closer to the client",
	pool.VerdictFamily:   "it has no data of this type",
	pool.VerdictTried:    "its hostname has no such data here",
	pool.VerdictClosed:   "not answered: it is down, and the host fails closed",
}

// VerdictText says in a sentence why a member was taken, or not.
func VerdictText(c *records.Candidate, of *records.Choice) string {
	switch c.Verdict {
	case pool.VerdictTaken:
		switch {
		case failsOpen(c.Class):
			return "all members that may answer are down: failing open, the nearest first"
		case c.Share < 1:
			return "taken: drawn by weight"
		}
		return "taken"
	case pool.VerdictStandby:
		return standbyText(c, of)
	case pool.VerdictFarther:
		return "another member is closer: " + MatchText(of.Match)
	case pool.VerdictWorse:
		return "it is " + ClassText(c.Class) + ", and another is " + ClassText(of.Class)
	case pool.VerdictGroup:
		return "the name asked for is that of " + of.Group
	}
	return cmp.Or(verdicts[c.Verdict], string(c.Verdict))
}

// standbyText says why a member does not serve though nothing is wrong with it (rule 9.1).
func standbyText(c *records.Candidate, of *records.Choice) string {
	text := fmt.Sprintf("priority %d: standby, ", c.Priority)
	for i := range of.Members {
		if m := &of.Members[i]; m.Verdict == pool.VerdictTaken || m.Verdict == pool.VerdictClosed {
			return fmt.Sprintf("%sa member of priority %d is %s", text, m.Priority, ClassText(cmp.Or(m.Class, pool.Unchecked)))
		}
	}
	return text + "a member of a lower priority goes first"
}

// failsOpen reports whether a member is taken although it is down.
func failsOpen(class string) bool {
	return class != "" && pool.CompareClasses(class, pool.WeightedDown.String()) >= 0
}

var matches = map[pool.Match]string{
	pool.MatchAS:          "same AS number",
	pool.MatchSubdivision: "same subdivision",
	pool.MatchCountry:     "same country",
	pool.MatchContinent:   "same continent",
	pool.MatchDefault:     "the default geo",
	pool.MatchOther:       "elsewhere",
}

// MatchText says how a geo code fits a client.
func MatchText(m pool.Match) string { return matches[m] }

var classes = map[string]string{
	pool.Unchecked:                "not checked",
	pool.WeightedUnknown.String(): "not decided yet",
	pool.DrainedUnknown.String():  "drained and not decided yet",
	pool.DrainedDown.String():     "drained and down",
	pool.ForcedDown.String():      "forced down",
}

// ClassText describes a class in a word or two.
func ClassText(class string) string { return cmp.Or(classes[class], class) }
