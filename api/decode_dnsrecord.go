package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// DecodeDNSRecord reads a DNSRecord (kuadrant.io/v1alpha1 or v1alpha2) of the given cluster from JSON, like DecodePolicy. It leaves out
// unusable endpoints, and names them in its Fault.
func DecodeDNSRecord(cluster string, json []byte) (*DNSRecord, error) {
	rec := new(DNSRecord)
	var d dnsRecordDoc
	controller, err := decodeObject(&rec.Meta, cluster, json, dnsRecordLabels, func(r *reader, field []byte) {
		switch string(field) {
		case "spec":
			*rec, d = DNSRecord{Meta: rec.Meta, Ready: rec.Ready}, dnsRecordDoc{}
			r.dnsRecordSpec(rec, &d)
		case "status":
			rec.Ready = r.readyCondition()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode DNSRecord: %w", err)
	}
	rec.Invalid, rec.Controller = d.settle(rec), controller
	if !rec.Own() || rec.Provider.ServedHere() {
		rec.Ready = nil
	}
	return rec, nil
}

func dnsRecordLabels(key []byte) bool {
	return string(key) == LabelZoneName || string(key) == LabelManagedBy
}

// dnsRecordDoc is the part of a DNSRecord's text that does not go into the DNSRecord directly.
type dnsRecordDoc struct {
	invalid  notes // about the reference
	rootHost string
	ref      *Provider  // nil if absent
	health   *healthDoc // nil if absent
}

func (r *reader) dnsRecordSpec(rec *DNSRecord, d *dnsRecordDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "rootHost":
			d.rootHost, _ = r.text()
		case "endpoints":
			rec.Endpoints = r.endpoints()
		case "providerRef":
			d.ref, d.invalid = nil, notes{}
			if r.next() != 'n' {
				d.ref = r.providerRef(&d.invalid)
			}
		case "zoneID":
			rec.ZoneID, _ = r.word()
		case "healthCheck":
			d.health = r.healthCheck()
		}
	}
}

// settle completes the record from its text, and returns what is not acceptable in it.
func (d *dnsRecordDoc) settle(rec *DNSRecord) string {
	var invalid notes
	if rec.RootHost = settleName("spec.rootHost", d.rootHost, &invalid); d.rootHost == "" {
		rec.RootHost = rootOf(rec.Endpoints)
	}
	if rec.RootHost == "" && invalid.n == 0 {
		invalid.add("spec.rootHost is missing: write the name that all endpoints lie at or below")
	}
	if d.invalid.text != "" {
		invalid.add(d.invalid.text)
	}
	if d.ref != nil {
		rec.Provider = *d.ref
	}
	rec.HealthCheck, rec.CheckInvalid = d.health.settled(false)
	return invalid.text
}

// rootOf returns the name of the endpoint that all others lie at or below; "" for none. It is the
// root if the record names none: v1alpha2 has no field for it.
func rootOf(all []Endpoint) string {
	if len(all) == 0 {
		return ""
	}
	below := func(name string) string { return strings.TrimPrefix(name, "*.") }
	root := slices.MinFunc(all, func(a, b Endpoint) int {
		return cmp.Or(len(below(a.DNSName))-len(below(b.DNSName)), len(a.DNSName)-len(b.DNSName))
	}).DNSName
	if slices.ContainsFunc(all, func(e Endpoint) bool { return !dns.IsSubDomain(below(root), e.DNSName) }) {
		return ""
	}
	return root
}

// maxForeignMessage bounds the octets kept of another controller's message.
const maxForeignMessage = 1024

// readyCondition reads a status, and returns its condition Ready; nil for none. An unreadable
// status is not the fault of the record's owner.
func (r *reader) readyCondition() (ready *Condition) {
	faults := r.faults
	defer func() { r.faults = faults }()
	for field := range r.fields() {
		if string(field) == "conditions" {
			if ready = r.condition(conditionReady); ready != nil {
				ready.Message = Cut(ready.Message, maxForeignMessage)
			}
		}
	}
	return ready
}
