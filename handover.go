package kuadrant

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// handover is what an engine has from the one before it, for as long as its own
// sources have not listed as much (rule 8.3, docs/decisions/0007). The zero
// handover hands nothing over.
type handover struct {
	// standIns hold, by name, what was known of clusters that are read on.
	standIns map[string]*standIn
	// newcomers hold, by name, the newest cluster of each source that nobody has
	// read before; nil where it has published nothing yet.
	newcomers map[string]*api.Cluster
	// left are the clusters that nobody reads any more. While there are some,
	// newcomers are held back: the two may hold the same hosts.
	left []*api.Cluster
	// leftRecalled are the names of those that come from the state on disk.
	leftRecalled []string
	// orphans are the names of the clusters that come from the state on disk, and of which
	// nothing goes on once they have been listed: they are read at another server now.
	orphans map[string]bool
	// over are the names of clusters that end with the next compile.
	over map[string]bool
}

// inherit takes over what before knows, compiled under e's own options: serials
// go on, and nothing that was answered is not.
func (e *engine) inherit(before *engine) {
	e.from.Store(before)
	e.notifier.follow(before.notifier, func() bool { return e.from.Load() != nil })
	e.keeping.inherit(&before.keeping)
	prev := before.snap.Load()
	if prev == nil {
		return
	}
	before.mu.Lock()
	clusters, origins := e.handed(before)
	if e.noSecrets {
		clusters = withoutSecrets(clusters)
	}
	e.takeOver(clusters, origins)
	e.handover.remain(&before.handover)
	before.mu.Unlock()
	e.opt.Denied = prev.Denied()
	e.answers.Store(before.ready())
	e.snap.Store(prev)
	e.guard.adopt(before.guard, e.clusters)
	e.mu.Lock()
	recalled, others := e.recalled(), e.awaited()
	e.mu.Unlock()
	e.publish(e.compileGuarded(prev, e.clusters, others, e.now()), recalled)
	if len(e.pending) > 0 {
		e.ring()
	}
}

// withoutSecrets returns clusters less what is known of their Secrets.
func withoutSecrets(clusters []*api.Cluster) []*api.Cluster {
	all := make([]*api.Cluster, len(clusters))
	for i, c := range clusters {
		own := *c
		own.Share(api.KindSecret, new(api.Cluster))
		all[i] = &own
	}
	return all
}

// takeOver puts clusters, whose objects come from origins, in place of those
// that e has not read yet.
func (e *engine) takeOver(clusters []*api.Cluster, origins map[string]string) {
	h := &e.handover
	h.standIns, h.newcomers = make(map[string]*standIn), make(map[string]*api.Cluster)
	for i, c := range e.clusters {
		j := slices.IndexFunc(clusters, func(o *api.Cluster) bool { return o.Name == c.Name })
		if j >= 0 && known(clusters[j]) && origins[c.Name] == e.origins[c.Name] {
			e.clusters[i] = e.standFor(clusters[j], e.pools[c.Name])
			continue
		}
		h.newcomers[c.Name] = nil
	}
	e.takeOverRemotes(clusters, origins)
	if len(h.newcomers) == 0 {
		return
	}
	for _, c := range clusters {
		if h.standIns[c.Name] != nil || !known(c) || e.remotes.running[c.Name] != nil || e.remotes.lost[c.Name] != nil {
			continue
		}
		h.left = append(h.left, c)
		e.origins[c.Name] = origins[c.Name]
		i, same := slices.BinarySearchFunc(e.clusters, c.Name, func(o *api.Cluster, name string) int { return strings.Compare(o.Name, name) })
		if same {
			e.clusters[i] = c
		} else {
			e.clusters = slices.Insert(e.clusters, i, c)
		}
		log.Infof("Answering with what is known from %s until %s", origins[c.Name], listed(e.sources, h.newcomers))
	}
}

// standFor lets c stand in for the source of its name until that has listed as much. It
// returns c as it is where clusters pool as the source's do. The caller holds mu.
func (e *engine) standFor(c *api.Cluster, pools api.Pools) *api.Cluster {
	if !c.Pools.Equal(pools) {
		own := *c
		own.SetPools(pools)
		own.Epoch = epochs.Add(1)
		c = &own
	}
	e.handover.put(c.Name, newStandIn(c))
	return c
}

// put makes s the stand-in of a cluster.
func (h *handover) put(cluster string, s *standIn) {
	if h.standIns == nil {
		h.standIns = make(map[string]*standIn)
	}
	h.standIns[cluster] = s
}

// listed says which sources have to be listed.
func listed(sources []source.Source, newcomers map[string]*api.Cluster) string {
	var names []string
	for _, s := range sources {
		if _, is := newcomers[s.Name()]; is {
			names = append(names, s.Identity())
		}
	}
	return strings.Join(names, " and ") + " can be listed"
}

// known tells whether anything has been read of c.
func known(c *api.Cluster) bool { return c.UID != "" }

// admit takes in what a source has published, and returns what is to be compiled
// now. The clusters are the engine's own to change.
func (h *handover) admit(c *api.Cluster) []*api.Cluster {
	if s := h.standIns[c.Name]; s != nil {
		s.complete(c)
		return []*api.Cluster{c}
	}
	h.orphan(c.Name, false)
	if _, is := h.newcomers[c.Name]; !is {
		return []*api.Cluster{c}
	}
	if len(h.left) == 0 {
		return []*api.Cluster{c}
	}
	if h.newcomers[c.Name] = c; !h.enough() {
		return nil
	}
	return h.change()
}

// enough tells whether the newcomers hold all that is needed to do without what
// is left: they have listed every kind that it has objects of and that names
// come from. Any other kind may be forbidden, for as long as it takes, and holds
// nothing up.
func (h *handover) enough() bool {
	for _, c := range h.newcomers {
		if c == nil {
			return false
		}
		if !slices.ContainsFunc(h.left, func(o *api.Cluster) bool { return !replaces(c, o) }) {
			continue
		}
		return false
	}
	return true
}

// replaces tells whether c has listed every kind that o has objects of and that names come from.
func replaces(c, o *api.Cluster) bool {
	for k := range api.NumKinds {
		if k.HoldsNames() && !c.Listings[k].Certain() && o.Count(k) > 0 {
			return false
		}
	}
	return true
}

// change puts the newcomers in place of what is left.
func (h *handover) change() []*api.Cluster {
	for _, c := range h.left {
		h.end(c.Name)
	}
	h.left = nil
	log.Infof("Answering from %s: listed after the reload", strings.Join(slices.Sorted(maps.Keys(h.newcomers)), " and "))
	var all []*api.Cluster
	for name, c := range h.newcomers {
		all = append(all, c)
		h.newcomers[name] = nil
	}
	return all
}

// end has a cluster end with the next compile.
func (h *handover) end(cluster string) {
	if h.over == nil {
		h.over = make(map[string]bool)
	}
	h.over[cluster] = true
}

// standIn is what was known of a cluster that is read on, with what its source
// has reported since. Kind by kind, until the source has listed the kind, it
// goes on as if the source had been running all the time: what it reports is
// taken in, what it does not see stays, but for what is not in a namespace that
// it has listed.
type standIn struct {
	known   api.Cluster
	uid     string                 // the cluster's, which names its leaves: it never changes
	own     bool                   // the trees in known belong to nobody else
	lacking [api.NumKinds]bool     // the kinds that the source has not listed
	listed  [api.NumKinds][]string // the namespaces in which it has listed them nonetheless
	epoch   uint64                 // of the clusters that result
	// old is true where the UID comes from the state on disk, recalled are the kinds of
	// which something does.
	old      bool
	recalled [api.NumKinds]bool
}

func newStandIn(c *api.Cluster) *standIn {
	s := &standIn{known: *c, uid: c.UID, epoch: epochs.Add(1)}
	for k := range s.lacking {
		s.lacking[k] = true
	}
	return s
}

// detach copies the objects into trees of the stand-in's own: the source that
// has made the others may still be at work on them, and only one may be.
func (s *standIn) detach() {
	if s.own {
		return
	}
	s.own = true
	for k := range api.NumKinds {
		s.known.Detach(k)
	}
}

// complete adds to c, which the source has published, what it lacks.
func (s *standIn) complete(c *api.Cluster) {
	for k := range api.NumKinds {
		if s.lacking[k] && (c.Listings[k].Certain() || c.Listings[k].Complete() && s.known.Count(k) == 0) {
			// From here on the kind is the source's own, all at once.
			s.lacking[k], s.recalled[k], s.epoch = false, false, epochs.Add(1)
			s.known.Share(k, new(api.Cluster))
		}
	}
	if s.old && c.UID != "" && c.UID != c.Name {
		s.uid, s.old = c.UID, false // another cluster may be where that one was; its name is no UID of an API server's
	}
	c.UID = s.uid
	if slices.Contains(s.lacking[:], true) {
		s.detach()
	}
	for k := range api.NumKinds {
		if s.lacking[k] {
			s.known.Update(k, c, s.touched(c, k))
			c.Share(k, &s.known)
			if c.Listings[k] = s.known.Listings[k]; c.Listings[k].Certain() {
				c.ListedIn[k] = nil
			} else if !s.recalled[k] {
				c.ListedIn[k] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.ListedIn[k], s.known.ListedIn[k]))))
			}
		}
	}
	c.Epoch = s.epoch
}

// touched yields the names of the objects of one kind that c, which the source
// has published, may say something new about: those that changed, and those in
// namespaces that are listed now and were not before.
func (s *standIn) touched(c *api.Cluster, kind api.Kind) iter.Seq[string] {
	known, namespaces := s.known, s.news(c, kind) // as they are before the update
	return func(yield func(string) bool) {
		for _, r := range c.Changed {
			if r.Kind == kind && !yield(r.Name) {
				return
			}
		}
		for _, ns := range namespaces {
			for name := range known.Names(kind, ns+"/") {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// news returns the namespaces in which the source has listed a kind now and not
// before. What goes because of that is in no list of changes.
func (s *standIn) news(c *api.Cluster, kind api.Kind) (namespaces []string) {
	for _, ns := range c.ListedIn[kind] {
		if !slices.Contains(s.listed[kind], ns) {
			namespaces = append(namespaces, ns)
		}
	}
	if s.listed[kind] = c.ListedIn[kind]; len(namespaces) > 0 {
		s.epoch = epochs.Add(1)
	}
	return namespaces
}
