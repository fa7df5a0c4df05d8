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

// Options are the Corefile's settings for the zones. Compile treats them as read-only; pass the
// same pointer for the same configuration, because a new one makes it compile everything anew.
type Options struct {
	// Zones are the zones served, each once, in any order.
	Zones []ZoneOptions
	// Denied are names whose descendants were denied under earlier Options: they stay denied,
	// whatever has not been listed yet (rule 8.3).
	Denied []string
	// Published are the zones' published states left by an earlier process on this machine, by origin:
	// their serials continue from there (rule 6.7). A Kept without a hash is a serial alone.
	Published map[string]api.Kept
	// Health is what was known of targets then, by health.Target.Key: new targets begin with it
	// (rule 4.7).
	Health map[string]health.State
	// ZoneNamespaces are the namespaces that may have Zones without a delegation from another Zone
	// (rule 5.2), and that administer zones without a Zone (rule 5.1); nil lets all have Zones, and
	// none administer.
	ZoneNamespaces []string
	// Publish says who may publish in zones without a Zone (rule 5.1).
	Publish []Publish
	// ProbesOff turns off all checks: the status of other controllers' probes is the verdict on
	// targets (rule 4.1).
	ProbesOff bool
	// ProbeAllow are the addresses that a probe may check although no name of its namespace
	// publishes them (rule 4.10).
	ProbeAllow []netip.Prefix
	// Unlocated is true if no locator is configured: geo codes have no effect (rule 3.4).
	Unlocated bool
}

// Publish lets namespaces publish at and below a name. Entries with the same domain add up.
type Publish struct {
	// Domain is a lower-case name with a final dot. One that begins with _ may have labels with * (rule 5.9).
	Domain string
	// Namespaces may publish; "*" is every namespace.
	Namespaces []string
	// Types are the types of data, in upper case; nil for all but NS and DNAME.
	Types []string
}

// ZoneOptions are the Corefile's settings for one zone.
type ZoneOptions struct {
	// Origin is a lower-case name with a final dot.
	Origin string
	// Flatten makes a host answer with addresses instead of the chain (rule 2.4).
	Flatten bool
	// TTL is the TTL of hosts and addresses, LoadBalancedTTL that of a chain's upper CNAMEs, in
	// seconds (rules 2.2 and 2.3).
	TTL, LoadBalancedTTL uint32
	// Nameservers are those of the apex NS set; the first is also the SOA's mname.
	Nameservers []Nameserver
	// OwnerTXT is the name prefix of the TXT records that name the owners of hosts; "" for no such
	// records (rule 5.8).
	OwnerTXT string
	// Rname is the SOA's mailbox as a name with a final dot, also for the zones of Zones below; "" for hostmaster.<origin> in each zone.
	Rname string
}

// Nameserver is one name server of a zone.
type Nameserver struct {
	// Name is a lower-case name with a final dot.
	Name string
	// Addresses are served at Name if it lies in the zone.
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

// Rname returns the mailbox name of an e-mail address, for SOA records: the part before the @ becomes the first label, its dots escaped
// (RFC 1035 §8); "" if the address has no such form.
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

// ZoneNames lists the served zones for messages; of many, the first ones of the Corefile.
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

// maxZoneNames bounds the zones that a message names: more would not help to find a typing mistake.
const maxZoneNames = 20
