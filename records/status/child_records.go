package status

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// records returns a host's DNSRecords, one for each provider.
func (p *parentObject) records(c *endpoint.Contender, pr *endpoint.Provision) (all []wanted) {
	spec := api.ChildRecord{RootHost: endpoint.TrimDot(c.Host), Endpoints: p.endpoints(c), HealthCheck: c.Check()}
	name := p.target.Record(c.Listener)
	if !c.Policy.Provider.ServedHere() {
		spec.Provider = api.ProviderRef{Kind: c.Policy.Provider.Kind, Name: c.Policy.Provider.Name}
		return []wanted{p.record(c, name, "", spec)}
	}
	if c.Via == nil {
		if secret := c.Policy.Provider.Name; secret != "" { // Secrets are not read
			spec.Provider = api.ProviderRef{Kind: kindSecret, Name: secret}
		}
		if z := p.s.Zone(rdata.Base(c.Host)); z != nil {
			spec.ZoneID = zoneID(z.Origin())
		}
		return []wanted{p.record(c, name, "", spec)}
	}
	best, _, _ := pr.Choose(c.Host)
	secrets := c.Via.Secrets()
	plain := secrets[0]
	if known, ok := p.in.DNSRecords.Get(p.meta.Namespace() + "/" + name); ok && p.isOwn(known, c.Host) && slices.Contains(secrets, known.Provider.Name) {
		plain = known.Provider.Name // it keeps its name
	}
	for _, secret := range secrets {
		one := spec
		one.Provider = api.ProviderRef{Kind: kindSecret, Name: secret}
		for _, b := range best {
			if b.Secret.BareName() == secret {
				one.ZoneID = zoneID(b.Zone)
			}
		}
		if z := p.s.Zone(rdata.Base(c.Host)); one.ZoneID == "" && z != nil { // its Secret does not exist
			one.ZoneID = zoneID(z.Origin())
		}
		if secret == plain {
			all = append(all, p.record(c, name, "", one))
		} else {
			all = append(all, p.record(c, name+"-"+endpoint.Hash(secret), secret, one))
		}
	}
	return all
}

// kindSecret is the kind of the providers that this server serves.
const kindSecret = "Secret"

// zoneID returns a zone's name as in a DNSRecord.
func zoneID(origin string) string {
	if origin == "." {
		return origin
	}
	return endpoint.TrimDot(origin)
}

// record returns a DNSRecord.
func (p *parentObject) record(c *endpoint.Contender, name, secret string, spec api.ChildRecord) wanted {
	of := p.target.Gateway.BareName() + "/" + c.Listener + "/" + secret
	return wanted{api.KindDNSRecord, name, of, func(child *api.Child) {
		if known, ok := p.in.DNSRecords.Get(child.Name); ok && known.Own() && p.controls(known.Controller) {
			switch {
			case !p.isOwn(known, c.Host):
				child.Replace, child.Replaced = true, known.UID
			case known.ZoneID != "":
				spec.ZoneID = known.ZoneID // it is immutable
			}
		}
		child.Record = &spec
	}}
}

// isOwn reports whether a DNSRecord is the policy's child for a host.
func (p *parentObject) isOwn(r *api.DNSRecord, host string) bool {
	root, err := rdata.Canonical(r.RootHost)
	return err == nil && root == host && r.Own() && p.controls(r.Controller)
}
