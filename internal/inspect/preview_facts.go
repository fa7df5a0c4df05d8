package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// facts returns a name's facts besides its members, a line each; none for nil.
func facts(s *records.Snapshot, t *records.Tree) (lines []string) {
	if t == nil {
		return nil
	}
	if t.Owner != nil {
		lines = append(lines, "owner "+ObjectText(*t.Owner))
	}
	if t.Answer != "" {
		lines = append(lines, "answered as "+t.Answer)
	}
	lines = append(lines, attributeTexts(t.Attributes)...)
	for _, g := range t.Groups {
		if g.Default {
			lines = append(lines, "default "+g.Geo)
		}
	}
	if t.TTL > 0 && len(t.Groups) == 0 { // members have their own
		lines = append(lines, fmt.Sprintf("TTL %d", t.TTL))
	}
	if t.TTL6 > 0 {
		lines = append(lines, fmt.Sprintf("TTL %d of IPv6 addresses", t.TTL6))
	}
	for _, a := range t.Addrs {
		line := "address " + a.Address
		if a.Class != pool.WeightedUp.String() && a.Class != pool.Unchecked && a.Class != health.Drain.String() {
			line += ", " + ClassText(a.Class)
		}
		if a.Override != "" {
			line += ", " + OverrideText(a.Override)
		}
		lines = append(lines, line)
	}
	if t.Check != "" {
		lines = append(lines, "check "+t.Check)
	}
	for _, rr := range t.Records {
		lines = append(lines, "record "+strings.Join(strings.Fields(rr), " "))
	}
	if t.Name == t.Zone {
		lines = append(lines, soaOf(s.Zone(t.Zone+".")))
	}
	if t.Hidden != "" {
		lines = append(lines, "hidden by "+t.Hidden)
	}
	return lines
}

// soaOf returns the content of a zone's SOA record without the serial.
func soaOf(z *records.Zone) string {
	soa := *z.SOA()
	soa.Serial = 0
	return "record " + strings.Join(strings.Fields(soa.String()), " ") + " (whatever the serial)"
}

// memberAt is one member, with its group's code.
type memberAt struct {
	geo string
	*records.TreeMember
}

// membersByKey returns the members of a tree, which may be nil, by their key, and the keys, sorted.
func membersByKey(t *records.Tree) (by map[string]memberAt, order []string) {
	by = make(map[string]memberAt)
	if t == nil {
		return by, nil
	}
	for g, m := range membersOf(t) {
		key := m.Member + " " + g.Geo
		if _, twice := by[key]; !twice {
			order = append(order, key)
		}
		by[key] = memberAt{g.Geo, m}
	}
	return by, order
}

// memberChanges returns the members that differ.
func memberChanges(was, is *records.Tree) (all []MemberChange) {
	before, gone := membersByKey(was)
	after, come := membersByKey(is)
	for _, key := range come {
		m := after[key]
		o, had := before[key]
		c := MemberChange{Member: m.Member, Cluster: m.Owner.Cluster, Geo: m.geo, Change: ChangeChanged, After: &m.Weight}
		if !had {
			c.Change, c.Plus = ChangeAdded, addressesOf(m)
			all = append(all, c)
			continue
		}
		c.Before = &o.Weight
		old, now := memberFacts(o), memberFacts(m)
		c.Plus, c.Minus = minus(now, old), minus(old, now)
		if was, is := stateOf(o), stateOf(m); was != is {
			c.StateBefore, c.StateAfter = was, is
		}
		if o.Weight != m.Weight || o.Priority != m.Priority || c.StateBefore != c.StateAfter || len(c.Plus)+len(c.Minus) > 0 {
			all = append(all, c)
		}
	}
	for _, key := range gone {
		if _, still := after[key]; !still {
			m := before[key]
			all = append(all, MemberChange{
				Member: m.Member, Cluster: m.Owner.Cluster, Geo: m.geo, Change: ChangeRemoved,
				Before: &m.Weight, Minus: addressesOf(m),
			})
		}
	}
	return all
}

// memberFacts returns a member's facts besides its weight and state, a line each.
func memberFacts(m memberAt) []string {
	lines := append(addressesOf(m), setsText(m.Sets))
	if m.Check != "" {
		lines = append(lines, "check "+m.Check)
	}
	return lines
}

// setsText says which CNAMEs answer addresses, and all TTLs.
func setsText(sets []records.TreeSet) string {
	var names, types []string
	same := true
	var first *records.TreeSet
	for i := range sets {
		s := &sets[i]
		if s.Type == "CNAME" {
			names = append(names, fmt.Sprintf("%s with TTL %d", s.Name, s.TTL))
			continue
		}
		if first == nil {
			first = s
		}
		same = same && s.TTL == first.TTL
		types = append(types, fmt.Sprintf("%s with TTL %d", s.Type, s.TTL))
	}
	var parts []string
	if len(names) > 0 {
		parts = append(parts, "CNAME at "+strings.Join(names, ", "))
	}
	switch {
	case first == nil:
	case same:
		parts = append(parts, fmt.Sprintf("addresses with TTL %d", first.TTL))
	default:
		parts = append(parts, types...)
	}
	return strings.Join(parts, "; ")
}

func addressesOf(m memberAt) []string {
	list := make([]string, len(m.Addresses))
	for i, a := range m.Addresses {
		list[i] = a.Address
	}
	return list
}

// WeightText says how a member's weight changes; "" if it does not.
func (m *MemberChange) WeightText() string {
	var weights []string
	for _, w := range []*uint64{m.Before, m.After} {
		if w != nil {
			weights = append(weights, strconv.FormatUint(*w, 10))
		}
	}
	if len(weights) == 0 || len(weights) == 2 && weights[0] == weights[1] {
		return ""
	}
	return "weight " + strings.Join(weights, " -> ")
}

// stateOf says how good a member is, and any override. A weight of 0 is reported as such.
func stateOf(m memberAt) string {
	var words []string
	for i := range m.Addresses {
		if w := m.Addresses[i].Override; w != "" {
			words = withOnce(words, w)
		}
	}
	class := m.Class
	if rest, drained := strings.CutPrefix(class, "drained"); drained && m.Weight == 0 && !slices.Contains(words, health.Drain.String()) {
		class = cmp.Or(strings.TrimPrefix(rest, "-"), pool.WeightedUp.String())
	} else if class == pool.Unchecked { // counts as up, before and after
		class = pool.WeightedUp.String()
	}
	text := ClassText(class)
	if len(words) == 0 {
		return text
	}
	slices.Sort(words)
	for i, w := range words {
		words[i] = OverrideText(w)
	}
	return text + " (" + strings.Join(words, ", ") + ")"
}

// StateText says how a member's state changes; "" if it does not.
func (m *MemberChange) StateText() string {
	if m.StateBefore == m.StateAfter {
		return ""
	}
	return m.StateBefore + " -> " + m.StateAfter
}
