package status

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// maxRecordProbes bounds the probes written for one DNSRecord: an object may have 1,000 endpoints
// with 1,000 targets each, and must not make us write a million.
const maxRecordProbes = 1000

// probes returns the probes for the checks of one host. probed has the targets that have a probe already.
func (p *parentObject) probes(c *endpoint.Contender, probed map[string]bool) (all []wanted) {
	if !c.Checked() {
		return nil
	}
	b, checks := p.s.reader(), p.checksOf(c)
	for _, address := range p.s.checkedAt(c) {
		target := b.TargetOf(c, address)
		key := target.Key()
		if probed[key] || checks != nil && !checks[key] {
			continue
		}
		if p.policy == nil && len(probed) == maxRecordProbes {
			break
		}
		probed[key] = true
		host, check := target.Host, *c.Check()
		check.Host = host
		all = append(all, wanted{api.KindProbe, p.probeName(c, address), p.about(address, host), func(child *api.Child) {
			child.Probe = &api.ChildProbe{Address: address, Host: host, Check: check}
		}})
	}
	return all
}

// checkedAt returns the addresses and hostnames that are checked for a contender that has not lost.
func (s *View) checkedAt(c *endpoint.Contender) []string {
	all := s.served(c, true)
	if len(all) > 0 && c.Targets.Probed != nil { // rule 9.6
		return slices.Collect(c.Targets.Probed.All())
	}
	return all
}

// checksOf returns the keys of the targets checked for the group of a contender's host; nil if others probe.
func (p *parentObject) checksOf(c *endpoint.Contender) map[string]bool {
	if p.s.Opt.ProbesOff {
		return nil
	}
	var keys []string
	if g, ok := p.s.NameGroups.Get(endpoint.GroupKey(c.Host)); ok {
		keys = g.Checks
	}
	all := make(map[string]bool)
	for _, key := range keys {
		all[key] = true
	}
	return all
}

// probeName returns the preferred name of a probe: it begins with that of the DNSRecord which
// publishes the target.
func (p *parentObject) probeName(c *endpoint.Contender, address string) string {
	record := p.meta.BareName()
	if p.policy != nil {
		record = p.target.Record(c.Listener)
	}
	return record + "-" + inName(address)
}

// about returns a text that differs from that of every other probe with the same preferred name,
// whether a DNSRecord's or a policy's.
func (p *parentObject) about(address, host string) string {
	if p.policy != nil {
		return address + "/" + host
	}
	return p.kind.String() + "/" + p.meta.BareName() + "/" + address + "/" + host
}

// inName returns an address or hostname in a form that can end an object's name.
func inName(address string) string {
	text := strings.NewReplacer(":", "-", "_", "-").Replace(address)
	if strings.HasSuffix(text, "-") { // 2001:db8::
		text += "0"
	}
	return text
}

// targetOf returns the target of a probe's check; nil for none.
func (s *View) targetOf(cluster string, p *api.HealthCheckProbe) *health.Target {
	b := s.reader()
	if of := endpoint.ProbeParent(p); of.Name != "" {
		parent := s.parentObject(cluster, of)
		if parent == nil || !parent.controls(p.Controller) || parent.policy != nil && !parent.policy.Provider.ServedHere() {
			return nil
		}
		at := NewTargetSet(map[string]bool{p.Address: true})
		for c := range parent.contenders() {
			if !c.Checked() || !at.Meets(c.Targets) || !slices.Contains(s.checkedAt(c), p.Address) {
				continue
			}
			if t := b.TargetOf(c, p.Address); t.Host == p.Host {
				known, _ := s.Checked.Get(t.Key())
				return known
			}
		}
		return nil
	}
	if p.Fault != "" || p.Invalid != "" || p.Controlled {
		return nil
	}
	known, _ := s.Checked.Get(b.ProbeTarget(p).Key())
	return known
}
