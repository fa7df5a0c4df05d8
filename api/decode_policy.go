package api

import (
	"fmt"
	"math"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// DefaultWeight is the weight of a member whose policy sets none.
const DefaultWeight = 120

// maxWeight keeps the sum of any number of members' weights within an int64.
const maxWeight = math.MaxInt32

// DecodePolicy reads a DNSPolicy (kuadrant.io/v1 or v1alpha2) of the given cluster from JSON. It
// returns an error if the text is not JSON or names no object. It leaves out unreadable parts and
// names them in the policy's Fault, and unacceptable ones in Invalid or CheckInvalid; it always
// reads the rest. The policy does not refer to json.
func DecodePolicy(cluster string, json []byte) (*DNSPolicy, error) {
	p := new(DNSPolicy)
	var d policyDoc
	_, err := decodeObject(&p.Meta, cluster, json, nil, func(r *reader, field []byte) {
		if string(field) == "spec" {
			*p, d = DNSPolicy{Meta: p.Meta}, policyDoc{}
			r.policySpec(p, &d)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode DNSPolicy: %w", err)
	}
	p.Invalid = d.settle(p)
	return p, nil
}

// policyDoc is the part of a policy's text that does not go into the DNSPolicy directly: fields
// whose meaning depends on others.
type policyDoc struct {
	invalid   notes
	strategy  string // "" if not set
	target    bool
	targetNS  string
	balancing *balancingDoc // nil if absent
	health    *healthDoc    // nil if absent
	refs      *Provider     // providerRefs[0]
	ref       *Provider     // providerRef
	selector  *Provider     // providerSelector
}

func (r *reader) policySpec(p *DNSPolicy, d *policyDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "targetRef":
			r.target(&p.Target, d)
		case "routingStrategy":
			d.strategy, _ = r.word()
		case "loadBalancing":
			d.balancing = nil
			if r.is('{', "an object") {
				d.balancing = new(balancingDoc)
				r.balancing(d)
			}
		case "healthCheck":
			d.health = r.healthCheck()
		case "excludeAddresses":
			p.Exclude = r.exclusions(&d.invalid)
		case "providerRefs":
			d.refs = r.providerRefs(&d.invalid)
		case "providerRef":
			d.ref = r.providerRef(&d.invalid)
		case "providerSelector":
			d.selector = nil
			if r.is('{', "an object") {
				d.selector = &Provider{Kind: kindSecret, Selector: r.selector(&d.invalid)}
			}
		case "delegate":
			p.Delegate, _ = r.boolean()
		}
	}
}

func (r *reader) target(t *Target, d *policyDoc) {
	*t, d.targetNS = Target{}, ""
	for field := range r.fields() {
		d.target = true
		switch string(field) {
		case "group":
			t.Group, _ = r.word()
		case "kind":
			t.Kind, _ = r.word()
		case "name":
			t.Name, _ = r.text()
		case "sectionName":
			t.Section, _ = r.word()
		case "namespace": // of early versions
			d.targetNS, _ = r.word()
		}
	}
}

// settle sets the fields that depend on others, and returns what is not acceptable in the policy.
func (d *policyDoc) settle(p *DNSPolicy) string {
	d.checkTarget(p)
	d.settleStrategy(p)
	d.settleBalancing(p)
	p.HealthCheck, p.CheckInvalid = d.health.settled(d.strategy != "")
	d.settleProvider(p)
	return d.invalid.text
}

func (d *policyDoc) checkTarget(p *DNSPolicy) {
	t := &p.Target
	switch {
	case !d.target:
		d.invalid.add("spec.targetRef is missing: name the Gateway that the policy is for")
		return
	case t.Group != gatewayv1.GroupName:
		d.invalid.add("Invalid targetRef.group. The only supported value is '" + gatewayv1.GroupName + "'")
	case t.Kind != "Gateway":
		d.invalid.add("Invalid targetRef.kind. The only supported values are 'Gateway'")
	}
	switch {
	case !isSubdomain(t.Name):
		d.invalid.add("spec.targetRef.name " + quote(t.Name) + ": write the name of a Gateway")
	case d.targetNS != "" && d.targetNS != p.Namespace():
		d.invalid.add("spec.targetRef.namespace " + quote(d.targetNS) + ": the Gateway must be in the policy's namespace: remove the field")
	}
	if name := p.BareName(); t.Name == name {
		t.Name = name // one string: they often agree
	}
}

// settleStrategy follows rule 2.1.
func (d *policyDoc) settleStrategy(p *DNSPolicy) {
	switch d.strategy {
	case "simple":
		p.Strategy = Simple
	case "weightedGeo", "loadbalanced":
		p.Strategy = WeightedGeo
	default:
		d.invalid.add("spec.routingStrategy " + quote(d.strategy) + ": write simple or weightedGeo")
		fallthrough
	case "":
		if d.balancing != nil {
			p.Strategy = WeightedGeo
		}
	}
}

func (d *policyDoc) settleProvider(p *DNSPolicy) {
	n := 0
	for _, ref := range []*Provider{d.selector, d.ref, d.refs} {
		if ref != nil {
			p.Provider = *ref
			n++
		}
	}
	if n > 1 {
		d.invalid.add("spec.providerRefs, spec.providerRef and spec.providerSelector are mutually exclusive: keep one of them")
	}
	if p.Delegate && d.refs != nil {
		d.invalid.add("delegate=true and providerRefs are mutually exclusive: remove one of them")
	}
}
