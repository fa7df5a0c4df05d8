package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// children renews the index of existing children.
func (c *compiler) children() {
	for i, e := range c.clusters {
		if c.prev == nil {
			if e.in.DNSRecords.Len()+e.in.Probes.Len() == 0 {
				continue
			}
			edit := e.state.Offspring.Edit()
			for _, r := range e.in.DNSRecords.All() {
				edit.Record(nil, r)
			}
			for _, p := range e.in.Probes.All() {
				edit.Probe(nil, p)
			}
			e.state.Offspring = edit.Offspring()
			continue
		}
		before, edit := c.prev.In.Clusters[i], status.OffspringEdit{}
		for _, ref := range e.in.Changed {
			if ref.Kind != api.KindDNSRecord && ref.Kind != api.KindProbe {
				continue
			}
			if edit.ByHost == nil {
				edit = e.state.Offspring.Edit()
			}
			if ref.Kind == api.KindProbe {
				old, _ := before.Probes.Get(ref.Name)
				now, _ := e.in.Probes.Get(ref.Name)
				edit.Probe(old, now)
				continue
			}
			old, _ := before.DNSRecords.Get(ref.Name)
			now, _ := e.in.DNSRecords.Get(ref.Name)
			edit.Record(old, now)
		}
		if edit.ByHost != nil {
			e.state.Offspring = edit.Offspring()
		}
	}
}
