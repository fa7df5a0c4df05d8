package status

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Messages and reasons about health, which are Kuadrant's, and our additions for the case that everything is down.
const (
	messageHealthy    = "All sub-resources are healthy"
	messageNotHealthy = "DNSPolicy has encountered some issues: not all sub-resources of policy are passing the policy defined health check. Not healthy DNSRecords are: "
	messageAddresses  = "Not healthy addresses: ["
	messageUnchecked  = "; not checked, and counted as healthy (%s): [%s]"
	messageFailing    = "; none is healthy, so "
)

// StatusNow returns the verdict on a policy with the current health of its targets (rule 4.8): whether all are healthy, and for each host
// which addresses are not. It is nil if the policy is unknown. It reads health cells: later it may say something else.
func (s *View) StatusNow(cluster, policy string) *api.Verdict {
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: policy}
	static := s.Verdict(cluster, ref)
	if static == nil || !static.Accepted() {
		return static
	}
	var failing []string
	v := *static
	checked, seen, unchecked := false, make(map[string]bool), []string(nil)
	judge := func(c *endpoint.Contender, found findings) {
		checked = checked || found.of > 0
		for _, address := range found.unchecked {
			if !seen[address] {
				seen[address], unchecked = true, append(unchecked, address)
			}
		}
		if len(found.bad) == 0 {
			return
		}
		condition := api.Condition{
			Type: endpoint.ConditionHealthy, Status: api.ConditionFalse, Reason: endpoint.ReasonSomePassed,
			Message: messageAddresses + strings.Join(found.bad, " ") + "]",
		}
		if len(found.bad) == found.of {
			condition.Reason = endpoint.ReasonAllFailed
			if f := s.Fails(c.Host); c.Policy.Provider.ServedHere() && f.Whom != "" {
				condition.Message += messageFailing + f.Outcome()
			}
		}
		failing = append(failing, c.Gateway.BareName()+"-"+c.Listener)
		v.Records = withCondition(v.Records, endpoint.TrimDot(c.Host), condition)
	}
	for g, c := range s.contendersOf(cluster, policy) {
		if !g.Loses(c) { // otherwise it publishes nothing that could be healthy
			judge(c, s.findings(c))
		}
	}
	if !checked {
		return static
	}
	all := api.Condition{Type: endpoint.ConditionSubResources, Status: api.ConditionTrue, Reason: endpoint.ConditionSubResources, Message: messageHealthy}
	switch {
	case len(failing) > 0:
		all.Status, all.Reason = api.ConditionFalse, endpoint.ReasonUnknown
		all.Message = messageNotHealthy + strings.Join(failing, " ") + " "
	case len(unchecked) > 0:
		all.Message += fmt.Sprintf(messageUnchecked, health.Forbidden, api.Some(unchecked, " ", 16))
	}
	v.Conditions = append(slices.Clip(v.Conditions), all)
	return &v
}

// withCondition returns a copy of records with one more condition for a host.
func withCondition(records []api.RecordVerdict, host string, c api.Condition) []api.RecordVerdict {
	i, found := slices.BinarySearchFunc(records, host, func(r api.RecordVerdict, host string) int { return strings.Compare(r.Host, host) })
	if !found {
		return slices.Insert(slices.Clone(records), i, api.RecordVerdict{Host: host, Conditions: []api.Condition{c}})
	}
	records = slices.Clone(records)
	records[i].Conditions = append(slices.Clip(records[i].Conditions), c)
	return records
}

// contendersOf yields a policy's contenders with their groups.
func (s *View) contendersOf(cluster, policy string) iter.Seq2[*NameGroup, *endpoint.Contender] {
	return func(yield func(*NameGroup, *endpoint.Contender) bool) {
		i := s.In.Place(cluster)
		if i < 0 {
			return
		}
		p, ok := s.In.Clusters[i].Policies.Get(policy)
		if !ok {
			return
		}
		t, ok := s.Clusters[i].Targets.Get(p.TargetName())
		if !ok {
			return
		}
		for _, c := range t.Contenders {
			g, ok := s.NameGroups.Get(endpoint.GroupKey(c.Host))
			if c.Policy.Name == policy && ok && !yield(g, c) {
				return
			}
		}
	}
}

// findings has the health of the addresses that answer for a contender's host.
type findings struct {
	// of is how many addresses and hostnames there are; 0 without any health data.
	of int
	// bad are those that are down or not decided, unchecked those whose checks are not allowed (rule 4.9).
	bad, unchecked []string
}

// findings returns the health of a served contender. A Gateway that is down is no finding by itself.
func (s *View) findings(c *endpoint.Contender) findings {
	b := s.reader()
	if !b.Probed(c) {
		return findings{}
	}
	var f findings
	known, override := false, b.OverrideOf(c)
	for _, address := range s.served(c, false) {
		cells := b.Cells(c, address, override)
		known = known || cells != pool.Cells{Gateway: override} || c.Checked() && override != nil
		f.of++
		switch state, _ := cells.State(); {
		case state != health.Up:
			f.bad = append(f.bad, address)
		case cells.Forbidden():
			f.unchecked = append(f.unchecked, address)
		}
	}
	if !known {
		return findings{}
	}
	return f
}

// served returns the contender's addresses and hostnames with which its host answers, each once, without final dots; with below, also those
// with which only the names below klb answer. The contender must not have lost.
func (s *View) served(c *endpoint.Contender, below bool) (all []string) {
	at := s.steered(c.Host)
	if at == nil || at.Data == nil {
		return nil
	}
	holds := func(string) bool { return true }
	switch data := at.Data.(type) {
	case *pool.Set: // rule 1.7
		holds = func(hostname string) bool { return data.Alias() && data.RRs[0].(*dns.CNAME).Target == hostname }
	case *pool.View:
		if data.Flat && s.besides(c.Host) && !(below && s.chained(c.Host)) { // rule 2.7
			holds = func(hostname string) bool { return s.Zone(hostname) != nil }
		}
	}
	seen := make(map[string]bool)
	add := func(name string) {
		if !seen[name] {
			seen[name], all = true, append(all, name)
		}
	}
	for _, l := range c.Targets.Leaves {
		for _, a := range slices.Concat(l.V4, l.V6) {
			add(a.String())
		}
		for _, h := range l.Hostnames {
			if holds(h) {
				add(endpoint.TrimDot(h))
			}
		}
	}
	return all
}

// steered returns a name's steered data; nil if there is no such name.
func (s *View) steered(name string) *pool.Steered {
	z := s.Zone(rdata.Base(name))
	if z == nil {
		return nil
	}
	n := z.Node(name)
	if n == nil {
		return nil
	}
	return &n.Steered
}

// chained reports whether a host owns the names at and below klb.H'.
func (s *View) chained(host string) bool {
	apart := false
	if at := s.steered(host); at != nil {
		v, chosen := at.Data.(*pool.View)
		apart = chosen && v.Apart
	}
	return s.steered(endpoint.KLB+rdata.Base(host)) != nil && !apart
}

// besides reports whether a host has other data, so that it cannot be a CNAME.
func (s *View) besides(host string) bool {
	z := s.Zone(rdata.Base(host))
	n := z.Node(host)
	return host == z.Origin() || n != nil && n.Static != nil
}

// reader returns a builder that looks up cells in s, and makes none.
func (s *View) reader() *pool.Builder {
	return &pool.Builder{
		Zone: s.optionsAt,
		Watch: func(t *health.Target, _ func() *health.Target) *health.Cell {
			known, ok := s.Checked.Get(t.Key())
			if !ok {
				return nil
			}
			return known.Cell
		},
		Probes:    func(cluster string) pool.ProbeIndex { return s.Cluster(cluster).Probes },
		ProbesOff: s.Opt.ProbesOff, Overrides: s.In.Overrides, Secret: s.In.Secret,
	}
}

// Hosts yields the hosts of a group of names, each with what Fails says of it.
func (s *View) Hosts(group string) iter.Seq2[string, Failing] {
	return func(yield func(string, Failing) bool) {
		g, ok := s.NameGroups.Get(group)
		if !ok {
			return
		}
		var seen map[string]bool
		if len(g.Contenders) > 1 {
			seen = make(map[string]bool, len(g.Contenders))
		}
		for _, c := range g.Contenders {
			if seen[c.Host] {
				continue
			}
			if seen != nil {
				seen[c.Host] = true
			}
			if !yield(endpoint.TrimDot(c.Host), s.Fails(c.Host)) {
				return
			}
		}
	}
}

// Failing says for whom nothing at a host is up: they can only get targets that are down, or nothing (rules 4.6 and 9.3).
type Failing struct {
	Whom   string // such as "all clients" or "clients in GEO-EU"; "" for nobody
	Closed bool   // true if they get nothing
}

// Outcome says what those clients get.
func (f Failing) Outcome() string {
	if f.Closed {
		return "the answer is empty (fail: closed)"
	}
	return "they are answered all the same (fail: open)"
}

// Fails returns for whom nothing at a host is up now. The host may have its final dot.
func (s *View) Fails(host string) Failing {
	at := s.steered(dns.Fqdn(host))
	if at == nil || at.Data == nil {
		return Failing{}
	}
	codes, all, closed := at.Data.Fails()
	switch {
	case all:
		return Failing{"all clients", closed}
	case len(codes) > 0:
		return Failing{"clients in " + api.Some(codes, ", ", 16), closed}
	}
	return Failing{}
}
