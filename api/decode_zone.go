package api

import (
	"cmp"
	"fmt"
	"math"

	"github.com/miekg/dns"
)

// maxTTL is the largest TTL (RFC 2181 §8); here it also bounds the times of an SOA.
const maxTTL = 1<<31 - 1

// DecodeZone reads a Zone (kubi.zone/v1alpha1) of the given cluster from JSON, like DecodePolicy.
func DecodeZone(cluster string, json []byte) (*Zone, error) {
	z := new(Zone)
	var d zoneDoc
	_, err := decodeObject(&z.Meta, cluster, json, nil, func(r *reader, field []byte) {
		switch string(field) {
		case "spec":
			d = zoneDoc{}
			r.zoneSpec(&d)
		case "status":
			z.Kept = r.kept()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Zone: %w", err)
	}
	z.Invalid = d.settle(z)
	return z, nil
}

// zoneDoc is a Zone's spec as written; a nil field is not set.
type zoneDoc struct {
	placeDoc
	delegations                          []Delegation
	ttl, refresh, retry, expire, minimum *int64
	mname, rname                         string
}

// placeDoc is where a Zone or a Record lies, as written.
type placeDoc struct {
	domainName string
	ref        *refDoc
	// nameWrong and refWrong say what in domainName and zoneRef cannot be read; "" for nothing.
	nameWrong, refWrong string
}

// refDoc is a reference to a Zone as written.
type refDoc struct{ namespace, name string }

func (r *reader) zoneSpec(d *zoneDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "delegations":
			d.delegations = r.delegations()
		case "ttl":
			d.ttl = r.optionalInteger()
		case "refresh":
			d.refresh = r.optionalInteger()
		case "retry":
			d.retry = r.optionalInteger()
		case "expire":
			d.expire = r.optionalInteger()
		case "negativeResponseCache":
			d.minimum = r.optionalInteger()
		case "mname":
			d.mname, _ = r.text()
		case "rname":
			d.rname, _ = r.text()
		default:
			r.placeField(&d.placeDoc, field)
		}
	}
}

// placeField reads a field that Zones and Records share; it skips any other.
func (r *reader) placeField(d *placeDoc, field []byte) {
	switch string(field) {
	case "domainName":
		d.nameWrong = r.required(func() { d.domainName, _ = r.text() })
	case "zoneRef":
		d.ref = nil
		if r.next() == '{' {
			d.ref = new(refDoc)
		}
		d.refWrong = r.required(func() {
			for field := range r.fields() {
				switch string(field) {
				case "name":
					d.ref.name, _ = r.word()
				case "namespace":
					d.ref.namespace, _ = r.word()
				}
			}
		})
	}
}

// kept reads the last publication from the status; zero without a serial.
func (r *reader) kept() (k Kept) {
	for field := range r.fields() {
		switch string(field) {
		case "hash":
			k.Hash, _ = r.text()
		case "serial":
			k.Serial = 0
			if n, ok := r.integer(); ok && n > 0 && n <= math.MaxUint32 {
				k.Serial = uint32(n)
			}
		}
	}
	if k.Serial == 0 {
		return Kept{}
	}
	return k
}

// settle completes the Zone from its text, and returns what is not acceptable in it.
func (d *zoneDoc) settle(z *Zone) string {
	var invalid notes
	z.DomainName, z.Parent = d.placeDoc.settle(&z.Meta, &invalid)
	if z.DomainName == "@" {
		invalid.add("spec.domainName is @: write a name below the parent zone's")
	}
	z.Delegations = d.delegations
	z.index()
	z.TTL = uint32(settleSeconds("ttl", d.ttl, 360, &invalid)) // the defaults are those of rule 6.8
	z.Refresh = uint32(settleSeconds("refresh", d.refresh, 86400, &invalid))
	z.Retry = uint32(settleSeconds("retry", d.retry, 7200, &invalid))
	z.Expire = uint32(settleSeconds("expire", d.expire, 3600000, &invalid))
	z.Minimum = uint32(settleSeconds("negativeResponseCache", d.minimum, 360, &invalid))
	z.Mname = settleName("spec.mname", d.mname, &invalid)
	z.Rname = settleName("spec.rname", d.rname, &invalid)
	return invalid.text
}

// settleSeconds returns a field of a spec in seconds; otherwise if it is not set, or not a valid TTL.
func settleSeconds(field string, written *int64, otherwise int64, invalid *notes) int64 {
	switch {
	case written == nil:
		return otherwise
	case *written < 0 || *written > maxTTL:
		invalid.add(fmt.Sprintf("spec.%s is %d, not from 0 to %d seconds", field, *written, maxTTL))
		return otherwise
	}
	return *written
}

// settle returns the name, and the namespace/name of the parent (rule 6.2).
func (d *placeDoc) settle(m *Meta, invalid *notes) (domainName, parent string) {
	domainName = lowerASCII(d.domainName)
	absolute := dns.IsFqdn(domainName) // a final dot that is escaped is part of a label
	switch {
	case d.nameWrong != "":
		invalid.add(d.nameWrong)
	case domainName == "":
		invalid.add(`spec.domainName is missing: write a name that ends in a dot, such as www.example.org., or one relative to zoneRef, such as www or @`)
	case absolute && d.ref != nil:
		invalid.add("spec.domainName " + quote(d.domainName) + " ends in a dot, but zoneRef is set: remove one of the two")
	case !absolute && d.ref == nil && d.refWrong == "":
		invalid.add("spec.domainName " + quote(d.domainName) +
			" does not end in a dot, and zoneRef is missing: add one of the two")
	}
	if d.refWrong != "" {
		invalid.add(d.refWrong) // no reference to what may be another Zone
		return domainName, ""
	}
	if d.ref == nil {
		return domainName, ""
	}
	namespace := cmp.Or(d.ref.namespace, m.Namespace())
	switch {
	case !isName(d.ref.name):
		invalid.add("spec.zoneRef.name " + quote(d.ref.name) + ": write the name of a Zone")
	case !isNamespace(namespace):
		invalid.add("spec.zoneRef.namespace " + quote(namespace) + ": write the name of a namespace")
	default:
		return domainName, words.intern([]byte(namespace + "/" + d.ref.name))
	}
	return domainName, ""
}
