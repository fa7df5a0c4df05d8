package pool

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ProbeIndex is a cluster's probes that can be used, by namespace, address, what
// they are about, and name. A contender finds those that are meant for it without a look
// at the others, of which there may be thousands at one address.
type ProbeIndex = tree.Map[*api.HealthCheckProbe]

// ProbeKey is the key of a probe in the index. None of its parts holds a slash.
func (b *Builder) ProbeKey(p *api.HealthCheckProbe) string {
	return probePrefix(p.Namespace(), p.Address) + b.About(p) + p.BareName()
}

// probePrefix is how the keys of a namespace's probes of an address begin.
func probePrefix(namespace, address string) string { return namespace + "/" + address + "/" }

// Who has made a probe, in its key.
const (
	byController = "c/"
	byHand       = "h/"
)

// About is the part of a probe's key that says what it is about: who has made it, and
// the host. One that names no host, or none in a served zone, is about all that its
// address is published for.
func (b *Builder) About(p *api.HealthCheckProbe) string {
	by, host := byHand, ""
	if ByProgram(p) {
		by = byController
	}
	if b.Zone(p.Host+".") != nil {
		host = upward(p.Host)
	}
	return by + host + "/"
}

// Meant returns, for the probes that are meant for a contender, how the parts of their keys
// begin that About returns: those about its host, those below it where it is
// a wildcard, those about the host that its check names, and those about all. A probe
// that names another host is about that one alone: others at the address may do well
// without it. What a controller writes repeats the check of a policy, and says nothing
// where we check ourselves.
func (b *Builder) Meant(c *endpoint.Contender) []string {
	host := endpoint.TrimDot(c.Host)
	own := upward(host) + "/"
	if below, wild := strings.CutPrefix(host, rdata.Wildcard); wild {
		own = upward(below) + "."
	}
	hosts := append(make([]string, 0, 3), own)
	if h := c.Policy.HealthCheck; h != nil && h.Host != "" {
		if asked := upward(h.Host) + "/"; !strings.HasPrefix(asked, own) {
			hosts = append(hosts, asked)
		}
	}
	hosts = append(hosts, "/")
	var all []string
	if b.ProbesOff && c.Checked() {
		for _, h := range hosts {
			all = append(all, byController+h)
		}
	}
	for _, h := range hosts {
		all = append(all, byHand+h)
	}
	return all
}

// upward returns a host with its labels from the last one on: those below another
// begin alike. It has no slash, though the host of a probe that is Invalid may.
func upward(host string) string {
	labels := strings.Split(strings.ReplaceAll(host, "/", "\x00"), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// ByProgram reports whether a controller has written a probe, or this server: it starts no checks
// (rule 4.10).
func ByProgram(p *api.HealthCheckProbe) bool { return p.Controlled || p.Own() }

// UsableProbe reports whether a probe can say anything: where others probe, by what its
// status is, else by what it says to probe.
func UsableProbe(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	return p.Address != "" && !p.Deleting && (opt.ProbesOff || p.Fault == "" && p.Invalid == "" && !ByProgram(p))
}

// Probed reports whether anything may say how the contender's targets are.
func (b *Builder) Probed(c *endpoint.Contender) bool {
	return c.Checked() || b.Overrides.Targets() || b.Probes(c.Policy.Cluster).Len() > 0
}

// Joining yields the probes that join the checks of one address or hostname of the
// contender (rule 4.10).
func (b *Builder) Joining(c *endpoint.Contender, address string) iter.Seq[*api.HealthCheckProbe] {
	return func(yield func(*api.HealthCheckProbe) bool) {
		index, n := b.Probes(c.Policy.Cluster), 0
		at := probePrefix(c.Policy.Namespace(), address)
		if !begins(index, at) {
			return // by far the most
		}
		for _, about := range b.Meant(c) {
			for _, p := range index.Beginning(at + about) {
				if n == MaxJoined || !yield(p) {
					return
				}
				n++
			}
		}
	}
}

// begins reports whether a key in the index begins so.
func begins(index ProbeIndex, prefix string) bool {
	for range index.Beginning(prefix) {
		return true
	}
	return false
}

// join returns the cells of the probes that join the checks of one address or
// hostname of the contender, less own, which it has anyway; nil where none does.
func (b *Builder) join(c *endpoint.Contender, address string, own *health.Cell) *joined {
	var all *joined
	for p := range b.Joining(c, address) {
		if all == nil {
			all = new(joined)
		}
		cell := b.Said(p)
		if !b.ProbesOff {
			cell = b.Watch(b.ProbeTarget(p), func() *health.Target { return b.ProbeTargetBefore(p) })
		}
		if cell != nil && cell != own && !slices.Contains(all.cells, cell) {
			all.cells = append(all.cells, cell)
		}
	}
	return all
}

// Said returns the cell of what a probe's status says (rule 4.1); nil where that is
// nothing, or that its target is up.
func (b *Builder) Said(p *api.HealthCheckProbe) *health.Cell {
	if p.Healthy != api.ConditionFalse || p.ObservedGeneration != 0 && p.ObservedGeneration != p.Generation {
		return nil // not probed yet, or as it was before an edit: up
	}
	return wordOf(health.NoOverride, true)
}

// ProbeTarget returns what a probe has checked, without its cell.
func (b *Builder) ProbeTarget(p *api.HealthCheckProbe) *health.Target {
	return b.target(&p.Check, &p.Meta, p.Address, p.Host, p.Check.Port == endpoint.SecurePort)
}

// ProbeTargetBefore returns what a probe had checked before its last change; nil for
// nothing.
func (b *Builder) ProbeTargetBefore(p *api.HealthCheckProbe) *health.Target {
	in := b.Before(p.Cluster)
	if in == nil {
		return nil
	}
	old, ok := in.Probes.Get(p.Name)
	if !ok || old == p || old.Fault != "" || old.Invalid != "" {
		return nil
	}
	return b.ProbeTarget(old)
}

// Alone reports whether a probe is checked even where no name publishes its address.
func Alone(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	if opt.ProbesOff || ByProgram(p) {
		return false
	}
	addr, err := netip.ParseAddr(p.Address)
	return err == nil && slices.ContainsFunc(opt.ProbeAllow, func(allowed netip.Prefix) bool { return allowed.Contains(addr) })
}

// ProbeUser is the user of a check that a probe has begun by itself. No group has
// such a key.
func ProbeUser(p *api.HealthCheckProbe) string { return "/" + p.Cluster + "/" + p.Name }

// Beginnings yields those texts that Meant may return which find a probe; about is what
// About returns of it.
func Beginnings(about string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range about {
			if about[i] == '.' && !yield(about[:i+1]) {
				return
			}
		}
		yield(about)
	}
}
