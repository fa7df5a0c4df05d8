package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Registry is who had which host first, as the elected replica keeps it (rule 5.4).
type Registry struct {
	In *api.Objects
	// RecordOf returns a Record of a cluster as it lies in its zone, by its namespace/name; nil for none.
	RecordOf func(cluster, name string) *endpoint.Record
	// Unread are its lines whose objects cannot be read now.
	Unread Lines
}

// empty reports whether there are no lines: by far the most registries of servers without a writer.
func (r *Registry) empty() bool { return r.In.Acquired.Len() == 0 }

// holds reports whether the object of a claim has acquired its host before.
func (r *Registry) holds(c *endpoint.Claim) bool {
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

// recordAt reports whether the Record that is on record as the owner of a name is there: all Records of a zone are one owner,
// and what one has acquired another does not lose by joining it (rule 5.3).
func (r *Registry) recordAt(line api.Owner, name string) bool {
	e := r.RecordOf(line.Cluster, line.Name)
	return e != nil && e.RR != nil && e.Name == name && line.Is(api.KindRecord, &e.Record.Meta)
}

// follows reports whether a claim is of the namespace that its host is registered for.
func (r *Registry) follows(c *endpoint.Claim) bool {
	line, ok := r.In.Registered(c.Host)
	return ok && r.In.MetaOf(line).SameNamespace(c.By)
}

// Order returns the claims, which are in the order of their age, in that of precedence: first those whose objects have the
// registry's line for their hosts, then those of the line's namespace, which follow an owner that has gone; those that are
// there only because the guard keeps them (rule 8.5) go after others of their namespace. Before all are the vacancies. Claims
// that stand for owners which cannot be read go where these are among the others.
func (r *Registry) Order(claims []*endpoint.Claim) []*endpoint.Claim {
	claims = endpoint.LiveFirst(r.holdersFirst(r.withoutPresent(claims)), (*endpoint.Claim).Missing, (*endpoint.Claim).Contention)
	if r.empty() {
		return claims
	}
	var all []*endpoint.Claim
	for _, on := range ByHost(claims) {
		if v := r.Vacancy(on[0].Host, on); v != nil {
			all = append(all, v)
		}
	}
	return append(all, claims...)
}

func (r *Registry) holdersFirst(claims []*endpoint.Claim) []*endpoint.Claim {
	if r.empty() || len(claims) == 1 {
		return claims
	}
	place := make(map[*endpoint.Claim]int, len(claims))
	for _, c := range claims {
		switch {
		case r.holds(c):
		case r.follows(c):
			place[c] = 1
		default:
			place[c] = 2
		}
	}
	ordered := slices.Clone(claims)
	slices.SortStableFunc(ordered, func(a, b *endpoint.Claim) int { return place[a] - place[b] })
	return ordered
}

// Vacancy returns what stands for the owner on record of a host where neither it nor another object of its namespace is among
// claims, those on the host: nobody else has the host before the line goes, 30 s later. It is nil where there is no such line.
func (r *Registry) Vacancy(host string, claims []*endpoint.Claim) *endpoint.Claim {
	if r.empty() {
		return nil
	}
	line, ok := r.In.Registered(host)
	if !ok || line.Kind == api.KindZone { // the first edition wrote the Zone of Records
		return nil
	}
	m := r.In.MetaOf(line)
	if slices.ContainsFunc(claims, func(c *endpoint.Claim) bool { return m.SameNamespace(c.By) }) {
		return nil
	}
	return &endpoint.Claim{By: m, Kind: line.Kind, Host: host, Static: true, Registered: true, Targets: &endpoint.Targets{}}
}

// MeetsVacancy reports whether a Record lies at a name that may be kept for another namespace.
func (r *Registry) MeetsVacancy(e *endpoint.Record) bool {
	return !e.Beside && !r.empty() && r.Vacancy(e.Name, []*endpoint.Claim{{By: &e.Record.Meta}}) != nil
}

func (r *Registry) withoutPresent(claims []*endpoint.Claim) []*endpoint.Claim {
	if r.Unread.Hosts.Len() == 0 {
		return claims // by far the most
	}
	present := make(map[string]bool)
	for _, c := range claims {
		if !c.Registered && r.holds(c) {
			present[c.Host] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(claims), func(c *endpoint.Claim) bool { return c.Registered && present[c.Host] })
}
