package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// The defaults of a Zone's SOA, in seconds (rule 6.8).
const (
	defaultZoneTTL     = 360
	defaultZoneRefresh = 86400
	defaultZoneRetry   = 7200
	defaultZoneExpire  = 3600000
	defaultZoneMinimum = 360
)

// maxTTL is the largest TTL there is (RFC 2181 §8); the times of an SOA have the
// same bound here.
const maxTTL = 1<<31 - 1

// DecodeZone reads a Zone (kubi.zone/v1alpha1) of the given cluster from JSON. It
// returns an error where the text is not JSON or names no object. What cannot be read
// is left out and named in the Zone's Fault, and what cannot be accepted is named in
// Invalid; the rest is read in both cases. The Zone does not refer to json.
func DecodeZone(cluster string, json []byte) (*Zone, error) {
	z := new(Zone)
	var d zoneDoc
	err := decodeObject(&z.Meta, cluster, json, false, func(r *reader, field []byte) {
		switch string(field) {
		case "spec":
			d = zoneDoc{}
			r.zoneSpec(&d)
		case "status":
			z.Kept = Kept{}
			r.zoneStatus(z)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Zone: %w", err)
	}
	z.Invalid = d.settle(z)
	return z, nil
}

// zoneDoc is the spec of a Zone as written; a nil is a field that is not set.
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

// placeField reads a field that Zones and Records have alike; it leaves any other.
func (r *reader) placeField(d *placeDoc, field []byte) {
	switch string(field) {
	case "domainName":
		d.domainName, _ = r.text()
	case "zoneRef":
		d.ref = nil
		if r.next() == '{' {
			d.ref = new(refDoc)
		}
		for field := range r.fields() {
			switch string(field) {
			case "name":
				d.ref.name, _ = r.word()
			case "namespace":
				d.ref.namespace, _ = r.word()
			}
		}
	}
}

func (r *reader) delegations() (all []Delegation) {
	for range r.elements() {
		var d Delegation
		for field := range r.fields() {
			switch string(field) {
			case "namespaces":
				d.Namespaces = r.wordList(nil)
			case "zones":
				d.Zones = r.wordList(strings.ToLower)
			case "records":
				d.Records = r.recordDelegations()
			}
		}
		all = append(all, d)
	}
	return slices.Clip(all)
}

func (r *reader) recordDelegations() (all []RecordDelegation) {
	for range r.elements() {
		var d RecordDelegation
		for field := range r.fields() {
			switch string(field) {
			case "pattern":
				d.Pattern, _ = r.word()
				d.Pattern = strings.ToLower(d.Pattern)
			case "types":
				d.Types = r.wordList(strings.ToUpper)
			}
		}
		if d.Pattern != "" {
			all = append(all, d)
		}
	}
	return slices.Clip(all)
}

// wordList returns a list of strings, each as change makes it; nil leaves them. An
// empty list is nil.
func (r *reader) wordList(change func(string) string) (all []string) {
	for range r.elements() {
		word, ok := r.word()
		if !ok {
			continue
		}
		if change != nil {
			word = change(word)
		}
		all = append(all, word)
	}
	return slices.Clip(all)
}

func (r *reader) zoneStatus(z *Zone) {
	for field := range r.fields() {
		switch string(field) {
		case "hash":
			z.Kept.Hash, _ = r.text()
		case "serial":
			if n, ok := r.integer(); ok && n >= 0 && n <= 1<<32-1 {
				z.Kept.Serial = uint32(n)
			}
		}
	}
}

// settle gives the Zone what its text means, and returns what is not acceptable in
// it.
func (d *zoneDoc) settle(z *Zone) string {
	var invalid notes
	z.DomainName, z.Parent = d.placeDoc.settle(&z.Meta, &invalid)
	if z.DomainName == "@" {
		invalid.add("spec.domainName is @: a zone has a name of its own below its parent")
	}
	z.Delegations = d.delegations
	for _, f := range []struct {
		field     string
		written   *int64
		otherwise uint32
		to        *uint32
	}{
		{"ttl", d.ttl, defaultZoneTTL, &z.TTL},
		{"refresh", d.refresh, defaultZoneRefresh, &z.Refresh},
		{"retry", d.retry, defaultZoneRetry, &z.Retry},
		{"expire", d.expire, defaultZoneExpire, &z.Expire},
		{"negativeResponseCache", d.minimum, defaultZoneMinimum, &z.Minimum},
	} {
		*f.to = f.otherwise
		switch {
		case f.written == nil:
		case *f.written < 0 || *f.written > maxTTL:
			invalid.add(fmt.Sprintf("spec.%s is %d: it is in seconds, from 0 to %d", f.field, *f.written, maxTTL))
		default:
			*f.to = uint32(*f.written)
		}
	}
	z.Mname = settleName("spec.mname", d.mname, &invalid)
	z.Rname = settleName("spec.rname", d.rname, &invalid)
	return invalid.text
}

// settle returns the name, and the namespace/name of the parent (rule 6.2).
func (d *placeDoc) settle(m *Meta, invalid *notes) (domainName, parent string) {
	domainName = strings.ToLower(d.domainName)
	absolute := strings.HasSuffix(domainName, ".")
	switch {
	case domainName == "":
		invalid.add(`spec.domainName is missing: write a name that ends in a dot, such as www.example.org., or one below zoneRef, such as www or @`)
	case absolute && d.ref != nil:
		invalid.add("spec.domainName " + quote(d.domainName) + " ends in a dot, and there is a zoneRef: leave one of the two out")
	case !absolute && d.ref == nil:
		invalid.add("spec.domainName " + quote(d.domainName) + " does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two")
	}
	if d.ref == nil {
		return domainName, ""
	}
	namespace := d.ref.namespace
	if namespace == "" {
		namespace = m.Namespace()
	}
	if !isSubdomain(d.ref.name) || !isSubdomain(namespace) || strings.Contains(namespace, ".") {
		invalid.add("spec.zoneRef " + quote(namespace+"/"+d.ref.name) + ": write the name of a Zone, and the namespace where it is another one")
		return domainName, ""
	}
	return domainName, words.intern([]byte(namespace + "/" + d.ref.name))
}

// settleName returns a name that is absolute whether or not it ends in a dot; "" for
// none.
func settleName(field, text string, invalid *notes) string {
	if text == "" {
		return ""
	}
	name := dns.Fqdn(strings.ToLower(text))
	if _, ok := dns.IsDomainName(name); !ok || strings.ContainsAny(name, " \t@;()\"") {
		invalid.add(field + " " + quote(text) + " is not a domain name")
		return ""
	}
	return name
}

// DecodeRecord reads a Record (kubi.zone/v1alpha1) of the given cluster from JSON. It
// does so as DecodeZone does.
func DecodeRecord(cluster string, json []byte) (*Record, error) {
	rec := new(Record)
	var d recordDoc
	err := decodeObject(&rec.Meta, cluster, json, false, func(r *reader, field []byte) {
		if string(field) == "spec" {
			d = recordDoc{}
			r.recordSpec(&d)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Record: %w", err)
	}
	rec.Invalid = d.settle(rec)
	return rec, nil
}

// recordDoc is the spec of a Record as written; a nil is a field that is not set.
type recordDoc struct {
	placeDoc
	rtype, class, rdata string
	ttl                 *int64
}

func (r *reader) recordSpec(d *recordDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "type":
			d.rtype, _ = r.word()
		case "class":
			d.class, _ = r.word()
		case "ttl":
			d.ttl = r.optionalInteger()
		case "rdata":
			d.rdata, _ = r.text()
		default:
			r.placeField(&d.placeDoc, field)
		}
	}
}

// settle gives the Record what its text means, and returns what is not acceptable in
// it.
func (d *recordDoc) settle(rec *Record) string {
	var invalid notes
	rec.DomainName, rec.Parent = d.placeDoc.settle(&rec.Meta, &invalid)
	rec.Type, rec.Class, rec.RData, rec.TTL = strings.ToUpper(d.rtype), strings.ToUpper(d.class), d.rdata, NoTTL
	if rec.Type == "" {
		invalid.add("spec.type is missing: write the type of the record, such as A")
	}
	if rec.Class == "" {
		rec.Class = "IN"
	}
	switch {
	case d.ttl == nil:
	case *d.ttl < 0 || *d.ttl > maxTTL:
		invalid.add(fmt.Sprintf("spec.ttl is %d: it is in seconds, from 0 to %d", *d.ttl, maxTTL))
	default:
		rec.TTL = *d.ttl
	}
	return invalid.text
}
