package inspect

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// reachableCodes returns the codes of the databases' networks; nil for none.
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

// defaultOf returns the code for clients that match no other; "" for none.
func defaultOf(t *records.Tree) string {
	for i := range t.Groups {
		if t.Groups[i].Default {
			return t.Groups[i].Geo
		}
	}
	return ""
}

// geography looks at the geo codes of a name with several. Clients that match none get the default, so an unreachable default
// does not matter.
func (c *checker) geography(t *records.Tree) {
	var codes, unreachable []string
	for _, g := range t.Groups {
		if g.Default || geo.Check(g.Geo) != nil {
			continue // reported for its policy, or there is none
		}
		codes = append(codes, g.Geo)
		if c.reachable != nil && !c.reachable[strings.ToUpper(g.Geo)] {
			unreachable = append(unreachable, g.Geo)
		}
	}
	if len(codes) == 0 {
		return
	}
	c.steered = append(c.steered, t.Name)
	who := "clients get there only by fallback"
	if defaultOf(t) == "" && len(t.Inactive) == 0 {
		who = "only clients that match no other geo get there"
		c.warn(&t.NameState, ReasonNoDefault, "clients that match none of %s get any member; set a default geo in one of the policies",
			api.Some(codes, ", ", shown))
	}
	if len(unreachable) > 0 {
		c.warn(&t.NameState, ReasonUnreachableGeo,
			"no network of the geo databases is in %s; %s. Subdivisions need a City database, AS numbers an ASN database", api.Some(unreachable, ", ", shown), who)
	}
}

// unlocated says once that geo codes have no effect, if nothing locates clients.
func (c *checker) unlocated() {
	if !c.with.Unlocated || len(c.steered) == 0 {
		return
	}
	c.add(SeverityWarning, ReasonNoGeoDatabase, nil, "",
		"nothing locates clients, so geo codes have no effect: all clients get the default geo of a name, or any member if there is "+
			"none. Names with geo codes: %s. Write `geoip FILE` or `nets FILE` in the Corefile",
		api.Some(c.steered, ", ", shown))
}

// sharing looks at settings that only one of a host's objects can make.
func (c *checker) sharing(t *records.Tree, sharers []records.Sharer) {
	deflt, first := defaultOf(t), ""
	for _, s := range sharers {
		own := defaultOfSharer(t, &s)
		switch {
		case own == deflt && first == "":
			first = ObjectText(s.Object)
		case own != "" && own != deflt && first != "":
			c.add(SeverityWarning, ReasonSecondDefault, &s.Object, t.Name,
				"its default geo, %s, has no effect: %s, which comes first, has the default %s", own, first, deflt)
		}
	}
}

// defaultOfSharer returns the code among a name's that a policy makes the default: the one that it names, or "*" if it names
// none; "" for none.
func defaultOfSharer(t *records.Tree, s *records.Sharer) string {
	for i := range t.Groups {
		g := &t.Groups[i]
		own := slices.ContainsFunc(g.Members, func(m records.TreeMember) bool { return m.Owner == s.Object })
		if g.Geo == s.DefaultGeo && geo.Check(g.Geo) == nil || s.Kind == kindPolicy && s.DefaultGeo == "" && g.Geo == "*" && own {
			return g.Geo
		}
	}
	return ""
}

// united notes that several objects have the addresses of a host without members (rule 5.6).
func (c *checker) united(t *records.Tree) {
	var objects []string
	for _, a := range t.Addrs {
		for _, o := range a.Objects {
			objects = withOnce(objects, ObjectText(records.Object{Kind: o.Kind, Name: o.Name})) // one object in several clusters
		}
	}
	if len(objects) > 1 {
		c.add(SeverityNote, ReasonUnited, t.Owner, t.Name, "it is answered with the addresses of %s of one namespace: %s",
			counted(len(objects), "object"), api.Some(objects, ", ", shown))
	}
}

// health looks at what is known of a name's addresses without checks, and whether checks may begin.
func (c *checker) health(t *records.Tree) {
	if a := t.Addresses; a.Drained > 0 && a.Drained == a.Of() {
		c.warn(&t.NameState, ReasonAllDrained, "all members are drained, by weight 0 or an override; they are answered all the same, "+
			"as there are no others")
	}
	var down, denied []string
	for a := range allAddresses(t) {
		if strings.Contains(a.Class, "down") {
			down = withOnce(down, a.Address+saidOf(&a))
		}
		if c.denied(&a) {
			denied = withOnce(denied, a.Address)
		}
	}
	if t.FailsOpen != "" {
		c.warn(&t.NameState, ReasonFailsOpen, "%s get targets that are down, as no others are left for them: %s", t.FailsOpen, api.Some(down, ", ", shown))
	}
	if t.FailsClosed != "" {
		c.warn(&t.NameState, ReasonFailsClosed, "%s get no address (fail: closed), as all are down: %s", t.FailsClosed, api.Some(down, ", ", shown))
	}
	if len(denied) > 0 {
		c.warn(&t.NameState, ReasonNotChecked, "not checked, and so counted as up: %s; probe-deny or the default denies checks "+
			"there: write `probe-allow ADDRESS` in the Corefile", api.Some(denied, ", ", shown))
	}
}

// standbys finds members that never serve: one of a lower priority that goes first is not checked, and so is never down (rule 9.1).
func (c *checker) standbys(t *records.Tree) {
	lowest := make(map[string]*records.TreeMember) // the first unchecked one, by geo; by "" with order: priority
	key := func(g *records.TreeGroup) string {
		if t.Attributes[api.Order.String()] == "priority" && cmp.Or(t.Attributes[api.Fallback.String()], "any") == "any" {
			return ""
		}
		return g.Geo
	}
	for g, m := range membersOf(t) {
		checked := slices.ContainsFunc(m.Addresses, func(a records.AddressState) bool { return len(a.Checks) > 0 || a.Override != "" })
		if is := lowest[key(g)]; m.Weight > 0 && !checked && (is == nil || m.Priority < is.Priority) {
			lowest[key(g)] = m
		}
	}
	for g, m := range membersOf(t) {
		if first := lowest[key(g)]; first != nil && m.Priority > first.Priority {
			c.add(SeverityWarning, ReasonStandby, &m.Owner, t.Name, "its priority is %d, and it never serves: %s, of priority %d, goes first and is not "+
				"checked; give that a healthCheck", m.Priority, ObjectText(first.Owner), first.Priority)
		}
	}
}

// priorities finds policies that exist in several clusters, and have a priority in some alone: it may be missing where the policy says
// nothing. One that says "0" means it.
func (c *checker) priorities(t *records.Tree) {
	in := c.snapshot.Objects()
	standby := make(map[string]*records.TreeMember) // of the policies with a priority
	for _, m := range membersOf(t) {
		if m.Owner.Kind == kindPolicy && m.Priority > 0 {
			standby[m.Owner.Name] = m
		}
	}
	for _, m := range membersOf(t) {
		other := standby[m.Owner.Name]
		if other == nil || m.Owner.Kind != kindPolicy || m.Owner.Cluster == other.Owner.Cluster || c.unlike[m.Owner] {
			continue
		}
		if p, ok := in.Cluster(m.Owner.Cluster).Policies.Get(m.Owner.Name); ok && p.Annotations[api.Priority.Annotation()] == "" {
			if c.unlike == nil {
				c.unlike = make(map[records.Object]bool)
			}
			c.unlike[m.Owner] = true
			c.add(SeverityWarning, ReasonPriority, &m.Owner, "", "it has no annotation %s, so its priority is 0, while in cluster %s it is %d: "+
				"write the annotation here, too", api.Priority.Annotation(), other.Owner.Cluster, other.Priority)
		}
	}
}

// saidOf says who declared an address down, unless a check did.
func saidOf(a *records.AddressState) string {
	switch a.Override {
	case "":
		return ""
	case records.NotProgrammed:
		return " (" + OverrideText(a.Override) + ")"
	}
	return " (overridden)"
}

// denied reports whether a check of an address never begins (rule 4.9). Forbidden ports make a check invalid, which its object
// reports.
func (c *checker) denied(a *records.AddressState) bool {
	const allowedPort = 443
	addr, err := netip.ParseAddr(a.Address)
	return err == nil && c.with.Guard != nil && !c.with.Guard.Allows(addr, allowedPort) &&
		slices.ContainsFunc(a.Checks, func(s records.CheckState) bool { return s.Target != "" })
}

// membersOf yields the members of a name, with the geo group of each.
func membersOf(t *records.Tree) iter.Seq2[*records.TreeGroup, *records.TreeMember] {
	return func(yield func(*records.TreeGroup, *records.TreeMember) bool) {
		for i := range t.Groups {
			for j := range t.Groups[i].Members {
				if g := &t.Groups[i]; !yield(g, &g.Members[j]) {
					return
				}
			}
		}
	}
}

// allAddresses yields the addresses and hostnames of a name.
func allAddresses(t *records.Tree) iter.Seq[records.AddressState] {
	return func(yield func(records.AddressState) bool) {
		for _, a := range t.Addrs {
			if !yield(a) {
				return
			}
		}
		for _, m := range membersOf(t) {
			for _, a := range m.Addresses {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// withOnce adds a word to a list that lacks it.
func withOnce(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
