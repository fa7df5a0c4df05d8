package endpoint

import (
	"fmt"
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// incumbents are the api.Incumbents of a snapshot, which has zones.
type incumbents interface {
	// Resolved returns its zones.
	Resolved() *Zones
	// Below yields the owners at and below a name in the zone that it lies in.
	Below(name string) iter.Seq2[string, api.Owner]
}

// takenNames are the names of others, registered or served, at or below the names of Zones without a registry line of their own (rule 6.5),
// and those that came below the name of a registered Zone while it was gone.
type takenNames map[string]*taken

// taken are the names in one zone.
type taken struct {
	number, unwritten map[string]int // of each namespace, and those without a line among them
	first             []registered   // the first maxTaken of each namespace, in the registry's order
	// came are those that came while the registered Zone was gone; nil if it was not.
	came *taken
}

func newTaken() *taken { return &taken{number: make(map[string]int), unwritten: make(map[string]int)} }

// registered is a registry line, or one to be written: a name, and its object.
type registered struct {
	name string
	kind api.Kind
	meta *api.Meta
}

// maxTaken bounds the names that a Zone's condition lists.
const maxTaken = 3

// findTaken looks through the registry once, if a Zone may be refused for it: one that lies below another, and has no line of its own, or
// was gone.
func (s *Zones) findTaken(named []*Admission, in *api.Objects) {
	fqdns := make(map[string]bool, len(named))
	for _, a := range named {
		fqdns[a.FQDN] = true
	}
	s.Taken = make(takenNames)
	last, _ := in.Incumbents.(incumbents)
	gone := vacatedIn(last)
	returned := make(map[string]*api.Zone)
	for _, a := range named {
		_, back := gone[a.FQDN]
		if a.registered && !back && a.returned(last) {
			back, returned[a.FQDN] = true, a.Zone
		}
		if a.registered && !back {
			continue
		}
		for at, ok := rdata.Parent(a.FQDN); ok; at, ok = rdata.Parent(at) {
			if !fqdns[at] {
				continue
			}
			all := newTaken()
			if s.Taken[a.FQDN] = all; back {
				all.came = newTaken()
			}
			break
		}
	}
	if len(s.Taken) == 0 {
		return
	}
	for key, line := range in.Acquired.All() {
		o, name := in.Current(line), NameOf(key)
		r, within := registered{name, o.Kind, in.MetaOf(o)}, false
		for at, ok := rdata.Base(name), true; ok; at, ok = rdata.Parent(at) {
			all, is := s.Taken[at]
			inner := within
			if key != api.ZoneKey(at) {
				within = within || s.isZone(at, in) // it is the closer zone that has the name
			}
			if !is {
				continue
			}
			if all.add(r); all.came == nil {
				continue
			}
			had, ok := gone[at].Get(key)
			if z := returned[at]; z != nil {
				ok = inner || mayHave(z, r.meta, rdata.Relative(at, name))
			} else {
				ok = ok && in.MetaOf(in.Current(had)).SameNamespace(r.meta)
			}
			if !ok {
				all.came.add(r)
			}
		}
	}
	if last != nil {
		s.addUnwritten(last, in)
	}
}

// returned reports whether a Zone has come back to its line, and nobody here knows what was below its name when it went: a server that has
// seen it away since it started, or finds another one than the line is of. Names that the Zone does not let their namespaces have came
// meanwhile.
func (a *Admission) returned(last incumbents) bool {
	if last == nil {
		return a.line.UID != "" && a.Zone.UID != "" && a.line.UID != a.Zone.UID
	}
	i, served := last.Resolved().Index[a.FQDN]
	return !served || last.Resolved().Served[i].Object == nil
}

// isZone reports whether a zone begins at a name, as the Corefile or the registry has it.
func (s *Zones) isZone(name string, in *api.Objects) bool {
	if _, corefile := s.Index[name]; corefile {
		return true
	}
	_, line := in.Line(api.ZoneKey(name))
	return line
}

// addUnwritten adds the names that were served, and have no registry line yet, except those in a Zone that was served, too.
func (s *Zones) addUnwritten(last incumbents, in *api.Objects) {
	before := last.Resolved()
	add := func(at, key string, o api.Owner) {
		all := s.Taken[at]
		if i, served := before.Index[at]; all.came == nil && served && before.Served[i].Object != nil {
			return
		}
		if _, written := in.Line(key); written {
			return // almost always
		}
		r := registered{NameOf(key), o.Kind, in.MetaOf(o)}
		for _, all := range [...]*taken{all, all.came} {
			if all != nil {
				all.add(r)
				all.unwritten[namespaceKey(r.meta)]++
			}
		}
	}
	for at := range s.Taken {
		for key, o := range last.Below(at) {
			add(at, key, o)
		}
	}
	for i := range before.Served {
		z := &before.Served[i]
		if z.Object == nil {
			continue
		}
		for at, ok := z.Origin, true; ok; at, ok = rdata.Parent(at) {
			if s.Taken[at] != nil {
				add(at, api.ZoneKey(z.Origin), api.Owner{Cluster: z.Object.Cluster, Kind: api.KindZone, Name: z.Object.Name})
			}
		}
	}
}

// vacatedIn returns the vacated names of the zones of last, nil for none.
func vacatedIn(last incumbents) map[string]tree.Map[api.Owner] {
	if last == nil {
		return nil
	}
	return last.Resolved().vacated
}

// vacate notes the names that no Zone has any more, and that the registry still keeps.
func (s *Zones) vacate(in *api.Objects) {
	last, ok := in.Incumbents.(incumbents)
	if !ok {
		return
	}
	s.vacated = make(map[string]tree.Map[api.Owner])
	note := func(origin string, was tree.Map[api.Owner]) {
		if i, served := s.Index[origin]; served && s.Served[i].Object != nil {
			return // nearly all
		}
		if _, written := in.Line(api.ZoneKey(origin)); written {
			s.vacated[origin] = was
		}
	}
	for origin, was := range vacatedIn(last) {
		note(origin, was)
	}
	for _, z := range last.Resolved().Served {
		if z.Object != nil {
			note(z.Origin, in.Acquired)
		}
	}
}

func (t *taken) add(r registered) {
	namespace := namespaceKey(r.meta)
	if t.number[namespace] < maxTaken {
		t.first = append(t.first, r)
	}
	t.number[namespace]++
}

// refuse returns the problem that a Zone would take names of other namespaces than its own and that of the Zone above; nil if there are none.
func (s *Zones) refuse(a *Admission) *Problem {
	in := s.Taken[a.FQDN]
	if in != nil && a.registered {
		in = in.came
	}
	if in == nil {
		return nil
	}
	own, above := namespaceKey(&a.Zone.Meta), namespaceKey(&a.Parent.Meta)
	others := func(number map[string]int) (n int) {
		for of, m := range number {
			if of != own && of != above {
				n += m
			}
		}
		return n
	}
	n := others(in.number)
	if n == 0 {
		return nil
	}
	s.Unsettled = s.Unsettled || others(in.unwritten) == n
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
