package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// indexChildren renews the index of existing children of each cluster: DNSRecords and probes, by their parents.
func indexChildren(clusters clusterSet) {
	for _, e := range clusters {
		if e.before == nil {
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
		edit := status.OffspringEdit{}
		for _, ref := range e.in.Changed {
			if ref.Kind != api.KindDNSRecord && ref.Kind != api.KindProbe {
				continue
			}
			if edit.ByHost == nil {
				edit = e.state.Offspring.Edit()
			}
			if ref.Kind == api.KindProbe {
				old, _ := e.before.Probes.Get(ref.Name)
				now, _ := e.in.Probes.Get(ref.Name)
				edit.Probe(old, now)
				continue
			}
			old, _ := e.before.DNSRecords.Get(ref.Name)
			now, _ := e.in.DNSRecords.Get(ref.Name)
			edit.Record(old, now)
		}
		if edit.ByHost != nil {
			e.state.Offspring = edit.Offspring()
		}
	}
}
