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
	var missed ignored
	for i := range r.elements() {
		if i >= maxEndpoints {
			if r.walk.Skip(); i == maxEndpoints {
				r.fault("ignored, as are all after it: at most %d endpoints are read", maxEndpoints)
			}
			continue
		}
		if e, ok := r.endpoint(&missed); ok {
			e.Index = i
			all = append(all, e)
		}
	}
	if len(missed.properties) > 0 {
		r.faults.add("spec.endpoints: providerSpecific may have " + enumerated(propertyNames, "and") + "; ignoring " + missed.properties.String())
	}
	if len(missed.choices) > 0 {
		r.faults.add("spec.endpoints: answering with all addresses, because the server cannot choose as Route 53 does: " + missed.choices.String())
	}
	return slices.Clip(slices.Clone(all)) // without spare capacity
}

// ignored collects properties that are not read, and the names at which Route 53 would choose by these alone.
type ignored struct{ properties, choices names }

// names is a set of names for a message.
type names map[string]bool

func (n *names) add(name string) {
	if *n == nil {
		*n = make(names)
	}
	if len(*n) < maxTargets {
		(*n)[name] = true
	}
}

// String returns the first of the names, in 200 octets at most.
func (n names) String() string { return Cut(strings.Join(slices.Sorted(maps.Keys(n)), ", "), 200) }

// endpoint reads one endpoint; ok is false if it is unusable, which is a fault. It adds to missed what it ignores.
func (r *reader) endpoint(missed *ignored) (e Endpoint, ok bool) {
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
			p = r.properties(&missed.properties)
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
		if wrong := p.read[atAttributes+x].attribute(x, &e.Attributes); wrong != "" {
			r.faults.add(r.path() + wrong)
		}
	}
	if p.choice && e.SetID != "" && e.Weight == NoWeight && e.Geo == "" && !e.Attributes.Says(Priority) {
		e.SetID = "" // an equal share is not what was meant
		missed.choices.add(strings.TrimSuffix(e.DNSName, "."))
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
	if e.Weight, wrong = p.first(atWeight, atAWSWeight).weight(); wrong == "" {
		location := p.location()
		e.Geo, wrong = location.geo()
	}
	if wrong == "" {
		wrong = p.read[atFailover].failover(&e.Attributes)
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

// properties are the entries that are read, as propertyNames has them.
type properties struct {
	read [atAttributes + NumAttributes]property
	// choice is true if one that is not read is Route 53's, which may choose by it.
	choice bool
}

// The places of properties. Those of attributes follow.
const (
	atWeight = iota
	atAWSWeight
	atGeo
	atFailover
	atContinent
	atCountry
	atSubdivision
	atAttributes
)

// propertyNames has the names of the properties that are read; external-dns has those of Route 53.
var propertyNames = func() []string {
	names := []string{
		PropertyWeight, prefixAWS + "weight", PropertyGeo, prefixAWS + "failover",
		prefixAWS + "geolocation-continent-code", prefixAWS + "geolocation-country-code", prefixAWS + "geolocation-subdivision-code",
	}
	for x := range NumAttributes {
		names = append(names, x.String())
	}
	return names
}()

const prefixAWS = "aws/"

// first returns the first of two properties, if it is there, else the second one.
func (p *properties) first(a, b int) *property {
	if p.read[a].set {
		return &p.read[a]
	}
	return &p.read[b]
}

// location returns the geo code of an endpoint. Of Route 53's, the continent precedes the country, as in external-dns.
func (p *properties) location() property {
	at, in := *p.first(atGeo, atContinent), &p.read[atSubdivision]
	switch {
	case p.read[atGeo].set:
	case at.set && at.value != "*":
		at.value = "GEO-" + at.value
	case !at.set && in.set && p.read[atCountry].wrong == "" && p.read[atCountry].value != "*":
		at = *in
		at.value = p.read[atCountry].value + "-" + at.value
	case !at.set:
		at = p.read[atCountry]
	}
	return at
}

// properties reads providerSpecific. The first of several entries with one name counts, as in external-dns. Entries that are not ours may
// hold anything: it adds their names to unread.
func (r *reader) properties(unread *names) (all properties) {
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
		switch at := slices.Index(propertyNames, name); {
		case at >= 0 && !all.read[at].set:
			all.read[at] = p
		case at >= 0 || name == "" || name == PropertyHealth: // the latter is this server's, in a status
		default:
			unread.add(name)
			all.choice = all.choice || strings.HasPrefix(name, prefixAWS)
		}
	}
	return all
}

// failover reads a property as Route 53's primary or secondary endpoint: a priority.
func (p *property) failover(of *Attributes) (wrong string) {
	if !p.set {
		return ""
	}
	i := slices.Index([]string{"PRIMARY", "SECONDARY"}, strings.ToUpper(p.value))
	if i < 0 || p.wrong != "" {
		return p.at + " " + p.text() + ": must be PRIMARY or SECONDARY"
	}
	of.set(Priority, uint8(i))
	return ""
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
