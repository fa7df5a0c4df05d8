package endpoint

import (
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// takenNames are the registered names at or below the names of Zones without a registry line of
// their own (rule 6.5).
type takenNames map[string]*taken

// taken are the registered names in one zone.
type taken struct {
	number map[string]int // of each namespace
	all    int
	first  []registered // the first maxTaken of each namespace, in the registry's order
}

// registered is a registry line: a name, and its object.
type registered struct {
	name string
	kind api.Kind
	meta *api.Meta
}

// maxTaken bounds the names that a Zone's condition lists.
const maxTaken = 3

// findTaken looks through the registry once, if a Zone may be refused for it: one that lies below
// another, and has no line of its own.
func (s *Zones) findTaken(named []*Admission, in *api.Objects) {
	fqdns := make(map[string]bool, len(named))
	for _, a := range named {
		fqdns[a.FQDN] = true
	}
	s.Taken = make(takenNames)
	for _, a := range named {
		for at, ok := rdata.Parent(a.FQDN); ok; at, ok = rdata.Parent(at) {
			if fqdns[at] && !a.registered {
				s.Taken[a.FQDN] = &taken{number: make(map[string]int)}
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
				all.add(registered{name, o.Kind, in.MetaOf(o)})
			}
		}
	}
}

func (t *taken) add(r registered) {
	namespace := namespaceKey(r.meta)
	if t.number[namespace] < maxTaken {
		t.first = append(t.first, r)
	}
	t.number[namespace]++
	t.all++
}

// refuse returns the problem that the registry has names in a Zone for other namespaces than its
// own and that of the Zone above; nil if it has none.
func (t takenNames) refuse(a *Admission) *Problem {
	in := t[a.FQDN]
	if in == nil {
		return nil
	}
	own, above := namespaceKey(&a.Zone.Meta), namespaceKey(&a.Parent.Meta)
	n := in.all - in.number[own]
	if own != above {
		n -= in.number[above]
	}
	if n == 0 {
		return nil
	}
	var names []string
	for _, r := range in.first {
		if of := namespaceKey(r.meta); of == own || of == above {
			continue
		}
		if len(names) == maxTaken {
			break
		}
		names = append(names, fmt.Sprintf("%s (%s %s)", TrimDot(r.name), r.kind, InCluster(r.meta, &a.Zone.Meta)))
	}
	more := ""
	if n > maxTaken {
		more = fmt.Sprintf(", and %d more", n-maxTaken)
	}
	return Problemf(reasonNamesTaken, "the zone would take over names of other namespaces: %s%s. Remove these objects first", strings.Join(names, ", "), more)
}

// NameOf returns the name in a key of api.Objects.Acquired.
func NameOf(key string) string {
	if origin, is := api.OfZoneKey(key); is {
		return origin
	}
	return key
}
