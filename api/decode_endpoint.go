package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// The bounds are those of external-dns's own schema.
const (
	maxEndpoints = 1000 // of one object
	maxTargets   = 1000 // of one endpoint
)

// DecodeDNSEndpoint reads a DNSEndpoint (externaldns.k8s.io/v1alpha1) of the given cluster from JSON, like DecodeDNSRecord.
func DecodeDNSEndpoint(cluster string, json []byte) (*DNSEndpoint, error) {
	e := new(DNSEndpoint)
	listed := false
	_, err := decodeObject(&e.Meta, cluster, json, nil, func(r *reader, field []byte) {
		if string(field) != "spec" {
			return
		}
		e.Endpoints, listed = nil, false
		for field := range r.fields() {
			if string(field) == "endpoints" {
				listed = r.next() == '['
				e.Endpoints = r.endpoints()
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode DNSEndpoint: %w", err)
	}
	if !listed {
		e.Invalid = "spec.endpoints is missing: write a list of endpoints"
	}
	return e, nil
}

// endpoints reads spec.endpoints. It leaves out unusable ones, as faults.
func (r *reader) endpoints() []Endpoint {
	var all []Endpoint
	unread := make(map[string]bool)
	for i := range r.elements() {
		if i >= maxEndpoints {
			if r.walk.Skip(); i == maxEndpoints {
				r.fault("ignored, as are all after it: at most %d endpoints are read", maxEndpoints)
			}
			continue
		}
		if e, ok := r.endpoint(unread); ok {
			e.Index = i
			all = append(all, e)
		}
	}
	if len(unread) > 0 {
		names := slices.Sorted(maps.Keys(unread))
		r.faults.add("spec.endpoints: providerSpecific may have " + propertiesRead + "; ignoring " + Cut(strings.Join(names, ", "), maxUnread))
	}
	return slices.Clip(slices.Clone(all)) // without spare capacity
}

// maxUnread bounds the names of unknown properties in a message, in octets.
const maxUnread = 200

// endpoint reads one endpoint; ok is false if it is unusable, which is a fault. It adds the names
// of unknown properties to unread.
func (r *reader) endpoint(unread map[string]bool) (e Endpoint, ok bool) {
	var p properties
	before, targets := r.faults.n, 0
	for field := range r.fields() {
		switch string(field) {
		case "dnsName":
			e.DNSName, _ = r.text()
		case "recordType":
			e.Type = r.typeName()
		case "recordTTL":
			e.TTL, _ = r.integer()
		case "setIdentifier":
			b, _ := r.raw()
			e.SetID = datas.intern(b) // often the target
		case "targets":
			n := r.faults.n
			e.Targets = r.targets()
			targets += r.faults.n - n
		case "providerSpecific":
			p = r.properties(unread)
		}
	}
	// The other targets stay valid without one that is left out; any other unreadable field may
	// have changed the meaning.
	if r.faults.n-before != targets {
		return e, false
	}
	if wrong := e.settle(&p); wrong != "" {
		r.faults.add(r.path() + wrong + "; ignoring the endpoint")
		return e, false
	}
	for x := range NumAttributes {
		if wrong := p.attributes[x].attribute(x, &e.Attributes); wrong != "" {
			r.faults.add(r.path() + wrong)
		}
	}
	return e, true
}

// settle completes e from its text, and returns what cannot be used: the field, and why.
func (e *Endpoint) settle(p *properties) (wrong string) {
	name, noName := CanonicalName(e.DNSName)
	switch {
	case e.DNSName == "":
		return ".dnsName is missing"
	case noName != "":
		return ".dnsName " + quote(e.DNSName) + " " + noName
	case e.Type == "":
		return ".recordType is missing"
	case len(e.Targets) == 0:
		return ".targets is empty"
	case e.TTL < 0 || e.TTL > maxTTL:
		return fmt.Sprintf(".recordTTL is %d, not from 0 to %d seconds", e.TTL, maxTTL)
	}
	e.DNSName = dns.Fqdn(name)
	if e.Weight, wrong = p.weight.weight(); wrong == "" {
		e.Geo, wrong = p.geo.geo()
	}
	return wrong
}

// targets reads an endpoint's targets, without those that are empty or no strings.
func (r *reader) targets() []string {
	var all []string
	for i := range r.elements() {
		if i >= maxTargets {
			if r.walk.Skip(); i == maxTargets {
				r.fault("ignored, as are all after it: at most %d targets are read", maxTargets)
			}
			continue
		}
		b, ok := r.raw()
		switch {
		case ok && len(b) > 0:
			all = append(all, datas.intern(b))
		case ok:
			r.fault("the target is empty")
		}
	}
	return slices.Clip(all)
}

// property is an entry of an endpoint's providerSpecific: a name and a text.
type property struct {
	set   bool
	value string
	wrong string // the kind of the value where it is no text
	at    string // where it stands below the endpoint
}

// properties are those entries that are read.
type properties struct {
	weight, aws, geo property
	attributes       [NumAttributes]property
}

// propertiesRead names them.
var propertiesRead = func() string {
	names := []string{PropertyWeight, propertyAWS, PropertyGeo}
	for x := range NumAttributes {
		names = append(names, x.String())
	}
	return enumerated(names, "and")
}()

const propertyAWS = "aws/weight"

// of returns the entry of a name; nil where it is not read.
func (p *properties) of(name string) *property {
	switch name {
	case PropertyWeight:
		return &p.weight
	case propertyAWS:
		return &p.aws
	case PropertyGeo:
		return &p.geo
	}
	for x := range NumAttributes {
		if name == x.String() {
			return &p.attributes[x]
		}
	}
	return nil
}

// properties reads providerSpecific. The first of several entries with one name counts, as in external-dns. Entries that are not ours may
// hold anything: it adds their names to unread.
func (r *reader) properties(unread map[string]bool) (all properties) {
	for i := range r.elements() {
		name, p := "", property{set: true, at: fmt.Sprintf(".providerSpecific[%d].value", i)}
		for field := range r.fields() {
			switch string(field) {
			case "name":
				name, _ = r.word()
			case "value":
				p.value, p.wrong = "", ""
				switch kind := r.next(); kind {
				case '"':
					p.value, _ = r.word()
				case 'n':
				default:
					p.wrong = kindName(kind)
				}
			}
		}
		switch to := all.of(name); {
		case to != nil && !to.set:
			*to = p
		case to != nil || name == "" || name == PropertyHealth: // the latter is this server's, in a status
		case len(unread) <= maxTargets:
			unread[name] = true
		}
	}
	if !all.weight.set {
		all.weight = all.aws
	}
	return all
}

// weight parses a property as a weight.
func (p *property) weight() (weight int64, wrong string) {
	if !p.set {
		return NoWeight, ""
	}
	n, err := strconv.ParseInt(p.value, 10, 64)
	if p.wrong != "" || err != nil || n < 0 || n > maxWeight {
		return NoWeight, p.at + " " + p.text() + fmt.Sprintf(": must be a whole number from 0 to %d, in quotes", maxWeight)
	}
	return n, ""
}

// geo parses a property as a geo code, in upper case.
func (p *property) geo() (code, wrong string) {
	if p.wrong != "" || len(p.value) > 63 || p.value != "*" && !only(p.value, letters+digits+"-_") {
		return "", p.at + " " + p.text() + ": must be a code such as GEO-EU, IE or US-CA, or *, in quotes"
	}
	return words.intern([]byte(strings.ToUpper(p.value))), ""
}

// attribute sets what a property says of an attribute.
func (p *property) attribute(x Attribute, of *Attributes) (wrong string) {
	value, ok := x.value(p.value)
	switch {
	case !p.set:
	case p.wrong != "" || !ok:
		return p.at + " " + p.text() + "; want " + x.known() + ", in quotes"
	default:
		of.set(x, value)
	}
	return ""
}

// text returns the value for a message.
func (p *property) text() string {
	if p.wrong != "" {
		return "is " + p.wrong
	}
	return quote(p.value)
}
