package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// readiness is the state that readiness depends on besides the snapshot.
type readiness struct {
	answers atomic.Bool // something to answer from was found
	late    atomic.Bool // clusters other than the main one had their time before the first answer
	// probing is when the prober got the targets of the first answerable snapshot, nil before that: a Time
	// keeps counting if the clock is set.
	probing atomic.Pointer[time.Time]
}

// Ready reports whether there is something to answer from: every cluster has listed a kind with names, knows that it is not
// installed, or has objects of one. A source without rights can only answer SERVFAIL, and must not look as good as the
// process that it replaces (rule 7.4), and so must one that does not know the active groups yet (rule 9.5). Once true, it stays true.
func (e *Engine) Ready() bool {
	p := e.Current()
	if p.Snapshot == nil || e.answers.Load() {
		return p.Snapshot != nil
	}
	if !e.answerable(p) || !e.probed() || !e.settings().groups.settled() {
		return false
	}
	e.answers.Store(true)
	return true
}

// answerable reports whether each cluster has listed or has objects of a kind with names, or lacks Gateways or DNSPolicies;
// that other kinds are missing says nothing. Clusters beside the main one have limited time: one that is away must not keep a
// process from answering for the others.
func (e *Engine) answerable(p *Publication) bool {
	if e.secrets.expecting.Load() && !e.late.Load() {
		return false
	}
	for _, c := range p.Snapshot.Objects().Clusters {
		if e.isExtra(c.Name) && e.late.Load() || slices.Contains(p.bySecret, c.Name) {
			continue
		}
		known := false
		for k := range api.NumKinds {
			l := c.Listings[k]
			absent := (l == api.NotInstalled || l == api.Missing) && (k == api.KindGateway || k == api.KindDNSPolicy)
			known = known || k.HoldsNames() && (c.Count(k) > 0 || l == api.Listed || absent)
		}
		if !known {
			return false
		}
	}
	return true
}

// isExtra reports whether the Corefile names a cluster beside the main one.
func (e *Engine) isExtra(cluster string) bool {
	return slices.ContainsFunc(e.settings().feeds, func(f *feed) bool { return f.extra && f.name == cluster })
}

// firstRound is how long readiness waits for the first check of each target: the next server should
// not be taken down for one that still sends queries to all.
const firstRound = 10 * time.Second

// probed reports whether the first round of checks, or its time, is over.
func (e *Engine) probed() bool {
	p := e.settings().prober
	if p == nil {
		return true
	}
	began := e.probing.Load()
	return began != nil && (p.Settled() || e.Now().Sub(*began) >= firstRound)
}
