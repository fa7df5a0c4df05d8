package api

import "fmt"

// DecodeProbe reads a DNSHealthCheckProbe (kuadrant.io/v1alpha1) of the given cluster from JSON, like DecodePolicy.
func DecodeProbe(cluster string, json []byte) (*HealthCheckProbe, error) {
	p := new(HealthCheckProbe)
	d := probeDoc{check: healthDoc{at: "spec"}}
	controller, err := decodeObject(&p.Meta, cluster, json, probeLabels, func(r *reader, field []byte) {
		switch string(field) {
		case "spec":
			d = probeDoc{check: healthDoc{at: "spec"}}
			r.probeSpec(&d)
		case "status":
			p.Healthy, p.ObservedGeneration = ConditionUnknown, 0
			r.probeStatus(p)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode DNSHealthCheckProbe: %w", err)
	}
	p.Invalid, p.Controller = d.settle(p), controller
	return p, nil
}

func probeLabels(key []byte) bool { return string(key) == LabelManagedBy }

// probeDoc is a probe's spec as written; a nil field is not set.
type probeDoc struct {
	address, host, hostname *string
	check                   healthDoc
}

func (r *reader) probeSpec(d *probeDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "address":
			d.address = r.optionalText()
		case "host":
			d.host = r.optionalText()
		case "hostname":
			d.hostname = r.optionalText()
		default:
			r.check(&d.check, field)
		}
	}
}

func (r *reader) probeStatus(p *HealthCheckProbe) {
	for field := range r.fields() {
		switch string(field) {
		case "healthy":
			p.Healthy = ConditionUnknown
			switch healthy, ok := r.boolean(); {
			case ok && healthy:
				p.Healthy = ConditionTrue
			case ok:
				p.Healthy = ConditionFalse
			}
		case "observedGeneration":
			p.ObservedGeneration, _ = r.integer()
		}
	}
}

// settle completes the probe from its text, and returns what is not acceptable in it.
func (d *probeDoc) settle(p *HealthCheckProbe) string {
	var invalid notes
	const want = "write an IP address such as 192.0.2.1, or a name such as lb.example.com"
	if d.address == nil {
		invalid.add("spec.address is missing: " + want)
	} else if p.Address = targetName(*d.address); p.Address == "" {
		invalid.add("spec.address " + notHost(*d.address, ": "+want+", without a port or wildcard"))
	}
	if d.host != nil && d.hostname != nil && *d.host != *d.hostname {
		invalid.add("spec.host and spec.hostname mean the same but differ: remove one")
	}
	switch {
	case d.host != nil:
		d.check.host = *d.host
	case d.hostname != nil:
		d.check.host, d.check.hostField = *d.hostname, "hostname"
	}
	p.Check = *d.check.settle(false, &invalid)
	p.Host = p.Check.Host
	return invalid.text
}
