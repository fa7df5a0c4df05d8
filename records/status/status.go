package status

import (
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// The reasons and messages of a DNSRecord's conditions, as Kuadrant's users know them.
const (
	reasonProviderSuccess = "ProviderSuccess"
	reasonAllPassed       = "AllChecksPassed"
	messageEnsured        = "Provider ensured the dns record"
	messageAllPassed      = "All healthchecks succeeded"
	messageNotWanted      = "the DNSPolicy does not publish the host; the record will be deleted"
)

// ProbeStatus returns the current status for a DNSHealthCheckProbe (rule 4.8); ok is false if it is not ours to write: there is no such
// object, another controller has it, or others probe. last returns when a target's last check ended, by its key; nil if unknown.
func (s *View) ProbeStatus(cluster, name string, last func(key string) time.Time) (st api.ProbeStatus, ok bool) {
	p := s.probe(cluster, name)
	if p == nil || s.Opt.ProbesOff || p.Controlled && !p.Own() {
		return api.ProbeStatus{}, false
	}
	st.ObservedGeneration = p.Generation
	target := s.targetOf(cluster, p)
	if target == nil {
		return st, true
	}
	w := target.Cell.Load()
	st.ConsecutiveFailures, st.Reason, st.Status = w.Failures(), w.Reason().String(), w.Status()
	switch {
	case !w.Checked():
	case w.Found() == health.Up:
		st.Healthy = api.ConditionTrue
	case w.Found() == health.Down:
		st.Healthy = api.ConditionFalse
	}
	if last != nil {
		st.LastCheck = last(target.Key())
	}
	return st, true
}

// probe returns a probe of a cluster by its namespace/name; nil for none.
func (s *View) probe(cluster, name string) (p *api.HealthCheckProbe) {
	if in := s.In.Cluster(cluster); in != nil {
		p, _ = in.Probes.Get(name)
	}
	return p
}

// RecordStatus returns the current status for a DNSRecord, made for the caller: its conditions, with Kuadrant's reasons, and its endpoints
// as published, with their health and effective weight (rule 4.8). The verdict is nil if it is not ours to write: there is no such object,
// or another controller publishes it.
func (s *View) RecordStatus(cluster, name string) (*api.Verdict, []api.WrittenEndpoint) {
	in := s.In.Cluster(cluster)
	if in == nil {
		return nil, nil
	}
	r, ok := in.DNSRecords.Get(name)
	if !ok {
		return nil, nil
	}
	if of := endpoint.RecordParent(r); of.Name != "" {
		return s.childStatus(cluster, of, r)
	}
	t, ok := s.Cluster(cluster).Published.Get(endpoint.PublicationKey(api.KindDNSRecord, name))
	if _, named := endpoint.ZoneNameOf(r); !ok || !named {
		return nil, nil
	}
	return s.publisherStatus(t)
}

// childStatus is RecordStatus for a child of a policy.
func (s *View) childStatus(cluster string, of api.Ref, r *api.DNSRecord) (*api.Verdict, []api.WrittenEndpoint) {
	p := s.parentObject(cluster, of)
	v := &api.Verdict{}
	if p != nil && p.controls(r.Controller) {
		if !p.policy.Provider.ServedHere() {
			return nil, nil
		}
		for c := range p.contenders() {
			if !p.isOwn(r, c.Host) {
				continue
			}
			rows := p.endpoints(c)
			s.newCondition(c, rows).tell()
			v.TotalRecords = 1
			v.Conditions = append(ensured(), healthyOf(s.findings(c))...)
			return v, rows
		}
	} else if !r.Provider.ServedHere() {
		return nil, nil
	}
	v.Conditions = []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionFalse, Reason: endpoint.ReasonNotServed, Message: messageNotWanted}}
	return v, nil
}

// ensured returns the condition of a fully served DNSRecord.
func ensured() []api.Condition {
	return []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: reasonProviderSuccess, Message: messageEnsured}}
}

// healthyOf returns the condition with the health of some targets; none if nothing is known.
func healthyOf(f findings) []api.Condition {
	c := api.Condition{Type: endpoint.ConditionHealthy, Status: api.ConditionFalse, Reason: endpoint.ReasonSomePassed, Message: messageAddresses + strings.Join(f.bad, " ") + "]"}
	switch {
	case f.of == 0:
		return nil
	case len(f.bad) == 0:
		c.Status, c.Reason, c.Message = api.ConditionTrue, reasonAllPassed, messageAllPassed
	case len(f.bad) == f.of:
		c.Reason = endpoint.ReasonAllFailed
	}
	c.Message = api.Cut(c.Message, endpoint.MaxMessage)
	return []api.Condition{c}
}

// publisherStatus is RecordStatus for a DNSRecord of a user.
func (s *View) publisherStatus(p *endpoint.Publication) (*api.Verdict, []api.WrittenEndpoint) {
	losses := make(zone.LossMemo).Losses
	v := *s.publisherVerdict(p, losses)
	if first := v.Conditions[0]; first.Status == api.ConditionTrue && first.Message == api.MessageServed {
		v.Conditions = append(ensured(), v.Conditions[1:]...)
	}
	var rows []api.WrittenEndpoint
	var all findings
	seen := make(map[*endpoint.Endpoint]bool)
	for _, c := range p.Contenders {
		g, ok := s.NameGroups.Get(endpoint.GroupKey(c.Host))
		if !ok || g.Loses(c) || c.Unread {
			continue
		}
		first := len(rows)
		for _, e := range c.Endpoints(new(endpoint.Room)) {
			if !seen[e] {
				seen[e] = true
				rows = append(rows, e.Written())
			}
		}
		is := s.newCondition(c, rows[first:])
		is.single = slices.ContainsFunc(g.Notes[c], func(n api.Condition) bool { return n.Reason == endpoint.ReasonNoFailover })
		is.tell()
		found := s.findings(c)
		all.of += found.of
		all.bad = append(all.bad, found.bad...)
	}
	v.Conditions = append(slices.Clip(v.Conditions), healthyOf(all)...)
	at := make(map[string]int)
	for _, r := range p.Records {
		z := s.Served[s.Table.Index[r.Zone()]]
		if s.lossOf(z, r, losses).KeepsOut() {
			continue
		}
		h := r.RR.Header()
		rtype := dns.Type(h.Rrtype).String()
		key, data := r.Name+" "+rtype, strings.TrimPrefix(r.RR.String(), h.String())
		if i, known := at[key]; known {
			rows[i].Targets = append(rows[i].Targets, data)
			continue
		}
		at[key] = len(rows)
		rows = append(rows, api.WrittenEndpoint{DNSName: endpoint.TrimDot(r.Name), Type: rtype, TTL: int64(h.Ttl), Targets: []string{data}})
	}
	return &v, rows
}

// condition is the current health of one contender's endpoints.
type condition struct {
	b    *pool.Builder
	of   *endpoint.Contender
	word *health.Cell
	rows []api.WrittenEndpoint
	at   map[string][]int // rows by name
	// single is true if each name chooses by itself: what is up behind a CNAME does not count (rule 6.10).
	single bool
	// known has the result for rows, including those in progress.
	known map[int]found
}

// found is the state of an endpoint; known is false if it is unknown.
type found struct {
	state health.State
	known bool
}

// newCondition returns the condition of a contender's endpoints, before any is evaluated.
func (s *View) newCondition(c *endpoint.Contender, rows []api.WrittenEndpoint) *condition {
	b := s.reader()
	m := &condition{b: b, of: c, word: b.OverrideOf(c), rows: rows, at: make(map[string][]int), known: make(map[int]found)}
	for i := range rows {
		m.at[rows[i].DNSName] = append(m.at[rows[i].DNSName], i)
	}
	return m
}

// tell adds their health to the endpoints with a weight, and those with addresses or hostnames. One
// that is down or drained gets the weight 0.
func (c *condition) tell() {
	drained := c.word.Load().Drained()
	for i := range c.rows {
		e := &c.rows[i]
		at := slices.IndexFunc(e.Properties, func(p api.Property) bool { return p.Name == api.PropertyWeight })
		if (at < 0 || c.single) && e.Type == "CNAME" && c.at[e.Targets[0]] != nil {
			continue // a link of the chain
		}
		f := c.row(i)
		if at >= 0 && (drained || f.known && f.state == health.Down) {
			e.Properties = slices.Clone(e.Properties)
			e.Properties[at].Value = "0"
		}
		if f.known {
			e.Properties = append(slices.Clip(e.Properties), api.Property{Name: api.PropertyHealth, Value: f.state.String()})
		}
	}
}

// row returns the health of an endpoint: that of the member whose addresses it has or leads to (rule 4.5), or the best of what it leads to.
// Addresses without a set identifier are judged by themselves.
func (c *condition) row(i int) found {
	if f, ok := c.known[i]; ok {
		return f
	}
	c.known[i] = found{state: health.Up} // in case of a loop
	e, f := &c.rows[i], found{state: health.Up}
	var next []int
	if e.Type == "CNAME" {
		next = c.at[e.Targets[0]]
	}
	switch {
	case next == nil && e.SetID == "":
		f = c.addresses(i)
	case next == nil:
		f = c.addresses(c.member(i)...)
	}
	for n, j := range next {
		to := c.row(j)
		if c.rows[j].Type != "CNAME" {
			to = c.addresses(c.member(j)...)
		}
		if f.known = f.known || to.known; n == 0 || to.state < f.state {
			f.state = to.state
		}
	}
	c.known[i] = f
	return f
}

// member returns the rows with the addresses of one member: those at the name of row i with its set identifier.
func (c *condition) member(i int) []int {
	e := &c.rows[i]
	if e.Type == "CNAME" {
		return []int{i}
	}
	return slices.DeleteFunc(slices.Clone(c.at[e.DNSName]), func(j int) bool {
		return c.rows[j].Type == "CNAME" || c.rows[j].SetID != e.SetID
	})
}

// addresses returns the combined state of the addresses, or the hostname, of rows.
func (c *condition) addresses(rows ...int) (f found) {
	var v4, v6 []pool.Cells
	for _, i := range rows {
		list := &v4
		if c.rows[i].Type == "AAAA" {
			list = &v6
		}
		for _, address := range c.rows[i].Targets {
			cells := c.b.Cells(c.of, address, c.word)
			*list, f.known = append(*list, cells), f.known || cells != pool.Cells{}
		}
	}
	f.state, _ = pool.Aggregate(slices.Concat(v4, v6), len(v4))
	return f
}
