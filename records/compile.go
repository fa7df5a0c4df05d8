package records

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Compile makes the snapshot of in under opt.
//
// prev is the snapshot before; nil for none. Serials continue from it. If in has its structure (see Next.Fits), Compile looks only at what
// in.Clusters[i].Changed names: the result equals that of compiling from nothing, at the cost of the change. now dates serials.
//
// Compile never fails: it leaves out what cannot be served, and the verdict of the object says why (rule 8.1). One goroutine at a time may
// continue from a snapshot and its successors; others may read them meanwhile, or compile from nothing after one of them.
func Compile(prev *Snapshot, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	return prev.Next(in, opt).Compile(now)
}

// compile makes the snapshot of in from base, which has its structure, with the zones of table; a nil base compiles from nothing, and a
// nil table resolves the zones. The result comes after last. Each stage looks at what has changed; what it finds dirty, later ones make
// anew.
func compile(base, last *Snapshot, table *endpoint.Zones, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	anew := base == nil                     // nothing is there yet
	anywhere := base == nil || base != last // anything may differ from last

	// What is there: zones, clusters, groups, checks.
	s, reread := begin(base, last, table, in, opt, now)
	zones := openZones(base, s.Table, &s.In, opt, s.generation, anywhere)
	clusters := openClusters(base, &s.In)
	checks := openChecks(base, last, s)
	r := newResolver(s, base, last, zones, clusters, checks)

	// What has changed: objects → contenders and Records; what they concern is dirty.
	if !anew {
		r.dirty.secretsIn(clusters, &base.In, &s.In)
		overridden(&base.In, &s.In, base.Clusters, r.dirty)
	}
	indexChildren(clusters)
	indexProbes(clusters, opt, checks, &r.builder, r.dirty)
	r.markLines(s.In.AcquiredChanged)
	attachPolicies(clusters, zones, r.dirty)
	at := &placer{zones: zones, registry: &r.registry, dirty: r.dirty, anew: anew}
	publishEndpoints(clusters, at)
	contendUnread(s.unread, reread, zones, r.dirty, anew)
	placeRecords(clusters, at)
	zones.sweep()

	// Whose names are: contenders → owners → pools, at names.
	activate(base, last, s, r)
	r.resolve()

	// What is answered: names → RRsets → zones with serials.
	s.NameGroups, s.Checked = r.groups.Map(), checks.Finish(anywhere)
	if !anywhere {
		s.renewed = r.dirty.keys()
	}
	zones.settle()
	s.Served = zones.finish(s, last, now)

	// What objects are told, and what the writer has to look at.
	report(base, last, s, zones, clusters, r.dirty)
	s.In.Incumbents, s.input.Incumbents = nil, nil // a snapshot must not keep the one before
	return s
}

// begin returns the snapshot of in under opt with the zones of table, resolved if that is nil, of which nothing else is compiled; and the
// owners that can be read now, or no longer, unlike in base.
func begin(base, last *Snapshot, table *endpoint.Zones, in api.Objects, opt *endpoint.Options, now time.Time) (s *Snapshot, reread []owner.Reread) {
	s = &Snapshot{View: status.View{In: in, Opt: opt, Table: table}, input: in, generation: 1, complete: !in.Expecting, made: now.Unix()}
	for _, before := range [...]*Snapshot{base, last} {
		if before != nil {
			s.generation = max(s.generation, before.generation+1)
		}
	}
	for _, c := range in.Clusters {
		s.complete = s.complete && c.Complete()
	}
	if s.allRead = owner.AllRead(&s.In); base == nil {
		s.unread = owner.FindLines(&s.In)
	} else {
		s.unread, reread = base.unread.After(&s.In)
	}
	if table == nil {
		s.Table = endpoint.ResolveZones(in, s.unread.Zones, opt)
	}
	switch {
	case last == nil:
	case base != last:
		s.retired = zone.Retire(s.Table.Index, last.retired, last.Served)
	default:
		s.retired = base.retired
	}
	return s, reread
}

// openChecks begins the next version of the checks of base, with the state that last knows of.
func openChecks(base, last, s *Snapshot) *pool.CheckEdit {
	var from, known pool.Checks
	if base != nil {
		from = base.Checked
	}
	if last != nil {
		known = last.Checked
	}
	return from.Edit(known, s.generation, s.Opt.Health)
}
