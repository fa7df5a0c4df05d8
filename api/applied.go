package api

import (
	"slices"
	"strings"
)

// Application says how objects are applied to a cluster.
type Application struct {
	// Stated reports whether one of the objects has a status of its own.
	Stated func(Ref) bool
	// Prune removes objects of the same kinds and namespaces that the given ones lack. Secrets stay.
	Prune bool
	// Now is the creation time of new objects that have none, in seconds since 1970.
	Now int64
}

// Applied returns c as it would be after kubectl apply of o's objects: those of the same name are replaced, and without Prune none is
// removed. It is c's next version, with the differences in its Changed. c stays as it is; o must not be used any more.
//
// An object keeps what only the cluster knows: its UID and age, and its status unless the new one has a status of its own.
// has none of its own.
func (c *Cluster) Applied(o *Cluster, how Application) *Cluster {
	next := *c
	next.Changed, next.Inferred = nil, nil
	for k := range NumKinds {
		if o.Count(k) == 0 {
			continue
		}
		changed := slices.Collect(o.Names(k, ""))
		for _, name := range changed {
			trees[k].carry(c, o, Ref{Kind: k, Name: name}, how)
		}
		if how.Prune && k != KindSecret {
			changed = append(changed, c.missing(o, k)...)
		}
		next.Adopt(k, o, slices.Values(changed))
		for _, name := range changed {
			next.Changed = append(next.Changed, Ref{Kind: k, Name: name})
		}
	}
	return &next
}

// missing returns the objects of a kind that o lacks in the namespaces where it has any object.
func (c *Cluster) missing(o *Cluster, k Kind) (names []string) {
	namespaces := make(map[string]bool)
	for other := range NumKinds {
		for name := range o.Names(other, "") {
			namespace, _, _ := strings.Cut(name, "/")
			namespaces[namespace] = true
		}
	}
	for namespace := range namespaces {
		for name := range c.Names(k, namespace+"/") {
			if !o.Has(Ref{Kind: k, Name: name}) {
				names = append(names, name)
			}
		}
	}
	return names
}

// carry gives an object of o what c knows of the object with the same name.
func (at treeOf[T]) carry(c, o *Cluster, ref Ref, how Application) {
	applied, _ := at(o).Get(ref.Name)
	own := any(applied).(Object).Metadata()
	was, known := at(c).Get(ref.Name)
	if !known {
		if own.Created == 0 {
			own.Created = how.Now
		}
		return
	}
	before := any(was).(Object).Metadata()
	own.UID, own.Created, own.Generation, own.Deleting = before.UID, before.Created, before.Generation, before.Deleting
	if s, ok := any(applied).(interface{ keepStatus(was any) }); ok && !how.Stated(ref) {
		s.keepStatus(was)
	}
}

func (g *Gateway) keepStatus(was any) {
	before := was.(*Gateway)
	g.Addresses, g.Programmed = before.Addresses, before.Programmed
	for i := range g.Listeners {
		for _, l := range before.Listeners {
			if l.Name == g.Listeners[i].Name {
				g.Listeners[i].AttachedRoutes = l.AttachedRoutes
			}
		}
	}
}

func (z *Zone) keepStatus(was any) { z.Kept = was.(*Zone).Kept }

func (r *DNSRecord) keepStatus(was any) { r.Ready = was.(*DNSRecord).Ready }

func (p *HealthCheckProbe) keepStatus(was any) {
	before := was.(*HealthCheckProbe)
	p.Healthy, p.ObservedGeneration = before.Healthy, before.ObservedGeneration
}
