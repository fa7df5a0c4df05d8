package endpoint

import (
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// takenNames are the registered names at or below the names of Zones without a registry line of
// their own, in the registry's order (rule 6.5).
type takenNames map[string][]registered

// registered is a registry line: a name, and its object.
type registered struct {
	name string
	kind api.Kind
	meta api.Meta
}

// maxTaken bounds the names that a Zone's condition lists.
const maxTaken = 3

// findTaken looks through the registry once, if a Zone may be refused for it: one that lies below
// another, and has no line of its own.
func (s *Zones) findTaken(named []*Admission, in *api.Objects) {
	fqdns := make(map[string]bool, len(named))
	for _, a := range named {
		fqdns[a.FQDN], a.registered = true, isRegistered(in, a)
	}
	s.named, s.Taken = fqdns, make(takenNames)
	for _, a := range named {
		for at, ok := rdata.Parent(a.FQDN); ok; at, ok = rdata.Parent(at) {
			if fqdns[at] && !a.registered {
				s.Taken[a.FQDN] = nil
				break
			}
		}
	}
	if len(s.Taken) == 0 {
		return
	}
	for key, line := range in.Acquired.All() {
		o, name := in.Current(line), NameOf(key)
		for at, ok := rdata.Base(name), true; ok; at, ok = rdata.Parent(at) {
			if all, is := s.Taken[at]; is {
				m := api.Meta{Cluster: o.Cluster, Name: o.Name, UID: o.UID}
				m.Apart = !in.PoolsOf(o.Cluster).Has(m.Namespace())
				s.Taken[at] = append(all, registered{name, o.Kind, m})
			}
		}
	}
}

// isRegistered reports whether a Zone has a line for its name. A re-created Zone has the line of
// the one before.
func isRegistered(in *api.Objects, a *Admission) bool {
	o, ok := in.Registered(api.ZoneKey(a.FQDN))
	return ok && o.Kind == api.KindZone && o.Cluster == a.Zone.Cluster && o.Name == a.Zone.Name
}

// refuse returns the problem that the registry has names in a Zone for other namespaces than its
// own and that of the Zone above; nil if it has none.
func (t takenNames) refuse(a *Admission) *Problem {
	var names []string
	n := 0
	for _, r := range t[a.FQDN] {
		if r.meta.SameNamespace(&a.Zone.Meta) || r.meta.SameNamespace(&a.Parent.Meta) {
			continue
		}
		if n++; n <= maxTaken {
			names = append(names, fmt.Sprintf("%s (%s %s)", TrimDot(r.name), r.kind, InCluster(&r.meta, &a.Zone.Meta)))
		}
	}
	if n == 0 {
		return nil
	}
	more := ""
	if n > maxTaken {
		more = fmt.Sprintf(", and %d more", n-maxTaken)
	}
	return Problemf(reasonNamesTaken, "the zone would take over names of other namespaces: %s%s. Remove these objects first", strings.Join(names, ", "), more)
}

// servedBefore reports whether the registry names a Zone for its origin: later objects take nothing
// from it, however old they are (rule 5.4).
func servedBefore(acquired tree.Map[api.Owner], origin string, z *api.Zone) bool {
	owner, ok := acquired.Get(api.ZoneKey(origin)) // a Zone has the UID
	return ok && owner.Is(api.KindZone, &z.Meta)
}

// NameOf returns the name in a key of api.Objects.Acquired.
func NameOf(key string) string {
	if origin, is := api.OfZoneKey(key); is {
		return origin
	}
	return key
}
