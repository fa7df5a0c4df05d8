package status

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// offspring are the existing children in a cluster, by their parent: DNSRecords by the
// namespace/name of their policy and by host, probes by parentKey.
type offspring struct {
	byHost tree.Map[*api.DNSRecord]
	probed tree.Map[*api.HealthCheckProbe]
}

// OffspringEdit is the next version of a cluster's offspring.
type OffspringEdit struct {
	ByHost *tree.Edit[*api.DNSRecord]
	probed *tree.Edit[*api.HealthCheckProbe]
}

// Edit begins the next version.
func (o offspring) Edit() OffspringEdit { return OffspringEdit{o.byHost.Edit(), o.probed.Edit()} }

// Offspring returns the edited version.
func (e OffspringEdit) Offspring() offspring { return offspring{e.ByHost.Map(), e.probed.Map()} }

// Records yields a policy's DNSRecords, sorted by host.
func (o offspring) Records(policy string) iter.Seq2[string, *api.DNSRecord] {
	return o.byHost.Beginning(policy + " ")
}

// Probes yields the probes of a policy or a DNSRecord.
func (o offspring) Probes(of api.Ref) iter.Seq2[string, *api.HealthCheckProbe] {
	return o.probed.Beginning(parentKey(of))
}

// recordKey is a record's key in byHost, "" if it is no child. Names have no spaces.
func recordKey(r *api.DNSRecord) string {
	policy := endpoint.RecordParent(r).Name
	if policy == "" {
		return ""
	}
	root, err := rdata.Canonical(r.RootHost)
	if err != nil {
		root = ""
	}
	return policy + " " + root + " " + r.BareName()
}

// parentKey is the prefix of the keys of an object's probes.
func parentKey(of api.Ref) string { return of.Kind.String() + " " + of.Name + " " }

// probeChildKey is a probe's key in probed, "" if it is no child.
func probeChildKey(p *api.HealthCheckProbe) string {
	of := endpoint.ProbeParent(p)
	if of.Name == "" {
		return ""
	}
	return parentKey(of) + p.BareName()
}

// Record replaces the DNSRecord old; one of them is nil if it came or went.
func (e OffspringEdit) Record(old, r *api.DNSRecord) {
	if old != nil {
		if key := recordKey(old); key != "" {
			e.ByHost.Delete(key)
		}
	}
	if r != nil {
		if key := recordKey(r); key != "" {
			e.ByHost.Set(key, r)
		}
	}
}

// Probe replaces the probe old; one of them is nil if it came or went.
func (e OffspringEdit) Probe(old, p *api.HealthCheckProbe) {
	if old != nil {
		if key := probeChildKey(old); key != "" {
			e.probed.Delete(key)
		}
	}
	if p != nil {
		if key := probeChildKey(p); key != "" {
			e.probed.Set(key, p)
		}
	}
}

// Controls reports whether by, the controller of an object, is the object m of a kind.
func Controls(kind api.Kind, m *api.Meta, by *api.Controller) bool {
	return by != nil && by.UID != "" && by.UID == m.UID && by.Kind == kind.String()
}
