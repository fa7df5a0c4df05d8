package endpoint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
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
	// Published has what zones were published with by a process that ran here before, by
	// origin: their serials go on from there (rule 6.7). A Kept without a hash is a serial alone.
	Published map[string]api.Kept
	// Health has what was known of targets then, by health.Target.Key: new ones begin with
	// it (rule 4.7).
	Health map[string]health.State
	// ZoneNamespaces are the namespaces that may have Zones which no other Zone
	// delegates (rule 5.2), and administer zones without a Zone (rule 5.1); nil for all, of
	// which none administers.
	ZoneNamespaces []string
	// Publish says who may publish in zones that have no Zone (rule 5.1).
	Publish []Publish
	// ProbesOff has nothing checked: the status of the probes that others write is
	// the verdict on targets (rule 4.1).
	ProbesOff bool
	// ProbeAllow are the addresses that a probe may have checked which no name of
	// its namespace publishes (rule 4.10).
	ProbeAllow []netip.Prefix
	// Unlocated is true if nothing finds clients: geo codes count for nothing (rule 3.4).
	Unlocated bool
}

// Publish lets namespaces publish at a name and below it. Those with one domain add up.
type Publish struct {
	// Domain is a lower-case name with a final dot. One that begins with _ may have labels with * (rule 5.9).
	Domain string
	// Namespaces are those that may; "*" is every namespace.
	Namespaces []string
	// Types are the types of data, in upper case; nil for all but NS and DNAME.
	Types []string
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
	// OwnerTXT is what the names begin with of TXT records that name the owners of hosts;
	// "" for no such records (rule 5.8).
	OwnerTXT string
	// Rname is the SOA's responsible mailbox as a name with a final dot, also of the zones of Zones below; "" for
	// hostmaster.<origin>, each zone's own.
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

// CheckedTTL is the highest TTL, in seconds, of the upper CNAMEs of a chain with a checked member: failover must not wait for
// them (rule 2.3).
const CheckedTTL = 60

// Rname returns the mailbox name of an e-mail address, for SOA records: the part before the @ becomes the first label, its
// dots escaped (RFC 1035 §8); "" for one that has no such form.
func Rname(email string) string {
	local, domain, ok := strings.Cut(strings.TrimSpace(email), "@")
	if ok && local != "" && domain != "" {
		name := strings.ReplaceAll(local, ".", `\.`) + "." + dns.Fqdn(domain)
		if _, valid := dns.IsDomainName(name); valid && !strings.ContainsAny(name, " \t@") {
			return name
		}
	}
	return ""
}

// ZoneNames lists the served zones for messages: if there are many, the first ones of the Corefile.
func (o *Options) ZoneNames() string {
	names := make([]string, min(len(o.Zones), maxZoneNames))
	for i := range names {
		names[i] = o.Zones[i].Origin
		if names[i] != "." {
			names[i] = TrimDot(names[i])
		}
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	if more := len(o.Zones) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}

// maxZoneNames is how many zones a message names: more would not help to find a typing mistake.
const maxZoneNames = 20
