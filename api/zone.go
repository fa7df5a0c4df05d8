package api

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Zone is a kubi.zone Zone, decoded and defaulted (rule 6.2).
type Zone struct {
	Meta
	// Invalid says why the zone cannot be accepted, whatever else exists, in a sentence for its
	// owner; "" if it can.
	Invalid string `json:"invalid"`

	// DomainName is absolute if it ends in a dot that is not escaped; otherwise Parent's name is
	// appended. It is as written, but in lower case: it may not be a valid name.
	DomainName string `json:"domainName"`
	// Parent is the namespace/name of the Zone that zoneRef names; "" without one.
	Parent string `json:"parent"`
	// Delegations say who may publish what in the zone (rules 5.1 and 6.4); nil allows nothing.
	// Each one allows something.
	Delegations []Delegation `json:"delegations"`
	// to has the indexes of the delegations by namespace, "" for those to all; nil if there are
	// few.
	to map[string][]int32

	// The SOA's fields in seconds, up to 2^31-1 (rule 6.8). TTL is also that of records without
	// one.
	TTL     uint32 `json:"ttl"`
	Refresh uint32 `json:"refresh"`
	Retry   uint32 `json:"retry"`
	Expire  uint32 `json:"expire"`
	Minimum uint32 `json:"minimum"`
	// Mname and Rname are the SOA's, names with a final dot, in lower case and with escapes only
	// where needed; "" for the zone's defaults.
	Mname string `json:"mname"`
	Rname string `json:"rname"`

	// Kept is the last publication according to the status, whoever wrote it (rule 6.7).
	Kept Kept `json:"kept"`
}

// fewDelegations is up to how many are searched without an index.
const fewDelegations = 8

// index makes DelegationsTo fast.
func (z *Zone) index() {
	if len(z.Delegations) <= fewDelegations {
		return
	}
	z.to = make(map[string][]int32)
	for i := range z.Delegations {
		list := z.Delegations[i].Namespaces
		if len(list) == 0 {
			list = []string{""}
		}
		for _, ns := range list {
			z.to[ns] = append(z.to[ns], int32(i))
		}
	}
}

// DelegationsTo yields the delegations to a namespace, including those to all. They are read-only.
func (z *Zone) DelegationsTo(namespace string) iter.Seq[*Delegation] {
	return func(yield func(*Delegation) bool) {
		if z.to == nil {
			for i := range z.Delegations {
				d := &z.Delegations[i]
				if (len(d.Namespaces) == 0 || slices.Contains(d.Namespaces, namespace)) && !yield(d) {
					return
				}
			}
			return
		}
		for _, list := range [...][]int32{z.to[""], z.to[namespace]} {
			for _, i := range list {
				if !yield(&z.Delegations[i]) {
					return
				}
			}
		}
	}
}

// Kept is a zone's published content and serial.
type Kept struct {
	Hash   string `json:"hash"`   // "" if the content is unknown
	Serial uint32 `json:"serial"` // 0 for none; Hash is "" then
}

// Serials is what is kept of zones, by origin, in lower case with a final dot.
type Serials = tree.Map[Kept]

// Newer returns the one with the higher serial (RFC 1982 §3.2): k if they are equal. One without a
// serial loses.
func (k Kept) Newer(o Kept) Kept {
	if o.Serial != 0 && (k.Serial == 0 || int32(o.Serial-k.Serial) > 0) {
		return o
	}
	return k
}

// Entry is one record of a Zone's status.entries.
type Entry struct {
	FQDN  string // with a final dot
	Type  string // such as AAAA
	Class string
	TTL   uint32 // in seconds
	RData string // in the form of a master file (RFC 1035 §5.1)
}

// Delegation allows objects to publish in a zone (rule 6.4). Patterns are relative to the zone, in
// lower case and with escapes only where needed.
type Delegation struct {
	Namespaces []string           `json:"namespaces"` // that may publish; nil for all
	Zones      []string           `json:"zones"`      // patterns of zones; nil for none
	Records    []RecordDelegation `json:"records"`
}

// RecordDelegation allows records.
type RecordDelegation struct {
	Pattern string   `json:"pattern"` // `@` for the zone's own name
	Types   []string `json:"types"`   // in upper case; nil for all
}

// Record is a kubi.zone Record, decoded (rules 6.2, 6.3 and 6.9).
type Record struct {
	Meta
	// Invalid says why the record cannot be accepted, whatever else exists, in a sentence for its
	// owner; "" if it can.
	Invalid string `json:"invalid"`

	// DomainName is like a Zone's; `@` is Parent's own name.
	DomainName string `json:"domainName"`
	// Parent is the namespace/name of the Zone that zoneRef names; "" without one.
	Parent string `json:"parent"`
	// Type and Class are in upper case, such as AAAA, TYPE65280 and IN.
	Type  string `json:"type"`
	Class string `json:"class"`
	// TTL is in seconds, up to 2^31-1; NoTTL for the zone's.
	TTL int64 `json:"ttl"`
	// RData is the data in the form of a master file (RFC 1035 §5.1).
	RData string `json:"rdata"`
}

// NoTTL is the TTL of a Record without one.
const NoTTL = -1
