package records

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// vital is what tells whether one address works: the word about its Gateway, and
// what its own check finds. Either is nil where nothing is said.
type vital struct{ gateway, check *health.Cell }

// class returns the class that the address is in by itself (rule 4.6). It reads
// each cell once.
func (v vital) class() Class {
	word, found := v.gateway.Load(), v.check.Load()
	switch {
	case word.ForcedDown() || found.ForcedDown():
		return ForcedDown
	case word.Override() == health.ForceUp:
		return WeightedUp
	}
	state := max(word.State(), found.State())
	if word.Drained() {
		return drainedClass[state]
	}
	return weightedClass[state]
}

// The classes of members by their state.
var (
	weightedClass = [...]Class{WeightedUp, WeightedUnknown, WeightedDown}
	drainedClass  = [...]Class{DrainedUp, DrainedUnknown, DrainedDown}
)

// aggregate returns the state of a member whose addresses are checked: up while
// at least half of them are (rule 4.5).
func aggregate(addresses []vital) health.State {
	var up, unknown int
	for _, v := range addresses {
		switch v.check.Load().State() {
		case health.Up:
			up++
		case health.Unknown:
			unknown++
		case health.Down:
		}
	}
	switch n := len(addresses); {
	case 2*up >= n:
		return health.Up
	case 2*(up+unknown) >= n:
		return health.Unknown
	}
	return health.Down
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
func (c *claim) word() *health.Cell {
	down := 0
	if c.gateway.Programmed == api.ConditionFalse {
		down = 1
	}
	// Of two words the stricter counts.
	return words[max(overrideOf(c.gateway.Annotations), overrideOf(c.policy.Annotations))][down]
}

// annotationOverride is the operator's word about a Gateway, or about all that a
// policy publishes.
const annotationOverride = "kuadrant.io/health-override"

// fallback returns how far answers for the claim's host may be from the client.
func (c *claim) fallback() fallback {
	f, _ := parseFallback(c.policy.Annotations[annotationFallback])
	return f
}

// noteAnnotations reports annotations with values that mean nothing.
func (t *target) noteAnnotations() {
	note := func(p *api.DNSPolicy, of, annotation, value, known string) {
		t.note(p, "", "", reasonAnnotation, "annotation "+annotation+" of "+of+" is "+strconv.Quote(shorten(value))+" and counts for nothing: write "+known)
	}
	override := func(p *api.DNSPolicy, of string, annotations map[string]string) {
		if value, ok := annotations[annotationOverride]; ok && overrideOf(annotations) == health.NoOverride {
			note(p, of, annotationOverride, value, "up, down or drain")
		}
	}
	for _, p := range t.policies {
		override(p, "Gateway "+t.gateway.Name, t.gateway.Annotations)
		override(p, "the policy", p.Annotations)
		if value := p.Annotations[annotationFallback]; value != "" {
			if _, ok := parseFallback(value); !ok {
				note(p, "the policy", annotationFallback, value, "any, default or none")
			}
		}
	}
}

// shorten cuts a value for a message: an annotation may have 256 KiB.
func shorten(value string) string {
	const most = 64
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}

// overrideOf returns what annotations say.
func overrideOf(annotations map[string]string) health.Override {
	o, _ := health.ParseOverride(annotations[annotationOverride])
	return o
}

// addressList gathers the addresses of a name, each once.
type addressList struct {
	addrs  []netip.Addr
	vitals []vital
	said   bool // one of vitals says something
}

// add adds those of more that l lacks. What is said of an address of two Gateways
// is the better.
func (l *addressList) add(b *builder, c *claim, word *health.Cell, more []netip.Addr) {
	for _, a := range more {
		i := slices.Index(l.addrs, a)
		if i < 0 {
			v := vital{word, b.check(c, a.String())}
			l.addrs, l.vitals, l.said = append(l.addrs, a), append(l.vitals, v), l.said || v != vital{}
		} else if (vital{gateway: word}).class() < (vital{gateway: l.vitals[i].gateway}).class() {
			l.vitals[i].gateway = word
		}
	}
}

// checks returns what tells whether the addresses of a leaf work, IPv4 first; nil
// where none is checked.
func (b *builder) checks(c *claim, l *leaf) []vital {
	if !c.checked() {
		return nil
	}
	all := make([]vital, 0, len(l.v4)+len(l.v6))
	for _, addrs := range [...][]netip.Addr{l.v4, l.v6} {
		for _, a := range addrs {
			all = append(all, vital{check: b.check(c, a.String())})
		}
	}
	return all
}

// check returns the cell of one address or hostname of a claim, nil where it is
// not checked.
func (b *builder) check(c *claim, address string) *health.Cell {
	if !c.checked() {
		return nil
	}
	return b.watch(c.target(trimDot(address)))
}

// target returns what is checked of one address of the claim (rule 4.2), without
// its cell.
func (c *claim) target(address string) *health.Target {
	h := c.policy.HealthCheck
	t := &health.Target{
		Check: health.Check{
			Address: address, Protocol: protocols[h.Protocol], Port: h.Port, Path: h.Path, Host: trimDot(h.Host), Insecure: h.AllowInsecureCertificate,
		},
		Terms: health.Terms{
			Interval: h.Interval, Timeout: h.Timeout, FailureThreshold: h.FailureThreshold, SuccessThreshold: h.SuccessThreshold,
			Expected: codes(h.Expected),
		},
	}
	if t.Host == "" {
		t.Host = trimDot(c.host)
	}
	switch t.Protocol {
	case health.GRPC:
		if c.secure(t.Port) {
			t.Protocol = health.GRPCS
		}
	case health.TCP:
		t.Path = ""
	case health.HTTP, health.HTTPS, health.GRPCS:
	}
	if h.HeadersSecret != "" {
		t.Headers, t.Missing = c.policy.Cluster+"/"+c.policy.Namespace()+"/"+h.HeadersSecret, true
	}
	return t
}

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
	return port == 443 && !plain
}

var protocols = [...]health.Protocol{api.HTTP: health.HTTP, api.HTTPS: health.HTTPS, api.TCP: health.TCP, api.GRPC: health.GRPC}

// codes returns the list of expected status codes as text.
func codes(expected []int) string {
	all := make([]string, len(expected))
	for i, code := range expected {
		all[i] = strconv.Itoa(code)
	}
	return strings.Join(all, ",")
}
