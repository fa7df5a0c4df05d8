package console

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// funcs are the functions of the templates.
var funcs = template.FuncMap{
	"ago":     func(t time.Time) string { return lasting(time.Since(t)) },
	"since":   since,
	"who":     who,
	"runbook": func(section string) string { return runbooks + section },
	"runs":    runs,
	"places":  inspect.CountryNames,
	"stamped": func(t time.Time) bool { return !t.IsZero() && t.Unix() > 0 },
	"rfc":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"glyph":   glyph,
	"class":   inspect.ClassText,
	"word":    inspect.OverrideText,
	"words":   func(a records.AddressState) string { return inspect.OverridesText(&a) },
	"sources": func(n records.NameState) string { return inspect.SourcesText(&n) },
	"check":   func(c records.CheckState) string { return inspect.CheckText(&c) },
	"found":   func(s records.Step) string { return inspect.FoundText(&s) },
	"verdict": func(m records.Candidate, c records.Choice) string { return inspect.VerdictText(&m, &c) },
	"match":   inspect.MatchText,
	"client":  func(x *records.Explanation) string { return upperFirst(inspect.ClientText(x)) },
	"percent": inspect.ShareText,
	"whose":   inspect.WhoseText,
	"plural":  inspect.Plural,
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"stamp":   stamp,
	"pair": func(n int, class string) struct {
		N     int
		Class string
	} {
		return struct {
			N     int
			Class string
		}{n, class}
	},
	"upper":   upperFirst,
	"colour":  colour,
	"shared":  shared,
	"goes":    goes,
	"numbers": numbers,
	"next":    func(i int) int { return i + 1 },
	"mapbox":  func() string { return worldMap().box },
	"lands":   func() []string { return worldMap().lands },
	"drawn":   drawn,
	"instead": inPlaceOf,
	"from": func(w *inspect.World, code string) string {
		return pathOf("/explain", "name", w.Name, "type", w.Type, "from", code)
	},
}

// glyph returns a symbol for a class, so that classes differ by more than colour.
func glyph(class string) string {
	switch class {
	case "up":
		return "●"
	case "unchecked", "pending":
		return "○"
	case "unknown":
		return "◐"
	case "drained", "drained-unknown":
		return "▽"
	}
	return "✕"
}

// since returns when an address went down or undecided: when the first of its checks in that state did.
func since(a records.AddressState) (at time.Time) {
	for _, c := range a.Checks {
		if c.State == a.Class && !c.Since.IsZero() && (at.IsZero() || c.Since.Before(at)) {
			at = c.Since
		}
	}
	return at
}

// who returns the name that people use for a member: its Gateway, or else its object, with the cluster.
func who(o records.Object, gateway string) string {
	name := cmp.Or(gateway, o.Name)
	if o.Cluster == "" {
		return name
	}
	return name + " in " + o.Cluster
}

// runs describes where the server runs and what it reads.
func runs(s *Server) string {
	const named = 3 // with more clusters, only their number is shown
	var names []string
	for _, c := range s.Clusters {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	text := map[bool]string{true: "pod ", false: "host "}[s.Pod] + s.Host
	switch n := len(names); {
	case n > named:
		text += " · " + plural(n, "cluster")
	case n > 0:
		text += " · " + inspect.Plural(n, "cluster") + " " + strings.Join(names, ", ")
	}
	return text
}

// upperFirst capitalizes the first letter of s.
func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
