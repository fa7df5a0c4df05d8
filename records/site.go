package records

import (
	"cmp"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// site is one served zone: who says what is in it (rule 6.1).
type site struct {
	origin string
	// corefile is what the Corefile says of the zone, or of the closest one above it.
	corefile *ZoneOptions
	// object is its Zone; nil for a zone of the Corefile that has none.
	object *api.Zone
	// unread is the line of its Zone, which cannot be read now: the zone is SERVFAIL as a whole (rule 5.4). nil for none.
	unread *api.Owner
}

// nameservers returns the name servers of the Corefile, or ns.<origin> to stand in.
func (at *site) nameservers() []Nameserver {
	switch {
	case len(at.corefile.Nameservers) > 0:
		return at.corefile.Nameservers
	default:
		return []Nameserver{{Name: within("ns", at.origin)}}
	}
}

// within returns the name of a label in origin, or origin itself where that would be too
// long for a name.
func within(label, origin string) string {
	name, err := rdata.Below(origin, label)
	if err != nil {
		return origin
	}
	return name
}

// soa returns the zone's SOA record with the given serial; ns is its first name server
// (rule 6.8).
func (at *site) soa(ns string, serial uint32) *dns.SOA {
	rname := at.corefile.Rname
	if rname == "" || at.origin != at.corefile.Origin && rname == hostmaster(at.corefile.Origin) {
		rname = hostmaster(at.origin)
	}
	soa := &dns.SOA{
		Hdr: rdata.Header(at.origin, dns.TypeSOA, apexTTL), Ns: ns, Mbox: rname, Serial: serial,
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: soaMinimum,
	}
	if z := at.object; z != nil {
		soa.Hdr.Ttl = z.TTL
		soa.Ns, soa.Mbox = cmp.Or(z.Mname, ns), cmp.Or(z.Rname, rname)
		soa.Refresh, soa.Retry, soa.Expire, soa.Minttl = z.Refresh, z.Retry, z.Expire, z.Minimum
	}
	return soa
}

// standsFor tells whether name is the one that is made up where nobody has named a name
// server.
func (at *site) standsFor(name string) bool {
	return len(at.corefile.Nameservers) == 0 && at.nameservers()[0].Name == name
}

// recordTTL returns the TTL of a Record in the zone, in seconds: its own, else the
// Zone's, else that of hosts in a zone of the Corefile.
func (at *site) recordTTL(rec *api.Record) uint32 {
	if rec.TTL != api.NoTTL {
		return uint32(rec.TTL)
	}
	return at.defaultTTL()
}

// defaultTTL returns the TTL of what has none of its own in the zone, in seconds.
func (at *site) defaultTTL() uint32 {
	if at.object != nil {
		return at.object.TTL
	}
	return at.corefile.TTL
}

// endpointTTL returns the TTL of an endpoint in the zone, in seconds: 0 stands for the
// default (rule 6.10).
func (at *site) endpointTTL(ep *api.Endpoint) uint32 {
	if ep.TTL > 0 {
		return uint32(ep.TTL)
	}
	return at.defaultTTL()
}

// unreadZone is unreadProblem for a name in a zone whose Zone cannot be read.
func (at *site) unreadZone() *problem {
	return unreadProblem(at.origin, api.KindZone, &api.Meta{Cluster: at.unread.Cluster, Name: at.unread.Name})
}

// chainHost is the same of a name in the zone at.
func (at *site) chainHost(name string) string { return chainHost(at.origin, name) }

// inChain says why nothing may be published at a name of the zone at; nil for other names (rule 2.8).
func (at *site) inChain(name string) *problem {
	n := at.chainHost(name)
	if n == "" {
		return nil
	}
	return problemf(reasonReserved, "%s: names at and below klb.%s are those of its chain: choose a name without the label klb", trimDot(name), trimDot(n))
}

// tellsOwner tells whether a name is one at which the zone tells who owns a host of it, or
// would if somebody did (rule 5.8): what is said there is the server's to say, or people
// would believe what others have put there.
func (at *site) tellsOwner(name string) bool {
	return at.corefile.OwnerTXT != "" && at.tellsAfter(at.corefile.OwnerTXT, name)
}

// tellsBelow tells whether the zone would tell who owns a host of it at a name below this
// one, which is so where the prefix has several labels: what is delegated here, or led
// elsewhere, would be told by others.
func (at *site) tellsBelow(name string) bool {
	_, prefix, more := strings.Cut(at.corefile.OwnerTXT, ".")
	for ; more; _, prefix, more = strings.Cut(prefix, ".") {
		if at.tellsAfter(prefix, name) {
			return true
		}
	}
	return false
}

// tellsAfter tells whether a name is a prefix, a type and a host of the zone.
func (at *site) tellsAfter(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	for _, rtype := range ownerTypes {
		if host, ok := strings.CutPrefix(rest, rtype); ok && host != "" && rdata.IsSubdomain(at.origin, host) {
			return true
		}
	}
	return false
}

// mayTell tells what keeps data of a type from a name: TXT would stand among what tells
// owners, a CNAME, NS records or a DNAME above would have it asked elsewhere. nil for
// nothing.
func (at *site) mayTell(name, rtype string) *problem {
	switch t, _ := rdata.Type(rtype); t {
	case dns.TypeNS, dns.TypeDNAME:
		if at.tellsBelow(name) {
			return problemf(reasonForbiddenType, "%s: owner-txt in the Corefile keeps names below it, which begin with %s, for telling who owns a host, and no %s records lead them elsewhere",
				trimDot(name), at.corefile.OwnerTXT, rtype)
		}
	}
	switch t, _ := rdata.Type(rtype); t {
	case dns.TypeTXT, dns.TypeCNAME, dns.TypeNS:
		if at.tellsOwner(name) {
			return problemf(reasonForbiddenType, "%s: owner-txt in the Corefile keeps the names that begin with %s for telling who owns a host, and others have no %s records there",
				trimDot(name), at.corefile.OwnerTXT, rtype)
		}
	}
	return nil
}

// ownerTypes are what follows the prefix in names that tell owners.
var ownerTypes = [...]string{"a-", "aaaa-", "cname-"}

// same reports whether two versions of a served zone have the same content apart from what
// is published in them.
func (at *site) same(o *site) bool {
	sameLine := (at.unread == nil) == (o.unread == nil) && (at.unread == nil || *at.unread == *o.unread)
	return at.origin == o.origin && at.corefile == o.corefile && sameZone(at.object, o.object) && sameLine
}

// The SOA fields of a zone that only the Corefile knows, and the TTL of what
// stands at its apex, in seconds (rule 6.8).
const (
	soaRefresh = 3600
	soaRetry   = 600
	soaExpire  = 1209600
	soaMinimum = 60
	apexTTL    = 3600
)
