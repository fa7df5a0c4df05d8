package zone

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ownerTXT is a TXT record that names the owner of a host (rule 5.8).
type ownerTXT struct {
	Name string
	Set  RRset
}

// wildcardTold replaces "*." of a host in the name of its owner's record.
const wildcardTold = "_wildcard."

// OwnerTXTs returns the records that name the owner of a host with steered data: one for each of
// its types. They stand beside other data at their names. There are none if their names would lie
// outside the zone or be too long.
func (z *Zone) OwnerTXTs(host string, data *pool.Steered) (all []ownerTXT) {
	prefix := z.Corefile.OwnerTXT
	if prefix == "" || data.Data == nil || strings.HasPrefix(host, wildcardTold) {
		return nil // each record has one host
	}
	kind, m := data.Owner.Kind, data.Owner.By
	text := "heritage=kuadrant,kuadrant/resource=" + strings.ToLower(kind.String()) + "/" + m.Name
	of := host
	if below, wild := strings.CutPrefix(host, rdata.Wildcard); wild { // elsewhere the asterisk is an ordinary character (rule 6.2)
		of = wildcardTold + below
	}
	for _, rtype := range data.Data.Types() {
		name, err := rdata.Canonical(prefix + strings.ToLower(dns.TypeToString[rtype]) + "-" + of)
		if err != nil || name == z.Origin() || !rdata.IsSubdomain(z.Origin(), name) {
			continue
		}
		rr := &dns.TXT{Hdr: rdata.Header(name, dns.TypeTXT, z.Corefile.TTL), Txt: chunks(text)}
		all = append(all, ownerTXT{name, RRset{dns.TypeTXT, []dns.RR{rr}}})
	}
	return all
}

// chunks splits a text into strings of a TXT record, of at most 255 octets each (RFC 1035 §3.3).
func chunks(text string) (all []string) {
	const most = 255
	for len(text) > most {
		all, text = append(all, text[:most]), text[most:]
	}
	return append(all, text)
}

// Tell puts sets, which name an owner, at name; nil removes them.
func (e *Edit) Tell(name string, sets []RRset) {
	if sets == nil {
		e.ownerTXTs.edit().Delete(name)
	} else {
		e.ownerTXTs.edit().Set(name, sets)
	}
	e.renew(e.make(name))
}
