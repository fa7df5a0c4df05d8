package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Registry has the registered owners of hosts, as the elected replica keeps them (rule 5.4).
type Registry struct {
	// In has the lines, and the objects that they name.
	In *api.Objects
	// RecordOf returns a Record of a cluster as it lies in its zone, by its namespace/name; nil for none.
	RecordOf func(cluster, name string) *endpoint.Record
	// Unread are the lines whose objects cannot be read now.
	Unread Lines
}

// empty reports whether nobody had a name before, which is usual without a writer.
func (r *Registry) empty() bool { return r.In.Acquired.Len() == 0 && r.In.Incumbents == nil }

// holds reports whether the contender's object is registered for its host.
func (r *Registry) holds(c *endpoint.Contender) bool {
	if r.empty() || c.Registered {
		return c.Registered
	}
	line, ok := r.In.Registered(c.Host)
	if !ok {
		return false
	}
	if c.Static && (line.Kind == api.KindZone || r.follows(c) && r.recordAt(line, c.Host)) {
		return true // the first edition wrote the Zone of Records
	}
	return line.Is(c.Kind, c.By)
}

// recordAt reports whether a name's registered Record exists: all Records of a zone are one owner, and none loses what another acquired by
// joining it (rule 5.3).
func (r *Registry) recordAt(line api.Owner, name string) bool {
	rec := r.RecordOf(line.Cluster, line.Name)
	return rec != nil && rec.RR != nil && rec.Name == name && line.Is(api.KindRecord, &rec.Record.Meta)
}

// follows reports whether a contender's namespace is the one registered for its host.
func (r *Registry) follows(c *endpoint.Contender) bool {
	line, ok := r.In.Registered(c.Host)
	return ok && r.In.MetaOf(line).SameNamespace(c.By)
}

// Order sorts the contenders of one host, given in the order of age, by precedence: first the registered one, then those of the registered
// namespace, which succeed an owner that has gone. Policies that yield to a DNSRecord (rule 1.8), and what only the guard keeps (rule 8.5),
// follow others of their namespace. A reservation comes first of all. One that stands for an unreadable owner is dropped if the owner itself
// is among the others.
func (r *Registry) Order(contenders []*endpoint.Contender) []*endpoint.Contender {
	if len(contenders) == 0 {
		return nil
	}
	contenders = delegatingLast(r.holdersFirst(r.withoutPresent(contenders)))
	contenders = endpoint.LiveFirst(contenders, (*endpoint.Contender).Missing, (*endpoint.Contender).Contention)
	if v := r.Reserved(contenders[0].Host, contenders); v != nil {
		return append([]*endpoint.Contender{v}, contenders...)
	}
	return contenders
}

// holdersFirst moves registered contenders to the front, then those of registered namespaces.
func (r *Registry) holdersFirst(contenders []*endpoint.Contender) []*endpoint.Contender {
	if r.empty() || len(contenders) == 1 {
		return contenders
	}
	place := make(map[*endpoint.Contender]int, len(contenders))
	for _, c := range contenders {
		switch {
		case r.holds(c):
		case r.follows(c):
			place[c] = 1
		default:
			place[c] = 2
		}
	}
	ordered := slices.Clone(contenders)
	slices.SortStableFunc(ordered, func(a, b *endpoint.Contender) int { return place[a] - place[b] })
	return ordered
}

// delegatingLast moves policies that delegate after others of their namespace if these include a DNSRecord (rule 1.8). The contenders are
// in the order of precedence.
func delegatingLast(contenders []*endpoint.Contender) []*endpoint.Contender {
	delegates := func(c *endpoint.Contender) bool { return c.Policy != nil && c.Policy.Delegate }
	if !slices.ContainsFunc(contenders, delegates) {
		return contenders
	}
	recorded := make(map[string]bool)
	for _, c := range contenders {
		if c.Kind == api.KindDNSRecord {
			recorded[c.Contention()] = true
		}
	}
	yields := func(c *endpoint.Contender) bool { return delegates(c) && recorded[c.Contention()] }
	return endpoint.LiveFirst(contenders, yields, (*endpoint.Contender).Contention)
}

// Reserved returns the placeholder for a host's registered owner if neither it nor another object of its namespace is among contenders,
// those on the host: no other namespace gets the host until the line goes, 30 s later. It is nil if there is no such line.
func (r *Registry) Reserved(host string, contenders []*endpoint.Contender) *endpoint.Contender {
	if r.empty() {
		return nil
	}
	line, ok := r.In.Line(host)
	if !ok || line.Kind == api.KindZone { // the first edition wrote the Zone of Records
		return nil
	}
	m := r.In.MetaOf(line)
	if slices.ContainsFunc(contenders, func(c *endpoint.Contender) bool { return m.SameNamespace(c.By) }) {
		return nil
	}
	return &endpoint.Contender{By: m, Kind: line.Kind, Host: host, Static: true, Registered: true, Targets: &endpoint.Targets{}}
}

// Keeps reports whether a name may be reserved for a namespace.
func (r *Registry) Keeps(name string) bool { return r.Reserved(name, nil) != nil }

// MeetsReserved reports whether a Record is at a name that may be reserved for another namespace.
func (r *Registry) MeetsReserved(rec *endpoint.Record) bool {
	return !rec.Beside && !r.empty() && r.Reserved(rec.Name, []*endpoint.Contender{{By: &rec.Record.Meta}}) != nil
}

// withoutPresent drops contenders that stand for an owner which is among the others.
func (r *Registry) withoutPresent(contenders []*endpoint.Contender) []*endpoint.Contender {
	present := func(c *endpoint.Contender) bool { return !c.Registered && r.holds(c) }
	if r.Unread.Hosts.Len() == 0 || !slices.ContainsFunc(contenders, present) {
		return contenders // almost always
	}
	return slices.DeleteFunc(slices.Clone(contenders), func(c *endpoint.Contender) bool { return c.Registered })
}
