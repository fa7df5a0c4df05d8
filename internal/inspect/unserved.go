package inspect

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// unserved returns one page of the names that objects want and that have no data, sorted. zone is "" for all, including those in no
// served zone. It looks at every object.
func (v *View) unserved(zone string, contains func(string) bool, after string, limit int) *NamePage {
	var names []string
	for name := range v.wanted {
		inside := zone == "" || dns.IsSubDomain(dns.Fqdn(zone), dns.Fqdn(name))
		if inside && name > after && contains(name) && !v.listed(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	page := &NamePage{Names: []records.NameState{}}
	for _, name := range names[:min(len(names), limit)] {
		n := records.NameState{Name: name, Types: []string{}}
		if z := v.Snapshot.Zone(name + "."); z != nil {
			n.Zone = trim(z.Origin())
		}
		page.Names = append(page.Names, n)
	}
	if len(names) > limit {
		page.Next = names[limit-1]
	}
	return page
}

// listed reports whether lists have a name.
func (v *View) listed(name string) bool {
	z := v.Snapshot.Zone(name + ".")
	if z == nil {
		return false
	}
	n := z.Node(name + ".")
	return n != nil && n.Listed(z)
}

// wanted yields the names that objects want, without final dots, some repeatedly: not those of chains, nor those of the texts in which
// operators note owners.
func (v *View) wanted(yield func(string) bool) {
	add := func(text string) bool {
		name, err := ParseName(text)
		return err != nil || name == "." || strings.Contains("."+name, ".klb.") || yield(trim(name))
	}
	addAll := func(all []api.Endpoint) bool {
		for i := range all {
			if !all[i].IsRegistryText() && !add(all[i].DNSName) {
				return false
			}
		}
		return true
	}
	for _, c := range v.Snapshot.Objects().Clusters {
		for _, p := range c.Policies.All() {
			if g, ok := c.Gateways.Get(p.TargetName()); ok {
				for _, l := range g.Listeners {
					if !add(l.Hostname) {
						return
					}
				}
			}
		}
		for _, r := range c.DNSRecords.All() {
			if !addAll(r.Endpoints) {
				return
			}
		}
		for _, e := range c.DNSEndpoints.All() {
			if !addAll(e.Endpoints) {
				return
			}
		}
		for name := range c.Records.All() {
			if said := v.Snapshot.Verdict(c.Name, api.Ref{Kind: api.KindRecord, Name: name}); said != nil && !add(said.FQDN) {
				return
			}
		}
	}
}
