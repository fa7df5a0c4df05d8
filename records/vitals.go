package records

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// vital is what tells whether one address works: the word about its Gateway, what
// its own check finds, and what the probes find that have joined it (rule 4.10).
// Each is nil where nothing is said.
type vital struct {
	gateway, check *health.Cell
	joined         *joined
}

// joined are the cells of probes.
type joined struct{ cells []*health.Cell }

// class returns the class that the address is in by itself (rule 4.6). It reads
// each cell once.
func (v vital) class() Class { return v.classIf(false) }

// classIf is class where the member that has the address may be drained.
func (v vital) classIf(drained bool) Class {
	word := v.gateway.Load()
	state, forced := v.stateUnder(word)
	switch {
	case forced:
		return ForcedDown
	case drained || word.Drained():
		return drainedClass[state]
	}
	return weightedClass[state]
}

// state returns the state of the address, and whether it is forced down.
func (v vital) state() (state health.State, forcedDown bool) { return v.stateUnder(v.gateway.Load()) }

// stateUnder is state where word is what is said of the Gateway. The operator's word
// on the address goes first, then that on the Gateway, then the worst of what is
// found (rule 4.5).
func (v vital) stateUnder(word health.Word) (state health.State, forcedDown bool) {
	check := v.check.Load()
	for _, o := range [...]health.Override{check.Override(), word.Override()} {
		switch o {
		case health.ForceUp:
			return health.Up, false
		case health.ForceDown:
			return health.Down, true
		case health.NoOverride, health.Drain:
		}
	}
	worst := max(word.Found(), check.Found())
	if v.joined != nil {
		for _, c := range v.joined.cells {
			worst = max(worst, c.Load().State())
		}
	}
	return worst, false
}

// unchecked tells whether there are checks of the address, and none may go there
// (rule 4.9).
func (v vital) unchecked() bool {
	cells := []*health.Cell{v.check}
	if v.joined != nil {
		cells = append(cells, v.joined.cells...)
	}
	cells = slices.DeleteFunc(cells, func(c *health.Cell) bool { return c == nil })
	return len(cells) > 0 && !slices.ContainsFunc(cells, func(c *health.Cell) bool { return c.Load().Reason() != health.Forbidden })
}

// with returns v with what o says of the same address: of two Gateways the better
// word counts, and of checks all do.
func (v vital) with(o vital) vital {
	if (vital{gateway: o.gateway}).class() < (vital{gateway: v.gateway}).class() {
		v.gateway = o.gateway
	}
	if o.check == nil && o.joined == nil {
		return v
	}
	more := []*health.Cell{o.check}
	if o.joined != nil {
		more = append(more, o.joined.cells...)
	}
	all := new(joined)
	if v.joined != nil {
		all.cells = slices.Clone(v.joined.cells)
	}
	for _, cell := range more {
		switch {
		case cell == nil || cell == v.check || slices.Contains(all.cells, cell):
		case v.check == nil:
			v.check = cell
		case len(all.cells) == maxJoined: // each costs every query
		default:
			all.cells = append(all.cells, cell)
		}
	}
	if len(all.cells) > 0 {
		v.joined = all
	}
	return v
}

// The classes of members by their state.
var (
	weightedClass = [...]Class{WeightedUp, WeightedUnknown, WeightedDown}
	drainedClass  = [...]Class{DrainedUp, DrainedUnknown, DrainedDown}
)

// aggregate returns the state of a member whose addresses are checked, of which the
// first v4 are IPv4: up while at least half of them are, and unknown at best where all of
// one family are down (rule 4.5). It is forced down where all are.
func aggregate(addresses []vital, v4 int) (state health.State, forcedDown bool) {
	var up, unknown, forced int
	alive := [2]bool{v4 == 0, v4 == len(addresses)} // by family; one that there is nothing of has nothing down
	for i, v := range addresses {
		state, force := v.state()
		switch {
		case force:
			forced++
		case state == health.Up:
			up++
		case state == health.Unknown:
			unknown++
		}
		if state != health.Down {
			alive[btoi(i >= v4)] = true
		}
	}
	switch n := len(addresses); {
	case 2*up >= n && alive[0] && alive[1]:
		return health.Up, false
	case 2*(up+unknown) >= n:
		return health.Unknown, false
	default:
		return health.Down, forced == n
	}
}

// words are the cells of Gateways about which something is said that only
// another version of an object takes back, by the operator's word and by whether
// they are down otherwise. Nobody writes to them.
var words = func() (cells [health.ForceDown + 1][2]*health.Cell) {
	for o := health.NoOverride; o <= health.ForceDown; o++ {
		for down := range cells[o] {
			if o == health.NoOverride && down == 0 {
				continue // nothing is said
			}
			c := new(health.Cell)
			if down == 1 {
				c.Set(health.Down)
			}
			c.Override(o)
			cells[o][down] = c
		}
	}
	return cells
}()

// word returns the cell of the claim's Gateway: the operator's word, then
// whether it is programmed (rules 1.4 and 4.5). nil where nothing is said.
func (b *builder) word(c *claim) *health.Cell {
	down := 0
	if c.gateway.Programmed == api.ConditionFalse {
		down = 1
	}
	// Of two annotations the stricter counts; what the operator of this server says
	// goes before both.
	word := max(overrideOf(c.gateway.Annotations), overrideOf(c.policy.Annotations))
	if o, ok := health.ParseOverride(b.overrides.Gateway(c.gateway.Cluster, c.gateway.Name)); ok {
		word = o
	}
	return words[word][down]
}

// annotationOverride is the operator's word about a Gateway, or about all that a
// policy publishes.
const annotationOverride = "kuadrant.io/health-override"

// fallback returns how far answers for the claim's host may be from the client.
func (c *claim) fallback() fallback {
	f, _ := parseFallback(c.policy.Annotations[annotationFallback])
	return f
}

// noteAnnotations reports annotations with values that mean nothing, and checks that
// cannot be used.
func (t *target) noteAnnotations() {
	note := func(p *api.DNSPolicy, of, annotation, value, known string) {
		t.note(p, "", "", reasonAnnotation, "annotation "+annotation+" of "+of+" is "+strconv.Quote(api.Cut(value, maxValue))+" and counts for nothing: write "+known)
	}
	override := func(p *api.DNSPolicy, of string, annotations map[string]string) {
		if value, ok := annotations[annotationOverride]; ok && overrideOf(annotations) == health.NoOverride {
			note(p, of, annotationOverride, value, "up, down or drain")
		}
	}
	for _, p := range t.policies {
		if p.HealthCheck != nil && p.CheckInvalid != "" {
			t.note(p, "", "", reasonCheck, "the health check is not used, and all targets count as up: "+p.CheckInvalid)
		}
		override(p, "Gateway "+t.gateway.Name, t.gateway.Annotations)
		override(p, "the policy", p.Annotations)
		if value := p.Annotations[annotationFallback]; value != "" {
			if _, ok := parseFallback(value); !ok {
				note(p, "the policy", annotationFallback, value, "any, default or none")
			}
		}
	}
}

// maxValue is how many octets of an annotation a message has at the most: one may have 256 KiB.
const maxValue = 64

// overrideOf returns what annotations say.
func overrideOf(annotations map[string]string) health.Override {
	o, _ := health.ParseOverride(annotations[annotationOverride])
	return o
}

// vital returns what tells whether one address or hostname of a claim works, and
// has it checked. word is that on the Gateway.
func (b *builder) vital(c *claim, address string, word *health.Cell) vital {
	v := vital{gateway: word}
	if !b.probed(c) {
		return v
	}
	address = trimDot(address)
	if c.checked() && !b.probesOff {
		v.check = b.watch(b.claimTarget(c, c.policy, address), func() *health.Target { return b.claimTargetBefore(c, address) })
	}
	v.joined = b.join(c, address, v.check)
	if o, ok := health.ParseOverride(b.overrides.Target(address)); ok {
		v.check, v.joined = words[o][0], nil // the checks go on beneath it
	}
	return v
}

// checked reports whether the claim's targets are probed (rule 4.2): a wildcard
// only where the check names a host.
func (c *claim) checked() bool {
	check := c.policy.HealthCheck
	return check != nil && c.policy.CheckInvalid == "" && (check.Host != "" || !strings.HasPrefix(c.host, rdata.Wildcard))
}

// claimTarget returns what is checked of one address of the claim (rule 4.2) under
// a version of its policy, without its cell.
func (b *builder) claimTarget(c *claim, policy *api.DNSPolicy, address string) *health.Target {
	h := policy.HealthCheck
	return b.target(h, &policy.Meta, address, cmp.Or(h.Host, trimDot(c.host)), c.secure(h.Port))
}

// claimTargetBefore returns what the claim's object had checked before its last
// change; nil for nothing.
func (b *builder) claimTargetBefore(c *claim, address string) *health.Target {
	in := b.before(c.by.Cluster)
	if in == nil {
		return nil
	}
	var p *api.DNSPolicy
	if c.kind == api.KindDNSRecord {
		if before, known := in.DNSRecords.Get(c.by.Name); known {
			p = &api.DNSPolicy{Meta: before.Meta, HealthCheck: before.HealthCheck, CheckInvalid: before.CheckInvalid}
		}
	} else {
		p, _ = in.Policies.Get(c.by.Name)
	}
	if p == nil || p == c.policy || p.HealthCheck == nil || p.CheckInvalid != "" {
		return nil
	}
	return b.claimTarget(c, p, address)
}

// checkText says what the claim's object wants to be checked, and how; "" for nothing.
func (c *claim) checkText() string {
	if c.policy == nil || c.policy.HealthCheck == nil || c.policy.CheckInvalid != "" {
		return ""
	}
	h := c.policy.HealthCheck
	terms := termsOf(h, codesText(h))
	text := fmt.Sprintf("%s to port %d", protocols[h.Protocol], h.Port)
	if h.Protocol != api.TCP {
		text += ", path " + h.Path
	}
	if h.Host != "" {
		text += ", host " + trimDot(h.Host)
	}
	if h.AllowInsecureCertificate {
		text += ", any certificate"
	}
	if h.HeadersSecret != "" {
		text += ", headers of Secret " + h.HeadersSecret
	}
	return text + ", " + terms.Text()
}

// target returns what an object, a policy or a probe, has checked at an address,
// without its cell. secure tells whether gRPC speaks TLS there.
func (b *builder) target(h *api.HealthCheck, of *api.Meta, address, host string, secure bool) *health.Target {
	t := &health.Target{
		Check: health.Check{
			Address: address, Protocol: protocols[h.Protocol], Port: h.Port, Path: h.Path, Host: trimDot(host), Insecure: h.AllowInsecureCertificate,
		},
		Terms: termsOf(h, b.codes(h)),
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
	if name := headersOf(h, of); name != "" {
		t.Headers = of.Cluster + "/" + name
		t.Values, t.Missing = b.values(of.Cluster, name)
	}
	return t
}

// securePort is where TLS is spoken unless a listener says otherwise.
const securePort = 443

// secure tells whether the claim's Gateway speaks TLS on a port: as its listeners
// there do, and where it has none there, on 443.
func (c *claim) secure(port uint16) bool {
	plain := false
	for _, l := range c.gateway.Listeners[:min(len(c.gateway.Listeners), maxParts)] {
		switch {
		case l.Port != port:
		case l.Protocol == api.TLS:
			return true
		case l.Protocol == api.Plain:
			plain = true
		}
	}
	return port == securePort && !plain
}

var protocols = [...]health.Protocol{api.HTTP: health.HTTP, api.HTTPS: health.HTTPS, api.TCP: health.TCP, api.GRPC: health.GRPC}

// codes returns the list of expected status codes as text, one piece of memory for
// the targets of one policy.
func (b *builder) codes(h *api.HealthCheck) string {
	if b.expected.of == nil || b.expected.of != h {
		b.expected.of, b.expected.text = h, codesText(h)
	}
	return b.expected.text
}

// termsOf returns how often is checked, and what counts. codes are the expected ones.
func termsOf(h *api.HealthCheck, codes string) health.Terms {
	return health.Terms{Interval: h.Interval, Timeout: h.Timeout, FailureThreshold: h.FailureThreshold, SuccessThreshold: h.SuccessThreshold, Expected: codes}
}

// codesText returns the list of expected status codes as text.
func codesText(h *api.HealthCheck) string {
	all := make([]string, len(h.Expected))
	for i, code := range h.Expected {
		all[i] = strconv.Itoa(code)
	}
	return strings.Join(all, ",")
}
