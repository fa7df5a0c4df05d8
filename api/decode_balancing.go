package api

import (
	"cmp"
	"fmt"
	"strings"
)

// balancingDoc is spec.loadBalancing as written, in either version's form: v1
// has weight, geo (a text) and defaultGeo, v1alpha2 has weighted and geo (an
// object). A nil is a field that is not set.
type balancingDoc struct {
	weight, defaultWeight *int64
	custom                []CustomWeight
	geo                   *string // the text
	geoDefault            *string // of the object
	defaultGeo            bool
}

func (r *reader) balancing(d *policyDoc) {
	b := d.balancing
	for field := range r.fields() {
		switch string(field) {
		case "weight":
			b.weight = r.weight(&d.invalid)
		case "geo":
			r.geo(b, &d.invalid)
		case "defaultGeo":
			b.defaultGeo, _ = r.boolean()
		case "weighted":
			b.defaultWeight, b.custom = nil, nil
			for field := range r.fields() {
				switch string(field) {
				case "defaultWeight":
					b.defaultWeight = r.weight(&d.invalid)
				case "custom":
					b.custom = r.customWeights(&d.invalid)
				}
			}
		}
	}
}

// geo reads loadBalancing.geo, which has no type in the schema: a wrong one is the policy's error,
// not one of its text.
func (r *reader) geo(b *balancingDoc, invalid *notes) {
	b.geo, b.geoDefault = nil, nil
	switch r.next() {
	case '"':
		text, _ := r.word()
		b.geo = &text
	case '{':
		for field := range r.fields() {
			if string(field) == "defaultGeo" {
				b.geoDefault = nil
				if text, ok := r.word(); ok {
					b.geoDefault = &text
				}
			}
		}
	case 'n':
		r.walk.Skip()
	default:
		kind := kindName(r.next())
		r.walk.Skip()
		// In YAML, NO without quotes is false, and so is the code of Norway.
		invalid.add(r.path() + " is " + kind + `: write a geo code such as GEO-EU or "NO", with quotes, or an object with the field defaultGeo`)
	}
}

// weight reads a weight, nil if it is no number.
func (r *reader) weight(invalid *notes) *int64 {
	n, ok := r.integer()
	if !ok {
		return nil
	}
	if n < 0 || n > maxWeight {
		invalid.add(fmt.Sprintf("%s is %d, not a whole number from 0 to %d", r.path(), n, maxWeight))
		n = DefaultWeight
	}
	return &n
}

// customWeights reads loadBalancing.weighted.custom. It leaves out entries that cannot apply.
func (r *reader) customWeights(invalid *notes) []CustomWeight {
	var list []CustomWeight
	for range r.elements() {
		var c CustomWeight
		var weight *int64
		for field := range r.fields() {
			switch string(field) {
			case "selector":
				c.Selector = nil
				if r.is('{', "an object") {
					c.Selector = r.selector(invalid)
				}
			case "value":
				c.Value, _ = r.word()
			case "weight":
				weight = r.weight(invalid)
			}
		}
		switch {
		case (c.Selector == nil) == (c.Value == ""):
			invalid.add(r.path() + ": set either selector, for the labels of the Gateway, or value")
		case weight == nil:
			invalid.add(r.path() + ".weight is missing")
		default:
			c.Weight = *weight
			list = append(list, c)
		}
	}
	return list
}

// settleBalancing sets the policy's weights and geo codes.
func (d *policyDoc) settleBalancing(p *DNSPolicy) {
	p.DefaultWeight = DefaultWeight
	b := d.balancing
	if b == nil {
		return
	}
	if b.weight != nil && b.defaultWeight != nil && *b.weight != *b.defaultWeight {
		d.invalid.add("spec.loadBalancing.weight and spec.loadBalancing.weighted.defaultWeight differ: remove one")
	}
	if w := cmp.Or(b.defaultWeight, b.weight); w != nil {
		p.DefaultWeight = *w
	}
	p.CustomWeights = b.custom
	switch {
	case b.geo != nil:
		p.Geo = d.geoCode("spec.loadBalancing.geo", *b.geo)
		if b.defaultGeo {
			p.DefaultGeo = p.Geo
		}
	case b.geoDefault != nil:
		p.DefaultGeo = d.geoCode("spec.loadBalancing.geo.defaultGeo", *b.geoDefault)
	case b.defaultGeo:
		d.invalid.add("spec.loadBalancing.defaultGeo is true, but spec.loadBalancing.geo is not set: default geocode is required")
	}
}

// geoCode returns a code in upper case, "" if it is not valid. A code that no client has is no
// error here (rule 3.2).
func (d *policyDoc) geoCode(field, code string) string {
	switch {
	case code == "":
		d.invalid.add("default geocode is required: give " + field + " a code such as GEO-EU, or remove it")
	case code == "*":
		d.invalid.add(field + ` "*" means everywhere: write a code such as GEO-EU`) // rule 2.6
	case len(code) > 63 || !only(code, letters+digits+"-_"):
		d.invalid.add(field + " " + quote(code) + " is not a code such as GEO-EU, IE or US-CA")
	default:
		return words.intern([]byte(strings.ToUpper(code)))
	}
	return ""
}
