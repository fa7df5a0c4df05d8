package kuadrant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// heldBack is what a guard holds back, for others to read. It is immutable.
type heldBack struct {
	zones   []heldZone                       // by origin
	objects map[string]map[api.Ref]time.Time // when each object goes, by cluster
}

// heldZone is what of a zone is held back.
type heldZone struct {
	origin string
	names  int       // how many
	until  time.Time // when the last of them goes
}

// zoneNamed returns what of a zone is held back.
func (h *heldBack) zoneNamed(origin string) heldZone {
	if h != nil {
		if i, ok := slices.BinarySearchFunc(h.zones, origin, func(z heldZone, origin string) int { return strings.Compare(z.origin, origin) }); ok {
			return h.zones[i]
		}
	}
	return heldZone{origin: origin}
}

// held returns how many objects are held back.
func (g *guard) held() (n int) {
	for _, c := range g.clusters {
		n += len(c.held)
	}
	return n
}

// commit makes r, which came of s, what is held back, and says what is new about that.
func (g *guard) commit(s *guardStep, r *rendering) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := g.adopted
	g.adopted = false
	fresh := make(map[string][]located) // objects that are held from now on, by zone
	clusters := make(map[string]*guardedCluster, len(s.clusters))
	for i, c := range s.clusters {
		next := r.clusters[i]
		next.held, next.status = c.held, c.status
		changed = changed || len(c.ended)+len(c.status)+len(c.was.status) > 0
		for _, ref := range c.ended {
			h := c.was.held[ref]
			g.release(h, !s.now.Before(h.until))
		}
		g.holdStatuses(c, r)
		own := false
		for _, ref := range c.inferred {
			at := located{c.in.Name, ref}
			if !r.chosen[at] {
				continue
			}
			if !own {
				next.held, own = cloneHeld(c.held), true
			}
			h := &heldObject{until: s.now.Add(g.period), names: r.names[at]}
			next.held[ref] = h
			for origin := range g.hold(h) {
				fresh[origin] = append(fresh[origin], at)
			}
		}
		changed = changed || own
		clusters[c.in.Name] = next
	}
	for name, c := range g.clusters { // those that nobody reads any more
		if clusters[name] == nil {
			for _, h := range c.held {
				g.release(h, true)
			}
			for _, h := range c.status {
				g.count(h.names, -1)
			}
			changed = changed || len(c.held)+len(c.status) > 0
		}
	}
	g.clusters = clusters
	g.say(s, fresh)
	for origin, z := range g.zones {
		if z.objects == 0 && len(z.names) == 0 && !s.now.Before(z.window) {
			delete(g.zones, origin)
		}
	}
	if changed {
		g.show()
		g.schedule(s.now)
	}
}

func cloneHeld(held map[api.Ref]*heldObject) map[api.Ref]*heldObject {
	own := make(map[api.Ref]*heldObject, len(held)+1)
	maps.Copy(own, held)
	return own
}

// hold counts what goes with an object in its zones, and returns its names there.
func (g *guard) hold(h *heldObject) zoneNames {
	g.count(h.names, 1)
	for origin := range h.names {
		z := g.zone(origin)
		z.objects++
		z.until = h.until
	}
	return h.names
}

// release ends hold; expired tells whether the object has had its time.
func (g *guard) release(h *heldObject, expired bool) {
	g.count(h.names, -1)
	for origin := range h.names {
		z := g.zone(origin)
		z.objects--
		if expired {
			z.expired++
		}
	}
}

// count adds by to how often names are held back.
func (g *guard) count(names zoneNames, by int) {
	for origin, list := range names {
		z := g.zone(origin)
		for name := range list {
			if z.names[name] += by; z.names[name] == 0 {
				delete(z.names, name)
			}
		}
	}
}

// holdStatuses counts the hosts of Gateways of which something is held, and says which are
// new.
func (g *guard) holdStatuses(c *clusterStep, r *rendering) {
	for name, h := range c.was.status {
		if c.status[name] == nil {
			g.count(h.names, -1)
		}
	}
	var fresh []string
	var until time.Time
	for name, h := range c.status {
		if c.was.status[name] != nil {
			continue
		}
		h.names = make(zoneNames)
		for host := range r.snap.NamesOf(c.in.Name, api.Ref{Kind: api.KindGateway, Name: name}) {
			if z := r.snap.Zone(host); z != nil {
				h.names.add(z.Origin(), host)
			}
		}
		g.count(h.names, 1)
		fresh, until = append(fresh, name), h.until()
	}
	if len(fresh) == 0 {
		return
	}
	slices.Sort(fresh)
	list := strings.Join(fresh[:min(len(fresh), maxSaid)], ", ")
	if more := len(fresh) - maxSaid; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	g.warnf("Cluster %q: addresses or routes have gone from the status of Gateways whose spec is the same (%s): they are served until %s, beside what is new. A changed spec, or `guard 0` and a reload, lets them go at once",
		c.in.Name, list, clockTime(until))
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// saidPause is how long a zone says nothing more of what is held back, once it has: the lists
// of several kinds come one by one.
const saidPause = 10 * time.Second

// maxSaid is how many objects a line of the log names.
const maxSaid = 3

// say logs what is held back from now on, and where nothing is any more.
func (g *guard) say(s *guardStep, fresh map[string][]located) {
	for _, origin := range slices.Sorted(maps.Keys(fresh)) {
		z := g.zones[origin]
		if s.now.Sub(z.said) < saidPause {
			continue
		}
		z.said = s.now
		all := fresh[origin]
		slices.SortFunc(all, func(a, b located) int {
			return cmp.Or(strings.Compare(a.cluster, b.cluster), cmp.Compare(a.ref.Kind, b.ref.Kind), strings.Compare(a.ref.Name, b.ref.Name))
		})
		var list []string
		for _, at := range all[:min(len(all), maxSaid)] {
			list = append(list, fmt.Sprintf("%s %s of cluster %q", at.ref.Kind, at.ref.Name, at.cluster))
		}
		if more := len(all) - len(list); more > 0 {
			list = append(list, fmt.Sprintf("%d more", more))
		}
		g.warnf("Zone %s: %d of %d names are held back until %s: what they come from has gone without a report of its deletion (%s). Bring the objects back, and restart no server until then: a new one holds nothing back. `guard 0` and a reload let the names go at once",
			origin, len(z.names), z.of, clockTime(z.until), strings.Join(list, ", "))
	}
	for _, origin := range slices.Sorted(maps.Keys(g.zones)) {
		z := g.zones[origin]
		if z.objects > 0 || z.said.IsZero() {
			continue
		}
		if z.expired > 0 {
			g.warnf("Zone %s: nothing is held back any more: %d objects have not come back, and what came from them is removed", origin, z.expired)
		} else {
			g.infof("Zone %s: nothing is held back any more: the objects are back, or their deletion was reported", origin)
		}
		z.said, z.expired = time.Time{}, 0
	}
}

// show makes what is held back known to others.
func (g *guard) show() {
	h := &heldBack{objects: make(map[string]map[api.Ref]time.Time)}
	for origin, z := range g.zones {
		if len(z.names) > 0 {
			h.zones = append(h.zones, heldZone{origin, len(z.names), z.until})
		}
	}
	slices.SortFunc(h.zones, func(a, b heldZone) int { return strings.Compare(a.origin, b.origin) })
	for name, c := range g.clusters {
		if len(c.held) == 0 {
			continue
		}
		objects := make(map[api.Ref]time.Time, len(c.held))
		for ref, held := range c.held {
			objects[ref] = held.until
		}
		h.objects[name] = objects
	}
	if len(h.zones)+len(h.objects) == 0 {
		h = nil
	}
	g.shown.Store(h)
}

// schedule sets the timer to when the next hold ends.
func (g *guard) schedule(now time.Time) {
	var next time.Time
	earlier := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range g.clusters {
		for _, h := range c.held {
			earlier(h.until)
		}
		for _, h := range c.status {
			earlier(h.next())
		}
	}
	switch {
	case next.IsZero():
		g.stop()
	case g.timer == nil:
		g.timer = time.AfterFunc(next.Sub(now), g.wake)
	default:
		g.timer.Reset(next.Sub(now))
	}
}
