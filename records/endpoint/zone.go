package endpoint

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Zone is one served zone: its settings in the Corefile, and its Zone object, nil for none (rule 6.1).
type Zone struct {
	// Origin is its name, in lower case with a final dot.
	Origin string
	// Corefile has the Corefile's settings for the zone, or for the closest zone of the Corefile above it.
	Corefile *ZoneOptions
	// Object is its Zone; nil for a zone of the Corefile that has none.
	Object *api.Zone
	// Unread is the registry line of a Zone that cannot be read now: the whole zone is SERVFAIL (rule 5.4). nil for none.
	Unread *api.Owner
	// administrators are the namespaces that administer zones without a Zone object.
	administrators []string
}

// Administers reports whether an object's namespace administers the zone: it is that of its Zone object, or, without one, in
// `zone-namespaces` (rule 5.1).
func (at *Zone) Administers(m *api.Meta) bool {
	if at.Object != nil {
		return m.SameNamespace(&at.Object.Meta)
	}
	return isListed(at.administrators, m)
}

// Nameservers returns the name servers of the Corefile, or the placeholder ns.<origin>.
func (at *Zone) Nameservers() []Nameserver {
	switch {
	case len(at.Corefile.Nameservers) > 0:
		return at.Corefile.Nameservers
	default:
		return []Nameserver{{Name: within("ns", at.Origin)}}
	}
}

// within returns the name of a label in origin, or origin itself if that would be too long.
func within(label, origin string) string {
	name, err := rdata.Below(origin, label)
	if err != nil {
		return origin
	}
	return name
}

// SOA returns the zone's SOA record with the given serial; ns is its first name server
// (rule 6.8).
func (at *Zone) SOA(ns string, serial uint32) *dns.SOA {
	rname := cmp.Or(at.Corefile.Rname, within("hostmaster", at.Origin))
	soa := &dns.SOA{
		Hdr: rdata.Header(at.Origin, dns.TypeSOA, ApexTTL), Ns: ns, Mbox: rname, Serial: serial,
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: soaMinimum,
	}
	if z := at.Object; z != nil {
		soa.Hdr.Ttl = z.TTL
		soa.Ns, soa.Mbox = cmp.Or(z.Mname, ns), cmp.Or(z.Rname, rname)
		soa.Refresh, soa.Retry, soa.Expire, soa.Minttl = z.Refresh, z.Retry, z.Expire, z.Minimum
	}
	return soa
}

// StandsFor reports whether name is the placeholder in a zone without name servers.
func (at *Zone) StandsFor(name string) bool {
	return len(at.Corefile.Nameservers) == 0 && at.Nameservers()[0].Name == name
}

// recordTTL returns the TTL of a Record in the zone, in seconds: its own, else the Zone's, else
// that of hosts in a zone of the Corefile.
func (at *Zone) recordTTL(rec *api.Record) uint32 {
	if rec.TTL != api.NoTTL {
		return uint32(rec.TTL)
	}
	return at.defaultTTL()
}

// defaultTTL returns the zone's TTL for data without one, in seconds.
func (at *Zone) defaultTTL() uint32 {
	if at.Object != nil {
		return at.Object.TTL
	}
	return at.Corefile.TTL
}

// endpointTTL returns the TTL of an endpoint in the zone, in seconds: 0 means the default (rule
// 6.10).
func (at *Zone) endpointTTL(ep *api.Endpoint) uint32 {
	if ep.TTL > 0 {
		return uint32(ep.TTL)
	}
	return at.defaultTTL()
}

// UnreadZone returns the problem that the Zone in Unread cannot be read.
func (at *Zone) UnreadZone() *Problem {
	return UnreadProblem(at.Origin, api.KindZone, &api.Meta{Cluster: at.Unread.Cluster, Name: at.Unread.Name})
}

// ChainHost returns N of a name of the zone at or below klb.N; "" for other names (rule 2.8).
func (at *Zone) ChainHost(name string) string { return chainHost(at.Origin, name) }

// InChain returns the problem of a name that belongs to a chain, where no object may publish directly; nil for others (rule 2.8).
func (at *Zone) InChain(name string) *Problem {
	n := at.ChainHost(name)
	if n == "" {
		return nil
	}
	return Problemf(reasonReserved, "%s: names at and below klb.%[2]s belong to the chain of %[2]s: choose a name without the label klb",
		TrimDot(name), TrimDot(n))
}

// GroupsName returns the name of the TXT record with the zone's active groups (rule 9.5); "" if it would be too long.
func (at *Zone) GroupsName() string {
	name, _ := rdata.Below(at.Origin, api.ActiveGroupsLabel)
	return name
}

// NamesGroups reports whether name is GroupsName.
func (at *Zone) NamesGroups(name string) bool {
	return strings.HasPrefix(name, api.ActiveGroupsLabel) && name == at.GroupsName()
}

// TellsOwner reports whether a name is one at which the zone names the owner of a host, if it has
// one (rule 5.8). Only the server puts records there: people would believe anyone else's.
func (at *Zone) TellsOwner(name string) bool {
	return at.Corefile.OwnerTXT != "" && at.tellsAfter(at.Corefile.OwnerTXT, name)
}

// tellsBelow reports whether names that name owners can lie below this one, which needs a prefix of
// several labels: if this name were delegated or redirected, others would answer for them.
func (at *Zone) tellsBelow(name string) bool {
	_, prefix, more := strings.Cut(at.Corefile.OwnerTXT, ".")
	for ; more; _, prefix, more = strings.Cut(prefix, ".") {
		if at.tellsAfter(prefix, name) {
			return true
		}
	}
	return false
}

// tellsAfter reports whether a name is a prefix, a type and a host of the zone.
func (at *Zone) tellsAfter(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	for _, rtype := range ownerTypes {
		if host, ok := strings.CutPrefix(rest, rtype); ok && host != "" && rdata.IsSubdomain(at.Origin, host) {
			return true
		}
	}
	return false
}

// mayTell returns what keeps data of a type from a name; nil for nothing. A TXT record would mix
// with those that name owners; a CNAME, NS records, or a DNAME above would redirect queries for
// these.
func (at *Zone) mayTell(name, rtype string) *Problem {
	switch t, _ := api.ParseType(rtype); t {
	case dns.TypeNS, dns.TypeDNAME:
		if at.tellsBelow(name) {
			return Problemf(reasonForbiddenType, "%s: owner-txt reserves names below it that begin with %s, which %s records would redirect",
				TrimDot(name), at.Corefile.OwnerTXT, rtype)
		}
	}
	switch t, _ := api.ParseType(rtype); t {
	case dns.TypeTXT, dns.TypeCNAME, dns.TypeNS:
		if at.TellsOwner(name) {
			return Problemf(reasonForbiddenType, "%s: owner-txt reserves names that begin with %s, which may have no other %s records",
				TrimDot(name), at.Corefile.OwnerTXT, rtype)
		}
	}
	return nil
}

// ownerTypes follow the prefix in the names of TXT records that name owners.
var ownerTypes = [...]string{"a-", "aaaa-", "cname-"}

// same reports whether two versions of a served zone have the same settings, apart from the data
// published in them.
func (at *Zone) same(o *Zone) bool {
	sameLine := (at.Unread == nil) == (o.Unread == nil) && (at.Unread == nil || *at.Unread == *o.Unread)
	return at.Origin == o.Origin && at.Corefile == o.Corefile && SameZone(at.Object, o.Object) && sameLine
}

// The SOA fields of a zone of the Corefile without a Zone, and the TTL of the data at its apex, in
// seconds (rule 6.8).
const (
	soaRefresh = 3600
	soaRetry   = 600
	soaExpire  = 1209600
	soaMinimum = 60
	ApexTTL    = 3600
)

// SameZone reports whether two versions of a Zone are the same, ignoring what their status keeps
// and irrelevant metadata.
func SameZone(a, b *api.Zone) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	for _, z := range []*api.Zone{&x, &y} {
		m := z.Meta
		z.Kept, z.Meta = api.Kept{}, api.Meta{Name: m.Name, Cluster: m.Cluster, UID: m.UID, Created: m.Created, Deleting: m.Deleting, Apart: m.Apart, Missing: m.Missing, Fault: m.Fault}
	}
	return reflect.DeepEqual(&x, &y)
}
