package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// guardStep is one compile of one cluster as the guard sees it.
type guardStep struct {
	guarded
	in     *api.Cluster      // as its feeds report it
	before *api.Cluster      // as last compiled; nil for a new one
	prev   *records.Snapshot // of that compile
	was    *guarded
	// due says that a decision about missing objects is due; expired counts objects held for their whole time.
	due     bool
	expired int
	// elsewhere says which kinds now come from elsewhere than in the last compile.
	elsewhere [api.NumKinds]bool
	// unread is set if objects went because the configuration no longer reads them.
	unread bool
}

// look finds each cluster's missing objects.
func (g *guard) look(prev *records.Snapshot, clusters []*api.Cluster, from map[string]origins, now time.Time) (steps []*guardStep) {
	for _, in := range clusters {
		s := &guardStep{in: in, was: g.clusters[in.Name]}
		for k := range s.elsewhere {
			s.elsewhere[k] = g.origins[in.Name][k] != from[in.Name][k]
		}
		if s.was == nil {
			s.was = new(guarded)
		}
		if prev != nil {
			was := prev.Input()
			s.before, s.prev = was.Cluster(in.Name), prev
		}
		if s.before != nil && g.period > 0 {
			s.held = s.was.held
			s.look(g, now)
		}
		steps = append(steps, s)
	}
	g.origins = from
	return steps
}

// look fills in the missing objects.
func (s *guardStep) look(g *guard, now time.Time) {
	reported := make(map[api.Ref]bool, len(s.in.Changed)) // or present
	for _, ref := range s.in.Changed {
		reported[ref] = true
	}
	for _, ref := range s.in.Inferred {
		delete(reported, ref)
	}
	s.missing = make(map[api.Ref]absence, len(s.was.missing))
	consider := func(ref api.Ref) {
		if a, ok := s.absent(ref, reported[ref], now); ok {
			s.missing[ref] = a
		} else {
			delete(s.missing, ref)
		}
	}
	fresh := s.in.Changed
	if s.before.Epoch == s.in.Epoch && s.before.UID == s.in.UID {
		maps.Copy(s.missing, s.was.missing)
		for _, ref := range s.in.Changed {
			consider(ref)
		}
	} else {
		for k := range api.NumKinds {
			for name := range s.before.Names(k, "") {
				consider(api.Ref{Kind: k, Name: name})
			}
		}
		fresh = nil
		for name := range s.in.Names(api.KindRecord, "") {
			fresh = append(fresh, api.Ref{Kind: api.KindRecord, Name: name})
		}
	}
	s.replace(fresh)
	if n := len(s.missing); n > maxMissing {
		g.log.Warningf("cluster %q: %d objects vanished, more than the guard holds; their names are withdrawn", s.in.Name, n)
		clear(s.missing)
	}
	for ref, a := range s.missing {
		switch late := !now.Before(a.end(g.period)); {
		case late && a.held:
			s.expired++
			delete(s.missing, ref)
		case late:
			s.due = true
		}
	}
}

// replace lets missing Records go whose name and type a new one of their namespace has: it would be answered beside them. Those that are new
// are among refs.
func (s *guardStep) replace(refs []api.Ref) {
	if len(s.missing) == 0 {
		return // almost always
	}
	of := func(r *api.Record) [3]string { return [...]string{r.Namespace(), s.prev.NameOf(r), r.Type} }
	fresh := make(map[[3]string]bool)
	for _, ref := range refs {
		if r, ok := s.in.Records.Get(ref.Name); ok && ref.Kind == api.KindRecord && !s.before.Has(ref) {
			fresh[of(r)] = true
		}
	}
	maps.DeleteFunc(s.missing, func(ref api.Ref, _ absence) bool {
		r, ok := s.before.Records.Get(ref.Name)
		return ok && ref.Kind == api.KindRecord && fresh[of(r)]
	})
}

// absent reports whether an object, or the status of a Gateway, is missing without a report.
func (s *guardStep) absent(ref api.Ref, reported bool, now time.Time) (absence, bool) {
	a, known := s.was.missing[ref]
	if s.in.Has(ref) {
		if ref.Kind != api.KindGateway || s.elsewhere[ref.Kind] {
			return a, false
		}
		before, _ := s.before.Gateways.Get(ref.Name)
		after, _ := s.in.Gateways.Get(ref.Name)
		if a.gateway == nil { // one that was missing before is another case
			a = absence{since: now}
		}
		a.gateway = withStatus(after, before)
		return a, a.gateway != nil
	}
	switch {
	case reported || !s.before.Has(ref):
		return a, false
	case s.elsewhere[ref.Kind] || s.in.Listings[ref.Kind].Left():
		s.unread = true
		return a, false
	case !known:
		a.since = now
	}
	a.gateway = nil
	return a, true
}

// withStatus returns after with before's addresses or routes if all of them vanished while the spec stayed the same; else nil. A
// Gateway created anew with the same listeners counts as the same spec (a restore creates it without a status). Generation 0:
// not from an API server.
func withStatus(after, before *api.Gateway) *api.Gateway {
	if before == nil || before.Deleting || after.Deleting || after.Generation == 0 {
		return nil
	}
	if before.UID == after.UID && before.Generation != after.Generation || before.UID != after.UID && !sameListeners(before, after) {
		return nil
	}
	merged := *after
	if len(after.Addresses) == 0 {
		merged.Addresses = before.Addresses
	}
	if !slices.ContainsFunc(after.Listeners, func(l api.Listener) bool { return l.AttachedRoutes != 0 }) {
		merged.Listeners = slices.Clone(after.Listeners)
		for i := range merged.Listeners {
			for _, l := range before.Listeners {
				if l.Name == merged.Listeners[i].Name && l.AttachedRoutes > 0 {
					merged.Listeners[i].AttachedRoutes = l.AttachedRoutes
				}
			}
		}
	}
	if len(merged.Addresses) == len(after.Addresses) && slices.Equal(merged.Listeners, after.Listeners) {
		return nil
	}
	return &merged
}

// sameListeners reports whether two Gateways have equal listeners.
func sameListeners(a, b *api.Gateway) bool {
	return slices.EqualFunc(a.Listeners, b.Listeners, func(a, b api.Listener) bool {
		a.AttachedRoutes = b.AttachedRoutes
		return a == b
	})
}

// render returns the cluster with its missing objects, as they were.
func (s *guardStep) render() *api.Cluster {
	if len(s.missing)+len(s.was.missing) == 0 {
		return s.in
	}
	out := *s.in
	out.Inferred = nil
	var ended []api.Ref
	for ref := range s.was.missing {
		if _, is := s.missing[ref]; !is {
			ended = append(ended, ref)
		}
	}
	out.After(ended, nil)
	var missing [api.NumKinds][]string
	gateways := out.Gateways.Edit()
	for ref, a := range s.missing {
		if a.gateway != nil {
			gateways.Set(ref.Name, a.gateway)
		} else {
			missing[ref.Kind] = append(missing[ref.Kind], ref.Name)
		}
	}
	out.Gateways = gateways.Map()
	for k, names := range missing {
		out.Keep(api.Kind(k), s.before, slices.Values(names))
	}
	return &out
}
