package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Finding is an error in a set of objects, or most likely a mistake.
type Finding struct {
	Severity Severity `json:"severity"`
	// Reason is one word. Text says what is wrong, and, if it helps, what to do.
	Reason string `json:"reason"`
	Text   string `json:"text"`
	// Object is the one to look at, and Name its host; "" and nil for none.
	Object *records.Object `json:"object,omitempty"`
	Name   string          `json:"name,omitempty"`
	// File is the object's file, if known.
	File string `json:"file,omitempty"`
}

// Severity says how bad a Finding is.
type Severity string

// The severities: not served, served differently than expected, and worth knowing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Compare orders severities, the worst first.
func (s Severity) Compare(o Severity) int {
	order := []Severity{SeverityError, SeverityWarning, SeverityNote}
	return slices.Index(order, s) - slices.Index(order, o)
}

// The reasons of findings beyond those in objects' statuses.
const (
	ReasonNoAddresses    = "NoAddresses"    // the host is answered with no data
	ReasonLeadsNowhere   = "LeadsNowhere"   // the target of an alias has no address, here or elsewhere
	ReasonNoDefault      = "NoDefaultGeo"   // clients that match no geo code get any member
	ReasonSecondDefault  = "SecondDefault"  // an older policy of the host has another default
	ReasonUnreachableGeo = "UnreachableGeo" // no network of the databases has the code
	ReasonNoGeoDatabase  = "NoGeoDatabase"  // nothing locates clients
	ReasonAllDrained     = "AllDrained"     // all members of a name are drained, so that draining has no effect
	ReasonGroups         = "ActiveGroups"   // a zone's active groups cannot be read, or no cluster has one (rule 9.5)
	ReasonStandby        = "Standby"        // a member never serves, as one of a lower priority is never down (rule 9.1)
	ReasonPriority       = "Priority"       // a policy has a priority in one cluster, and says nothing of it in another (rule 9.1)
	ReasonFailsClosed    = "FailsClosed"    // clients get no address, as all their members are down (rule 9.3)
	ReasonFailsOpen      = "FailsOpen"      // clients get members that are down, as they have no other
	ReasonNotChecked     = "NotChecked"     // there is a health check, and it never begins
	ReasonUnread         = "Unread"         // a file, or an object in it, cannot be read
	ReasonLeftOut        = "LeftOut"        // a part of a file does not count
	ReasonUnited         = "United"         // several objects have the addresses of a host (rule 5.6)
	ReasonCorefile       = "Corefile"       // the server does not start, or a line causes a warning or matches nothing
)

// Setup is what Check knows of a server besides its snapshot.
type Setup struct {
	// Space is the geo databases'; nil for none.
	Space *geo.Space
	// Unlocated is true if nothing locates clients: no databases, no file of networks, no other plugin.
	Unlocated bool
	// Guard says where health checks may go; nil if unknown.
	Guard *health.Guard
}

// Check looks for mistakes: errors first, then by object and name. It looks at every object and every name.
func (v *View) Check(with Setup) []Finding {
	c := &checker{snapshot: v.Snapshot, with: with, reachable: reachableCodes(with.Space), ends: make(map[string]deadEnd)}
	troubles, told := c.troubles()
	for _, z := range v.Snapshot.Zones() {
		for n := range v.Snapshot.Names(z, "", nil) {
			c.name(&n, told)
		}
	}
	c.groups()
	c.objects(troubles)
	c.unlabelled()
	c.unlocated()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(a.Severity.Compare(b.Severity), cmp.Compare(objectOf(&a), objectOf(&b)), cmp.Compare(a.Name, b.Name))
	})
	return c.found
}

// checker is one run of Check.
type checker struct {
	snapshot *records.Snapshot
	with     Setup
	// reachable are the codes of the databases' networks; nil without databases.
	reachable map[string]bool
	// ends are the ends of names already followed.
	ends map[string]deadEnd
	// steered are the names whose answers depend on where clients are.
	steered []string
	// unlike are the policies already reported to have another priority elsewhere.
	unlike map[records.Object]bool
	// empty are the objects whose hosts are all reported as without an address.
	empty map[records.Object]bool
	found []Finding
}

// groups finds active groups that cannot be read, or that no cluster has.
func (c *checker) groups() {
	for origin, g := range NamedGroups(c.snapshot) {
		if g.Wrong() {
			c.add(SeverityWarning, ReasonGroups, nil, trim(origin), "%s", g.Text())
		}
	}
}

func objectOf(f *Finding) string {
	if f.Object == nil {
		return ""
	}
	return ObjectText(*f.Object)
}

// add adds a finding about a name of an object, nil for none.
func (c *checker) add(s Severity, reason string, object *records.Object, name, format string, args ...any) {
	c.found = append(c.found, Finding{Severity: s, Reason: reason, Text: fmt.Sprintf(format, args...), Object: object, Name: name})
}

// warn adds a warning about a name.
func (c *checker) warn(n *records.NameState, reason, format string, args ...any) {
	c.add(SeverityWarning, reason, n.Owner, n.Name, format, args...)
}

// troubles returns the problems in objects' statuses, and which objects without a usable address have other problems, too.
func (c *checker) troubles() (all []records.Trouble, told map[records.Object]bool) {
	told = make(map[records.Object]bool)
	for t := range troublesHere(c.snapshot) {
		all = append(all, t)
		if t.Reason == api.NothingServed && strings.Contains(t.Why, "; ") {
			told[t.Object] = true
		}
	}
	return all, told
}

// objects adds the problems in objects' statuses, except those reported for their hosts.
func (c *checker) objects(troubles []records.Trouble) {
	for _, t := range troubles {
		if t.Reason == api.NothingServed && c.empty[t.Object] {
			continue
		}
		severity := SeverityWarning
		if t.Refused {
			severity = SeverityError
		}
		c.found = append(c.found, Finding{Severity: severity, Reason: t.Reason, Text: t.Why, Object: &t.Object})
	}
}

// unlabelled adds DNSRecords whose names are in a zone served here, but which lack its label, in one finding for each zone.
// Policies answer for their own.
func (c *checker) unlabelled() {
	objects, lacking := c.snapshot.Objects(), make(map[string][]records.Trouble)
	for t := range c.snapshot.Troubles() {
		if !t.Elsewhere || t.Kind != api.KindDNSRecord.String() {
			continue
		}
		rec, ok := objects.Cluster(t.Cluster).DNSRecords.Get(t.Name)
		if !ok || rec.Controller != nil || rec.Own() {
			continue
		}
		if root, err := ParseName(rec.RootHost); err == nil {
			if z := c.snapshot.Zone(root); z != nil {
				lacking[z.Origin()] = append(lacking[z.Origin()], t)
			}
		}
	}
	for origin, all := range lacking {
		others := ""
		if n := len(all) - 1; n > 0 {
			others = fmt.Sprintf("; without it too: %s of the zone", counted(n, "other DNSRecord"))
		}
		c.add(SeverityWarning, all[0].Reason, &all[0].Object, "", "not served here: write the label %s: %s%s",
			api.LabelZoneName, trim(origin), others)
	}
}

// name adds the problems of one name. told are the objects already reported as without an address.
func (c *checker) name(n *records.NameState, told map[records.Object]bool) {
	switch {
	case n.Hidden != "":
		return // reported for its object
	case n.Answer == "":
		if n.Owner != nil && len(n.Types) == 0 && !told[*n.Owner] {
			c.noAddresses(n)
		}
		if slices.Contains(n.Types, "CNAME") {
			c.alias(n)
		}
		return
	}
	t, ok := c.snapshot.Tree(n.Name + ".")
	if !ok {
		return
	}
	if len(t.Groups) > 0 {
		c.members(t)
		c.standbys(t)
		c.priorities(t)
	} else if len(t.Addrs) == 1 && !isAddress(t.Addrs[0].Address) {
		c.alias(n)
	} else {
		c.united(t)
	}
	if len(t.Groups) > 1 {
		c.geography(t)
		c.sharing(t, c.snapshot.Sharers(n.Name+"."))
	}
	c.health(t)
}

// noAddresses says that a host has no address, and why.
func (c *checker) noAddresses(n *records.NameState) {
	if c.empty == nil {
		c.empty = make(map[records.Object]bool)
	}
	c.empty[*n.Owner] = true
	why := ""
	for _, s := range c.snapshot.Sharers(n.Name + ".") {
		if s.Object == *n.Owner && s.Empty != "" {
			why = ": " + s.Empty
		}
	}
	c.add(SeverityError, ReasonNoAddresses, n.Owner, n.Name, "it has no address, so the answer is empty%s", why)
}
