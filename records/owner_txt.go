package records

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ownerTXT is a TXT record that names the owner of a host (rule 5.8).
type ownerTXT struct {
	name string
	set  rrset
}

// wildcardTold stands for "*." of a host in the name of a record that tells its owner.
const wildcardTold = "_wildcard."

// ownerTXTs returns the records that name the owner of a host with steered data: one for
// each type that it has. They stand beside other data at their names. There are none
// where their names would lie outside the zone or be too long.
func (z *Zone) ownerTXTs(host string, data *steered) (all []ownerTXT) {
	prefix := z.Corefile.OwnerTXT
	if prefix == "" || data.data == nil || strings.HasPrefix(host, wildcardTold) {
		return nil // each record has one host
	}
	kind, m := data.owner.Kind, data.owner.By
	text := "heritage=kuadrant,kuadrant/resource=" + strings.ToLower(kind.String()) + "/" + m.Name
	of := host
	if below, wild := strings.CutPrefix(host, rdata.Wildcard); wild { // elsewhere the asterisk is a character like others (rule 6.2)
		of = wildcardTold + below
	}
	for _, rtype := range data.data.Types() {
		name, err := rdata.Canonical(prefix + strings.ToLower(dns.TypeToString[rtype]) + "-" + of)
		if err != nil || name == z.Origin() || !rdata.IsSubdomain(z.Origin(), name) {
			continue
		}
		rr := &dns.TXT{Hdr: rdata.Header(name, dns.TypeTXT, z.Corefile.TTL), Txt: chunks(text)}
		all = append(all, ownerTXT{name, rrset{dns.TypeTXT, []dns.RR{rr}}})
	}
	return all
}

// chunks splits a text into the strings of a TXT record: each has 255 octets at the most
// (RFC 1035 §3.3).
func chunks(text string) (all []string) {
	const most = 255
	for len(text) > most {
		all, text = append(all, text[:most]), text[most:]
	}
	return append(all, text)
}

// putOwners names the owners of the hosts of a group, and no longer those of old.
func (c *compiler) putOwners(old, g *nameGroup) {
	if old != nil {
		for _, name := range old.told {
			c.edit(c.zoneOf(name)).tell(name, nil)
		}
	}
	for _, cl := range g.Claims {
		zone := c.zoneOf(rdata.Base(cl.Host))
		data, ok := c.builder.names[cl.Host]
		if !ok || c.zones[zone].Corefile.OwnerTXT == "" || data.owner.Unread {
			continue
		}
		for _, txt := range c.zones[zone].ownerTXTs(cl.Host, &data) {
			if c.zoneOf(txt.name) != zone {
				continue // a zone below begins there
			}
			c.edit(zone).tell(txt.name, []rrset{txt.set})
			g.told = append(g.told, txt.name)
		}
	}
}

// tell makes sets what is said of owners at name; nil for nothing.
func (e *zoneEdit) tell(name string, sets []rrset) {
	if e.told == nil {
		e.told = e.zone.told.Edit()
	}
	if sets == nil {
		e.told.Delete(name)
	} else {
		e.told.Set(name, sets)
	}
	e.renew(e.make(name))
}
