package api

// Applied returns what c would hold if the objects of o were applied to it, as by kubectl apply: those
// of the same name are replaced, and none goes. Neither is changed, but for o's objects, which the caller
// must not use any more.
//
// An object keeps what only the cluster knows of it: its UID and age, and what its status says where stated,
// which tells of one of o's whether it has a status of its own, is false. One that is new is as old as now, in
// seconds since 1970, unless it says itself.
func (c *Cluster) Applied(o *Cluster, stated func(Ref) bool, now int64) *Cluster {
	next := *c
	for k := range NumKinds {
		if o.Count(k) == 0 {
			continue
		}
		next.Detach(k)
		for name := range o.Names(k, "") {
			ref := Ref{Kind: k, Name: name}
			kinds[k].tree.carry(c, o, name, stated(ref), now)
		}
		next.Update(k, o, o.Names(k, ""))
	}
	next.Changed, next.Inferred = nil, nil
	return &next
}

// carry gives an object of o what c knows of the one of the same name.
func (at treeOf[T]) carry(c, o *Cluster, name string, stated bool, now int64) {
	applied, _ := at(o).Get(name)
	own := any(applied).(Object).Metadata()
	was, known := at(c).Get(name)
	if !known {
		if own.Created == 0 {
			own.Created = now
		}
		return
	}
	before := any(was).(Object).Metadata()
	own.UID, own.Created, own.Generation, own.Deleting = before.UID, before.Created, before.Generation, before.Deleting
	if s, ok := any(applied).(interface{ keepStatus(was any) }); ok && !stated {
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
