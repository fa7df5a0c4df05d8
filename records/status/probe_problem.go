package status

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// ProbeProblems yields the probes that have no effect, though everything that could give them one is listed, each with the reason as a
// sentence for its owner. It looks at each namespace once.
func (s *View) ProbeProblems(probes []*api.HealthCheckProbe) iter.Seq2[*api.HealthCheckProbe, string] {
	return func(yield func(*api.HealthCheckProbe, string) bool) {
		b := s.reader()
		type place struct{ cluster, namespace string }
		namespaces := make(map[place]*reached)
		for _, p := range probes {
			at := place{p.Cluster, p.Namespace()}
			if _, settled := s.problemOf(p); settled {
				continue
			}
			if namespaces[at] == nil {
				namespaces[at] = newReached()
			}
			namespaces[at].asked[p.Address] = true
		}
		for at, r := range namespaces {
			s.reach(b, at.cluster, at.namespace, r)
		}
		for _, p := range probes {
			problem, settled := s.problemOf(p)
			if !settled {
				problem = namespaces[place{p.Cluster, p.Namespace()}].problem(b, p)
			}
			if problem != "" && !yield(p, problem) {
				return
			}
		}
	}
}

// problemOf returns what is wrong with a probe itself. settled is false if it depends on what is
// published.
func (s *View) problemOf(p *api.HealthCheckProbe) (problem string, settled bool) {
	if !s.Opt.ProbesOff || p.Address == "" { // otherwise only its status counts (rule 4.1)
		if problem = cmp.Or(p.Fault, p.Invalid); problem != "" {
			return problem, true
		}
	}
	listed := slices.ContainsFunc(s.In.Clusters, func(c *api.Cluster) bool { return c.Name == p.Cluster && c.Complete() })
	return "", pool.ByProgram(p) || p.Deleting || !listed || pool.Alone(p, s.Opt)
}

// reached is what the probes of one namespace can join.
type reached struct {
	// asked are the probes' addresses; published, those that the namespace publishes; served, those
	// with which one of its hosts answers.
	asked, published, served map[string]bool
	// joined are the names of the probes that join.
	joined map[string]bool
}

func newReached() *reached {
	return &reached{make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)}
}

// reach fills in r for a namespace of a cluster.
func (s *View) reach(b *pool.Builder, cluster, namespace string, r *reached) {
	at := NewTargetSet(r.asked)
	for c := range s.Cluster(cluster).Contenders(namespace) {
		if !at.Meets(c.Targets) {
			continue
		}
		for address := range at.In(c.Targets) {
			r.published[address] = true
		}
		if g, ok := s.NameGroups.Get(endpoint.GroupKey(c.Host)); !ok || g.Loses(c) {
			continue
		}
		answered := s.served(c, true)
		if c.Targets.Probed != nil {
			answered = append(answered, s.checkedAt(c)...)
		}
		for _, address := range answered {
			if !r.asked[address] {
				continue
			}
			r.served[address] = true
			for p := range b.Joining(c, address) {
				r.joined[p.Name] = true
			}
		}
	}
}

// problem says why a valid probe joins nothing; "" if it does.
func (r *reached) problem(b *pool.Builder, p *api.HealthCheckProbe) string {
	if r.joined[p.Name] {
		return ""
	}
	why := "its namespace publishes " + p.Address + ", but no name is answered with it (see the status of its policies)"
	switch {
	case !r.published[p.Address]:
		why = "no name of its namespace publishes " + p.Address
	case !r.served[p.Address]:
	default:
		why = fmt.Sprintf("%s already has %d probes, the maximum", p.Address, pool.MaxJoined)
	}
	if !b.ProbesOff {
		why += ", and probe-allow does not cover it"
	}
	return why + "; the probe is ignored"
}
