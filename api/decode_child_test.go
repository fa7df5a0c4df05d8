package api_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const childMeta = `"metadata": {"name": "r", "namespace": "n", "labels": {"app.kubernetes.io/managed-by": "kuadrant-coredns", "more": "x"},
	"ownerReferences": [{"kind": "Other", "name": "o", "uid": "u0"}, {"kind": "DNSPolicy", "name": "p", "uid": "u1", "controller": true}]}`

// TestDecodeChild: of DNSRecords and probes it is kept who controls them, and of DNSRecords for other controllers what
// these say.
func TestDecodeChild(t *testing.T) {
	want := api.Controller{Kind: "DNSPolicy", Name: "p", UID: "u1"}
	p, err := api.DecodeProbe("c", []byte(`{`+childMeta+`, "spec": {"address": "192.0.2.1"}}`))
	if err != nil || !p.Own() || !p.Controlled || p.Controller == nil || *p.Controller != want || len(p.Labels) != 1 {
		t.Errorf("the probe is %+v: %v", p, err)
	}
	for _, c := range []struct {
		meta, ref, status string
		ready             *api.Condition
	}{
		{
			childMeta, `{"kind": "ExternalDNS", "name": "x"}`,
			`{"conditions": [{"type": "Healthy", "status": "True"}, {"type": "Ready", "status": "False", "reason": "R", "message": "m"}]}`,
			&api.Condition{Type: "Ready", Status: api.ConditionFalse, Reason: "R", Message: "m"},
		},
		{childMeta, `{"kind": "ExternalDNS", "name": "x"}`, `{"conditions": []}`, nil},
		{childMeta, `{"kind": "ExternalDNS", "name": "x"}`, `{"conditions": [{"type": 7}], "more": 1}`, nil},
		{childMeta, `{"name": "x"}`, `{"conditions": [{"type": "Ready", "status": "True"}]}`, nil},
		{
			`"metadata": {"name": "r", "namespace": "n"}`, `{"kind": "ExternalDNS", "name": "x"}`,
			`{"conditions": [{"type": "Ready", "status": "True"}]}`, nil,
		},
	} {
		for _, text := range []string{
			`{` + c.meta + `, "spec": {"rootHost": "a.example.com", "providerRef": ` + c.ref + `}, "status": ` + c.status + `}`,
			`{"status": ` + c.status + `, "spec": {"rootHost": "a.example.com", "providerRef": ` + c.ref + `}, ` + c.meta + `}`,
		} {
			r, err := api.DecodeDNSRecord("c", []byte(text))
			if err != nil || r.Fault != "" || (r.Ready == nil) != (c.ready == nil) || r.Ready != nil && *r.Ready != *c.ready {
				t.Errorf("%s\nis %+v, Ready %+v: %v", text, r, r.Ready, err)
				continue
			}
			if own := c.meta == childMeta; own != (r.Controller != nil) || own && *r.Controller != want {
				t.Errorf("%s\nis controlled by %+v", text, r.Controller)
			}
		}
	}
}
