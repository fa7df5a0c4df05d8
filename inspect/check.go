package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Finding is one thing that is wrong with a set of objects, or most likely not meant.
type Finding struct {
	Severity Severity `json:"severity"`
	// Reason is one word. Text says what is wrong, and where it helps what to do.
	Reason string `json:"reason"`
	Text   string `json:"text"`
	// Object is the one to look at, and Name the host that it is about; "" and nil for none.
	Object *records.Object `json:"object,omitempty"`
	Name   string          `json:"name,omitempty"`
	// File is where it stands, where that is known.
	File string `json:"file,omitempty"`
}

// Severity says how bad a Finding is.
type Severity string

// The severities: what is not served, and what is served otherwise than somebody will expect.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// The reasons of findings that are not those of the objects' status.
const (
	// ReasonNoDefault: clients that match no geo code get any member.
	ReasonNoDefault = "NoDefaultGeo"
	// ReasonUnreachableGeo: no network of the databases has the code.
	ReasonUnreachableGeo = "UnreachableGeo"
	// ReasonAllDrained: all members have the weight 0, which counts for nothing then.
	ReasonAllDrained = "AllDrained"
	// ReasonNoAddresses: the host is answered with no data.
	ReasonNoAddresses = "NoAddresses"
	// ReasonUnread: a file cannot be read, or understood.
	ReasonUnread = "Unread"
	// ReasonLeftOut: a part of a file does not count.
	ReasonLeftOut = "LeftOut"
)

// Check looks for what is wrong: errors first, then by object and name. space is that of the geo databases;
// nil for none. It looks at every object and every name.
func (v *View) Check(space *geo.Space) []Finding {
	all := v.checkObjects()
	reachable := reachableCodes(space)
	for _, z := range v.Snapshot.Zones() {
		for n := range v.Snapshot.Names(z, "", "") {
			if n.Owner != nil && n.Answer == "" && len(n.Types) == 0 {
				all = append(all, about(&n, ReasonNoAddresses, "it is answered with no data: its Gateway has no address that can be served, in status.addresses"))
			}
			if n.Members > 0 {
				all = append(all, v.checkPool(&n, reachable)...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(objectOf(&a), objectOf(&b)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func objectOf(f *Finding) string {
	if f.Object == nil {
		return ""
	}
	return ObjectText(*f.Object)
}

// about returns a warning about a name.
func about(n *records.NameState, reason, format string, args ...any) Finding {
	return Finding{Severity: SeverityWarning, Reason: reason, Text: fmt.Sprintf(format, args...), Object: n.Owner, Name: n.Name}
}

// checkObjects returns what the status of objects says.
func (v *View) checkObjects() (all []Finding) {
	for t := range v.Snapshot.Troubles() {
		f := Finding{Severity: SeverityWarning, Reason: t.Reason, Text: t.Why, Object: &t.Object}
		if t.Refused && t.Reason != api.ServedInPart {
			f.Severity = SeverityError
		}
		all = append(all, f)
	}
	return all
}

// reachableCodes returns the codes that some network of the databases has; nil where there are none.
func reachableCodes(space *geo.Space) map[string]bool {
	if space == nil || len(space.Places) == 0 {
		return nil
	}
	codes := make(map[string]bool)
	for i := range space.Places {
		for _, c := range space.Places[i].Codes {
			codes[c] = true
		}
	}
	return codes
}

// checkPool returns what is odd about the members of a name.
func (v *View) checkPool(n *records.NameState, reachable map[string]bool) (all []Finding) {
	t, ok := v.Snapshot.Tree(n.Name + ".")
	if !ok {
		return nil
	}
	var codes, unreachable []string
	hasDefault, weighted := false, false
	for _, g := range t.Groups {
		hasDefault = hasDefault || g.Default
		for i := range g.Members {
			weighted = weighted || g.Members[i].Weight > 0
		}
		if geo.Check(g.Geo) != nil {
			continue // its policy says so, or it has none
		}
		codes = append(codes, g.Geo)
		if reachable != nil && !reachable[strings.ToUpper(g.Geo)] {
			unreachable = append(unreachable, g.Geo)
		}
	}
	if !hasDefault && len(codes) > 0 {
		all = append(all, about(n, ReasonNoDefault, "clients that match none of %s get any of the members: let a policy name its geo as the default", strings.Join(codes, ", ")))
	}
	if len(unreachable) > 0 {
		all = append(all, about(n, ReasonUnreachableGeo, "no network of the geo databases is in %s: nobody comes there but by fallback. Subdivisions take a City database, AS numbers one of ASNs", strings.Join(unreachable, ", ")))
	}
	if !weighted {
		all = append(all, about(n, ReasonAllDrained, "all members have the weight 0: none is drained then, and they share equally"))
	}
	return all
}
