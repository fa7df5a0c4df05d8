package api

import (
	"strings"
)

// Kind is a kind of object that a source reads.
type Kind uint8

// The kinds, in the order of messages.
const (
	KindGateway     Kind = iota // gateway.networking.k8s.io Gateway
	KindDNSPolicy               // kuadrant.io DNSPolicy
	KindProbe                   // kuadrant.io DNSHealthCheckProbe
	KindZone                    // kubi.zone Zone
	KindRecord                  // kubi.zone Record
	KindDNSRecord               // kuadrant.io DNSRecord
	KindDNSEndpoint             // externaldns.k8s.io DNSEndpoint
	KindSecret                  // Secret: headers of checks, and DNS providers
	NumKinds                    // how many kinds there are
)

// kinds describes each kind. Package source has how it is read.
var kinds = [NumKinds]struct {
	name, group, resource string
	deciding              []Kind
}{
	KindGateway:     {"Gateway", "gateway.networking.k8s.io", "gateways", []Kind{KindGateway}},
	KindDNSPolicy:   {"DNSPolicy", "kuadrant.io", "dnspolicies", []Kind{KindGateway, KindDNSPolicy}},
	KindProbe:       {"DNSHealthCheckProbe", "kuadrant.io", "dnshealthcheckprobes", nil},
	KindZone:        {"Zone", "kubi.zone", "zones", []Kind{KindZone, KindRecord}},
	KindRecord:      {"Record", "kubi.zone", "records", []Kind{KindZone, KindRecord}},
	KindDNSRecord:   {"DNSRecord", "kuadrant.io", "dnsrecords", []Kind{KindDNSRecord}},
	KindDNSEndpoint: {"DNSEndpoint", "externaldns.k8s.io", "dnsendpoints", []Kind{KindDNSEndpoint}},
	KindSecret:      {"Secret", "", "secrets", nil},
}

// String returns the kind as it is written in an object's `kind` field.
func (k Kind) String() string { return kinds[k].name }

// Group returns the API group of the kind; "" is the core group.
func (k Kind) Group() string { return kinds[k].group }

// Resource returns the kind as in URLs and RBAC rules.
func (k Kind) Resource() string { return kinds[k].resource }

// FullResource returns the resource with its group, as messages name it.
func (k Kind) FullResource() string {
	if k.Core() {
		return k.Resource()
	}
	return k.Resource() + "." + k.Group()
}

// Core reports whether the kind is in the core group, which every API server has.
func (k Kind) Core() bool { return k.Group() == "" }

// APIVersion returns the apiVersion of objects of the kind in the given version.
func (k Kind) APIVersion(version string) string {
	if k.Core() {
		return version
	}
	return k.Group() + "/" + version
}

// HoldsNames reports whether objects of the kind hold names. While such a kind is not listed, no
// name can be denied (rule 7.4); any other kind may be missing or forbidden without that effect.
func (k Kind) HoldsNames() bool { return k.Deciding() != nil }

// Deciding returns the kinds that must be listed to know whether an object of the kind owns a name; nil for kinds that hold none.
func (k Kind) Deciding() []Kind { return kinds[k].deciding }

// ParseKind returns the kind with the given name, in any case; ok is false if there is none.
func ParseKind(name string) (k Kind, ok bool) {
	for i := range kinds {
		if strings.EqualFold(kinds[i].name, name) {
			return Kind(i), true
		}
	}
	return 0, false
}
