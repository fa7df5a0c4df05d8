package pool

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// ProbeKey is the key of a probe in the index.
func ProbeKey(p *api.HealthCheckProbe) string {
	return probePrefix(p.Namespace(), p.Address, About(p)) + p.BareName()
}

// probePrefix is the prefix of the keys of a namespace's probes of an address that are about one host, or about all.
func probePrefix(namespace, address, about string) string {
	return namespace + "/" + address + "/" + about + "/"
}

// About returns the host whose checks a probe joins. A controller writes a probe for each host, with that host's check: other hosts at the
// address may be fine without it. A user's probe is about all names that publish the address, which is "" (rule 4.10).
func About(p *api.HealthCheckProbe) string {
	if ByProgram(p) {
		return strings.ReplaceAll(p.Host, "/", "\x00") // an Invalid one may have a slash
	}
	return ""
}

// Meant returns what About returns for the probes that may join a contender's checks. Probes of controllers repeat a check, and have no
// effect if we check ourselves.
func (b *Builder) Meant(c *endpoint.Contender) []string {
	if b.ProbesOff && c.Checked() {
		return []string{hostOf(c, c.Check()), ""}
	}
	return []string{""}
}

// ByProgram reports whether a controller, or this server, wrote the probe: such a probe starts no
// checks (rule 4.10).
func ByProgram(p *api.HealthCheckProbe) bool { return p.Controlled || p.Own() }

// UsableProbe reports whether a probe can have an effect: by its status if others probe, else by
// its spec.
func UsableProbe(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	return p.Address != "" && !p.Deleting && (opt.ProbesOff || p.Fault == "" && p.Invalid == "" && !ByProgram(p))
}

// Probed reports whether anything may determine the health of the contender's targets.
func (b *Builder) Probed(c *endpoint.Contender) bool {
	return c.Checked() || b.Overrides.Targets() || b.Probes(c.By.Cluster).Len() > 0
}

// Joining yields the probes that join the checks of one address or hostname of the contender (rule
// 4.10).
func (b *Builder) Joining(c *endpoint.Contender, address string) iter.Seq[*api.HealthCheckProbe] {
	return func(yield func(*api.HealthCheckProbe) bool) {
		index, n := b.Probes(c.By.Cluster), 0
		for _, about := range b.Meant(c) {
			for _, p := range index.Beginning(probePrefix(c.By.Namespace(), address, about)) {
				if n == MaxJoined || !yield(p) {
					return
				}
				n++
			}
		}
	}
}

// join returns the cells of the probes that join the checks of one address or hostname of the
// contender, without own, which it has already; nil for none.
func (b *Builder) join(c *endpoint.Contender, address string, own *health.Cell) *joined {
	var all *joined
	for p := range b.Joining(c, address) {
		if all == nil {
			all = new(joined)
		}
		cell := b.ProbeCell(p)
		if !b.ProbesOff {
			cell = b.Watch(b.ProbeTarget(p), func() *health.Target { return b.ProbeTargetBefore(p) })
		}
		if cell != nil && cell != own && !slices.Contains(all.cells, cell) {
			all.cells = append(all.cells, cell)
		}
	}
	return all
}

// ProbeCell returns the cell for a probe's status (rule 4.1); nil if it has none, or its target is up.
func (b *Builder) ProbeCell(p *api.HealthCheckProbe) *health.Cell {
	if p.Healthy != api.ConditionFalse || p.ObservedGeneration != 0 && p.ObservedGeneration != p.Generation {
		return nil // not probed yet, or not since an edit: up
	}
	return gatewayCell(health.NoOverride, true)
}

// ProbeTarget returns a probe's check target, without its cell.
func (b *Builder) ProbeTarget(p *api.HealthCheckProbe) *health.Target {
	return b.target(&p.Check, &p.Meta, p.Address, p.Host, p.Check.Port == endpoint.SecurePort)
}

// ProbeTargetBefore returns the target that a probe checked before its last change; nil for none.
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

// Alone reports whether a probe is checked even if no name publishes its address.
func Alone(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	if opt.ProbesOff || ByProgram(p) {
		return false
	}
	addr, err := netip.ParseAddr(p.Address)
	return err == nil && slices.ContainsFunc(opt.ProbeAllow, func(allowed netip.Prefix) bool { return allowed.Contains(addr) })
}

// ProbeUser is the user of a check that a probe starts by itself. No group has such a key.
func ProbeUser(p *api.HealthCheckProbe) string { return "/" + p.Cluster + "/" + p.Name }
