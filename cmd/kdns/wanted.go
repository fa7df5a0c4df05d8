package main

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// wanted returns the names that objects of the manifests want in a zone, "" for anywhere, less those in served, those of chains, and
// the texts in which operators note whose a name is: in order, once each, without final dots.
func (w *world) wanted(served map[string]*records.NameState, zone string) (names []string) {
	add := func(text string) {
		name, err := inspect.ParseName(text)
		name = strings.TrimSuffix(name, ".")
		inside := zone == "" || dns.IsSubDomain(dns.Fqdn(zone), dns.Fqdn(name))
		if err == nil && name != "" && inside && served[name] == nil && !strings.Contains("."+name, ".klb.") {
			names = append(names, name)
		}
	}
	for _, c := range w.clusters {
		for _, p := range c.Policies.All() {
			if g, ok := c.Gateways.Get(p.TargetName()); ok {
				for _, l := range g.Listeners {
					add(l.Hostname)
				}
			}
		}
		endpoints := func(all []api.Endpoint) {
			for i := range all {
				if !all[i].IsRegistryText() {
					add(all[i].DNSName)
				}
			}
		}
		for _, r := range c.DNSRecords.All() {
			endpoints(r.Endpoints)
		}
		for _, e := range c.DNSEndpoints.All() {
			endpoints(e.Endpoints)
		}
		for name := range c.Records.All() {
			if v := w.snap.Verdict(c.Name, api.Ref{Kind: api.KindRecord, Name: name}); v != nil {
				add(v.FQDN)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
