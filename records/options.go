package records

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Options is what the Corefile says about the zones. Compile treats an Options
// as read-only; equal configurations should be the same pointer, because a new
// one makes it compile everything anew.
type Options struct {
	// Zones are the zones served, each once, in any order.
	Zones []ZoneOptions
	// Denied are names whose descendants have been denied before, under other
	// Options: they are for good, whatever has not been listed (rule 8.3).
	Denied []string
	// ProbesOff has nothing checked: the status of the probes that others write is
	// the verdict on targets (rule 4.1).
	ProbesOff bool
	// ProbeAllow are the addresses that a probe may have checked which no name of
	// its namespace publishes (rule 4.10).
	ProbeAllow []netip.Prefix
}

// ZoneOptions is what the Corefile says about one zone.
type ZoneOptions struct {
	// Origin is a lower-case name with a final dot.
	Origin string
	// Flatten makes a host answer with addresses instead of the chain (rule 2.4).
	Flatten bool
	// TTL is that of hosts and addresses, LoadBalancedTTL that of the upper
	// CNAMEs of a chain, in seconds (rules 2.2 and 2.3).
	TTL, LoadBalancedTTL uint32
	// Nameservers are those of the apex NS set; the first is also the SOA's mname.
	Nameservers []Nameserver
	// Rname is the SOA's responsible mailbox as a name with a final dot; "" for
	// hostmaster.<origin>.
	Rname string
}

// Nameserver is one name server of a zone.
type Nameserver struct {
	// Name is a lower-case name with a final dot.
	Name string
	// Addresses are served at Name where it lies in the zone.
	Addresses []netip.Addr
}

// The defaults of ZoneOptions.TTL and LoadBalancedTTL, in seconds.
const (
	DefaultTTL             = 60
	DefaultLoadBalancedTTL = 300
)

// checkedTTL is the most that the upper CNAMEs of a chain have where a member is
// checked, in seconds: failover must not wait for them (rule 2.3).
const checkedTTL = 60

// The SOA fields of a zone that only the Corefile knows, and the TTL of what
// stands at its apex, in seconds (rule 6.8).
const (
	soaRefresh = 3600
	soaRetry   = 600
	soaExpire  = 1209600
	soaMinimum = 60
	apexTTL    = 3600
)

// Rname returns the mailbox name of an e-mail address, for the SOA of origin:
// the part before the @ becomes the first label, its dots escaped (RFC 1035
// §8). An address that has no such form gives hostmaster.<origin>.
func Rname(email, origin string) string {
	local, domain, ok := strings.Cut(strings.TrimSpace(email), "@")
	if ok && local != "" && domain != "" {
		name := strings.ReplaceAll(local, ".", `\.`) + "." + dns.Fqdn(domain)
		if _, valid := dns.IsDomainName(name); valid && !strings.ContainsAny(name, " \t@") {
			return name
		}
	}
	return hostmaster(origin)
}

func hostmaster(origin string) string {
	if origin == "." {
		return "hostmaster."
	}
	return "hostmaster." + origin
}

// staticSets returns the RRsets that the options put into their zone: the apex
// NS set, and the addresses of the name servers that lie in the zone. Their
// keys are owner names. A name server without an address has an entry without
// sets, so that its name exists (rule 6.8).
func (o *ZoneOptions) staticSets() map[string][]rrset {
	sets := make(map[string][]rrset)
	servers := o.nameservers()
	ns := make([]dns.RR, 0, len(servers))
	for _, s := range servers {
		ns = append(ns, &dns.NS{Hdr: header(o.Origin, dns.TypeNS, apexTTL), Ns: s.Name})
		if !IsSubdomain(o.Origin, s.Name) {
			continue
		}
		v4, v6 := splitFamilies(s.Addresses)
		own := append([]rrset{}, sets[s.Name]...)
		if len(v4) > 0 {
			own = append(own, rrset{dns.TypeA, addressRRs(s.Name, apexTTL, v4)})
		}
		if len(v6) > 0 {
			own = append(own, rrset{dns.TypeAAAA, addressRRs(s.Name, apexTTL, v6)})
		}
		sets[s.Name] = own
	}
	sets[o.Origin] = append([]rrset{{dns.TypeNS, slices.Clip(ns)}}, sets[o.Origin]...)
	return sets
}

// nameservers returns the configured name servers, or ns.<origin> to stand in.
func (o *ZoneOptions) nameservers() []Nameserver {
	if len(o.Nameservers) > 0 {
		return o.Nameservers
	}
	if o.Origin == "." {
		return []Nameserver{{Name: "ns."}}
	}
	return []Nameserver{{Name: "ns." + o.Origin}}
}

// soa returns the zone's SOA record with the given serial.
func (o *ZoneOptions) soa(serial uint32) *dns.SOA {
	rname := o.Rname
	if rname == "" {
		rname = hostmaster(o.Origin)
	}
	return &dns.SOA{
		Hdr:     header(o.Origin, dns.TypeSOA, apexTTL),
		Ns:      o.nameservers()[0].Name,
		Mbox:    rname,
		Serial:  serial,
		Refresh: soaRefresh,
		Retry:   soaRetry,
		Expire:  soaExpire,
		Minttl:  soaMinimum,
	}
}
