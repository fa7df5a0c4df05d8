package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/near"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// OverrideOf returns the cell of what overrides checks on the contender's Gateway: an override, else that it is not programmed (rules 1.4 and
// 4.5); nil for neither.
func (b *Builder) OverrideOf(c *endpoint.Contender) *health.Cell {
	// The stricter of two annotations counts; the overrides of this server come before both.
	override, gateway, down := overrideOf(c.By.Annotations), "", false
	if g := c.Gateway; g != nil {
		override, gateway, down = max(override, overrideOf(g.Annotations)), g.Name, g.Programmed == api.ConditionFalse
	}
	if o, ok := health.ParseOverride(b.Overrides.Gateway(c.By.Cluster, gateway)); ok {
		override = o
	}
	return gatewayCell(override, down)
}

// annotationOverride overrides the health of a Gateway, or of everything that a policy publishes.
const annotationOverride = "kuadrant.io/health-override"

// NoteAnnotations adds notes on annotations with unknown values, and checks that cannot be used.
func NoteAnnotations(t *endpoint.Target) {
	if t.Gateway == nil {
		return
	}
	note := func(p *api.DNSPolicy, of, annotation, value, known string) {
		t.Note(p, "", "", endpoint.ReasonAnnotation,
			"annotation "+annotation+" of "+of+" is "+strconv.Quote(api.Cut(value, maxValue))+" and has no effect: write "+known)
	}
	override := func(p *api.DNSPolicy, of string, annotations map[string]string) {
		if value, ok := annotations[annotationOverride]; ok && overrideOf(annotations) == health.NoOverride {
			note(p, of, annotationOverride, value, "up, down or drain")
		}
	}
	for _, p := range t.Policies {
		if p.HealthCheck != nil && p.CheckInvalid != "" {
			t.Note(p, "", "", endpoint.ReasonCheck, "the health check is invalid, so all targets count as up: "+p.CheckInvalid)
		}
		override(p, "Gateway "+t.Gateway.Name, t.Gateway.Annotations)
		for x := range api.NumTexts {
			if _, ok := t.Gateway.Annotations[x.Annotation()]; ok {
				t.Note(p, "", "", endpoint.ReasonAnnotation, "annotation "+x.Annotation()+" of Gateway "+t.Gateway.Name+" is not read: write it on the policy")
			}
		}
		override(p, "the policy", p.Annotations)
		api.AttributesOf(p.Annotations, func(annotation, value, known string) { note(p, "the policy", annotation, value, known) })
		noteNear(t, p, "the policy", p.Annotations)
		noteNear(t, p, "Gateway "+t.Gateway.Name, t.Gateway.Annotations)
	}
}

// noteNear adds notes on annotations whose names are nearly those of others that are read.
func noteNear(t *endpoint.Target, p *api.DNSPolicy, of string, annotations map[string]string) {
	for _, annotation := range slices.Sorted(maps.Keys(annotations)) {
		for meant := range annotationsRead {
			if near.Edits(annotation, meant, 1) == 1 {
				t.Note(p, "", "", endpoint.ReasonAnnotation, "annotation "+api.Cut(annotation, maxValue)+" of "+of+" is not read: write "+meant)
			}
		}
	}
}

// annotationsRead yields the annotations of policies that are read.
func annotationsRead(yield func(string) bool) {
	if !yield(annotationOverride) {
		return
	}
	for x := range api.NumTexts {
		if !yield(x.Annotation()) {
			return
		}
	}
}

// maxValue bounds an annotation's octets in a message: it may have 256 KiB.
const maxValue = 64

// overrideOf returns the override in annotations.
func overrideOf(annotations map[string]string) health.Override {
	o, _ := health.ParseOverride(annotations[annotationOverride])
	return o
}

// Cells returns the health cells of one address or hostname of a contender, and has it checked. gateway is the Gateway's cell.
func (b *Builder) Cells(c *endpoint.Contender, address string, gateway *health.Cell) Cells {
	cells := Cells{Gateway: gateway}
	if !b.Probed(c) {
		return cells
	}
	address = endpoint.TrimDot(address)
	if c.Checked() && !b.ProbesOff && c.Targets.Probed == nil {
		cells.Check = b.Watch(b.TargetOf(c, address), func() *health.Target { return b.targetBefore(c, address) })
	}
	cells.joined = b.join(c, address, cells.Check)
	if c.Targets.Probed != nil {
		cells.joined = b.behind(c, cells.joined)
	}
	if o, ok := health.ParseOverride(b.Overrides.Target(address)); ok {
		cells.Check, cells.joined = gatewayCell(o, false), nil // checks continue beneath the override
	}
	return cells
}

// behind returns the joined cells, nil for none, with those of what is checked in place of the contender's addresses (rule 9.6).
func (b *Builder) behind(c *endpoint.Contender, all *joined) *joined {
	own, to, none := *c, new(joined), true
	if all != nil {
		*to = *all
	}
	own.Targets = c.Targets.Probed
	for address := range own.Targets.All() {
		cells := b.Cells(&own, address, nil)
		none = none && cells == (Cells{})
		if strings.Contains(address, ":") {
			to.behind = append(to.behind, cells)
		} else {
			to.behind = slices.Insert(to.behind, to.v4, cells)
			to.v4++
		}
	}
	if none && !c.Checked() {
		return all // nothing there is checked
	}
	return to
}

// sourceOf returns the contender's object as the source of members.
func sourceOf(c *endpoint.Contender) Source {
	return Source{Object: c.By, Kind: c.Kind, Check: c.Check(), Gateway: c.Gateway}
}

// TargetOf returns the check target for one address of the contender, which has a check (rule 4.2), without its cell.
func (b *Builder) TargetOf(c *endpoint.Contender, address string) *health.Target {
	return b.targetUnder(c, c.By, c.Check(), address)
}

// targetUnder is TargetOf for a version of the contender's object and its check.
func (b *Builder) targetUnder(c *endpoint.Contender, m *api.Meta, h *api.HealthCheck, address string) *health.Target {
	return b.target(h, m, address, hostOf(c, h), c.Secure(h.Port))
}

// hostOf returns the host that a contender's check sends.
func hostOf(c *endpoint.Contender, h *api.HealthCheck) string {
	return cmp.Or(h.Host, endpoint.TrimDot(c.Host))
}

// targetBefore returns the target that the contender's object checked before its last change; nil for none.
func (b *Builder) targetBefore(c *endpoint.Contender, address string) *health.Target {
	in := b.Before(c.By.Cluster)
	if in == nil {
		return nil
	}
	var m *api.Meta
	var h *api.HealthCheck
	if c.Kind == api.KindDNSRecord {
		if r, known := in.DNSRecords.Get(c.By.Name); known {
			m, h = &r.Meta, endpoint.UsableCheck(r.HealthCheck, r.CheckInvalid)
		}
	} else if p, known := in.Policies.Get(c.By.Name); known {
		m, h = &p.Meta, endpoint.UsableCheck(p.HealthCheck, p.CheckInvalid)
	}
	if m == c.By || h == nil {
		return nil
	}
	return b.targetUnder(c, m, h, address)
}

// CheckText describes a health check; "" for none.
func CheckText(h *api.HealthCheck) string {
	if h == nil {
		return ""
	}
	terms := termsOf(h, codesText(h))
	text := fmt.Sprintf("%s to port %d", protocols[h.Protocol], h.Port)
	if h.Protocol != api.TCP {
		text += ", path " + h.Path
	}
	if h.Host != "" {
		text += ", host " + endpoint.TrimDot(h.Host)
	}
	if h.AllowInsecureCertificate {
		text += ", any certificate"
	}
	if h.HeadersSecret != "" {
		text += ", headers of Secret " + h.HeadersSecret
	}
	return text + ", " + terms.Text()
}

// target returns the check target of an object, a policy or a probe, at an address, without its cell. secure reports whether gRPC speaks
// TLS there.
func (b *Builder) target(h *api.HealthCheck, of *api.Meta, address, host string, secure bool) *health.Target {
	t := &health.Target{
		Check: health.Check{
			Address: address, Protocol: protocols[h.Protocol], Port: h.Port, Path: h.Path, Host: endpoint.TrimDot(host), Insecure: h.AllowInsecureCertificate,
		},
		Terms:  termsOf(h, b.codes(h)),
		Tenant: strings.TrimPrefix(of.Realm()+"/"+of.Namespace(), "/"),
	}
	switch t.Protocol {
	case health.GRPC:
		if secure {
			t.Protocol = health.GRPCS
		}
	case health.TCP:
		t.Path = ""
	case health.HTTP, health.HTTPS, health.GRPCS:
	}
	if name := HeadersOf(h, of); name != "" {
		t.Headers = of.Cluster + "/" + name
		t.Values, t.Missing = b.values(of.Cluster, name)
	}
	return t
}

var protocols = [...]health.Protocol{api.HTTP: health.HTTP, api.HTTPS: health.HTTPS, api.TCP: health.TCP, api.GRPC: health.GRPC}

// codes returns the expected status codes as text, shared by the targets of one policy.
func (b *Builder) codes(h *api.HealthCheck) string {
	if b.expected.of == nil || b.expected.of != h {
		b.expected.of, b.expected.text = h, codesText(h)
	}
	return b.expected.text
}

// termsOf returns a check's interval and thresholds. codes are the expected status codes.
func termsOf(h *api.HealthCheck, codes string) health.Terms {
	return health.Terms{Interval: h.Interval, Timeout: h.Timeout, FailureThreshold: h.FailureThreshold, SuccessThreshold: h.SuccessThreshold, Expected: codes}
}

// codesText returns the expected status codes as text.
func codesText(h *api.HealthCheck) string {
	all := make([]string, len(h.Expected))
	for i, code := range h.Expected {
		all[i] = strconv.Itoa(code)
	}
	return strings.Join(all, ",")
}
