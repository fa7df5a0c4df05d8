package records

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// probeIndex is a cluster's probes that can be used, by namespace, address, what
// they are about, and name. A claim finds those that are meant for it without a look
// at the others, of which there may be thousands at one address.
type probeIndex = tree.Map[*api.HealthCheckProbe]

// probeKey is the key of a probe in the index. None of its parts holds a slash.
func (b *builder) probeKey(p *api.HealthCheckProbe) string {
	return probePrefix(p.Namespace(), p.Address) + b.about(p) + p.BareName()
}

// probePrefix is how the keys of a namespace's probes of an address begin.
func probePrefix(namespace, address string) string { return namespace + "/" + address + "/" }

// Who has made a probe, in its key.
const (
	byController = "c/"
	byHand       = "h/"
)

// about is the part of a probe's key that says what it is about: who has made it, and
// the host. One that names no host, or none in a served zone, is about all that its
// address is published for.
func (b *builder) about(p *api.HealthCheckProbe) string {
	by, host := byHand, ""
	if byProgram(p) {
		by = byController
	}
	if b.zone(p.Host+".") != nil {
		host = upward(p.Host)
	}
	return by + host + "/"
}

// meant returns how the parts of keys begin that say what a probe is about, of the
// probes that are meant for a claim: those about its host, those below it where it is
// a wildcard, those about the host that its check names, and those about all. A probe
// that names another host is about that one alone: others at the address may do well
// without it. What a controller writes repeats the check of a policy, and says nothing
// where we check ourselves.
func (b *builder) meant(c *endpoint.Claim) []string {
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
	if b.probesOff && c.Checked() {
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

// byProgram tells whether a controller has written a probe, or this server: it starts no checks
// (rule 4.10).
func byProgram(p *api.HealthCheckProbe) bool { return p.Controlled || p.Own() }

// usableProbe tells whether a probe can say anything: where others probe, by what its
// status is, else by what it says to probe.
func usableProbe(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	return p.Address != "" && !p.Deleting && (opt.ProbesOff || p.Fault == "" && p.Invalid == "" && !byProgram(p))
}

// probed tells whether anything may say how the claim's targets are.
func (b *builder) probed(c *endpoint.Claim) bool {
	return c.Checked() || b.overrides.Targets() || b.probes(c.Policy.Cluster).Len() > 0
}

// joining yields the probes that join the checks of one address or hostname of the
// claim (rule 4.10).
func (b *builder) joining(c *endpoint.Claim, address string) iter.Seq[*api.HealthCheckProbe] {
	return func(yield func(*api.HealthCheckProbe) bool) {
		index, n := b.probes(c.Policy.Cluster), 0
		at := probePrefix(c.Policy.Namespace(), address)
		if !begins(index, at) {
			return // by far the most
		}
		for _, about := range b.meant(c) {
			for _, p := range index.Beginning(at + about) {
				if n == pool.MaxJoined || !yield(p) {
					return
				}
				n++
			}
		}
	}
}

// begins tells whether a key in the index begins so.
func begins(index probeIndex, prefix string) bool {
	for range index.Beginning(prefix) {
		return true
	}
	return false
}

// join returns the cells of the probes that join the checks of one address or
// hostname of the claim, less own, which it has anyway; nil where none does.
func (b *builder) join(c *endpoint.Claim, address string, own *health.Cell) *pool.Joined {
	var all *pool.Joined
	for p := range b.joining(c, address) {
		if all == nil {
			all = new(pool.Joined)
		}
		cell := b.said(p)
		if !b.probesOff {
			cell = b.watch(b.probeTarget(p), func() *health.Target { return b.probeTargetBefore(p) })
		}
		if cell != nil && cell != own && !slices.Contains(all.Cells, cell) {
			all.Cells = append(all.Cells, cell)
		}
	}
	return all
}

// said returns the cell of what a probe's status says (rule 4.1); nil where that is
// nothing, or that its target is up.
func (b *builder) said(p *api.HealthCheckProbe) *health.Cell {
	if p.Healthy != api.ConditionFalse || p.ObservedGeneration != 0 && p.ObservedGeneration != p.Generation {
		return nil // not probed yet, or as it was before an edit: up
	}
	return pool.Word(health.NoOverride, true)
}

// probeTarget returns what a probe has checked, without its cell.
func (b *builder) probeTarget(p *api.HealthCheckProbe) *health.Target {
	return b.target(&p.Check, &p.Meta, p.Address, p.Host, p.Check.Port == endpoint.SecurePort)
}

// probeTargetBefore returns what a probe had checked before its last change; nil for
// nothing.
func (b *builder) probeTargetBefore(p *api.HealthCheckProbe) *health.Target {
	in := b.before(p.Cluster)
	if in == nil {
		return nil
	}
	old, ok := in.Probes.Get(p.Name)
	if !ok || old == p || old.Fault != "" || old.Invalid != "" {
		return nil
	}
	return b.probeTarget(old)
}

// probes renews the index of probes, and notes what those say of that changed.
func (c *compiler) probes() {
	for i, e := range c.clusters {
		index := e.state.probes.Edit()
		if c.prev == nil {
			for _, p := range e.in.Probes.All() {
				if usableProbe(p, c.next.opt) {
					index.Set(c.builder.probeKey(p), p)
					c.beginAlone(p)
				}
			}
			e.state.probes = index.Map()
			continue
		}
		before := c.prev.in.Clusters[i]
		for _, ref := range e.in.Changed {
			if ref.Kind == api.KindProbe {
				old, _ := before.Probes.Get(ref.Name)
				p, _ := e.in.Probes.Get(ref.Name)
				c.renewProbe(e, index, old, p)
			}
		}
		for _, namespace := range e.again {
			for _, p := range e.in.Probes.Beginning(namespace + "/") {
				if headersOf(&p.Check, &p.Meta) != "" && usableProbe(p, c.next.opt) {
					c.endAlone(p)
					c.beginAlone(p)
					e.concerns(&c.builder, p)
				}
			}
		}
		e.state.probes = index.Map()
	}
}

// renewProbe puts a probe in place of old, one of them nil where it has come or gone.
// One that says nothing, or the same as before, concerns nobody.
func (c *compiler) renewProbe(e *clusterEdit, index *tree.Edit[*api.HealthCheckProbe], old, p *api.HealthCheckProbe) {
	b, before, after := &c.builder, "", ""
	if old != nil && usableProbe(old, c.next.opt) {
		before = b.probeKey(old)
	}
	if p != nil && usableProbe(p, c.next.opt) {
		after = b.probeKey(p)
	}
	same := before == after
	switch {
	case same && before == "":
		return
	case same && b.probesOff:
		same = b.said(old) == b.said(p)
	case same:
		same = b.probeTarget(old).Key() == b.probeTarget(p).Key()
	}
	if before != "" && !same {
		index.Delete(before)
		c.endAlone(old)
		e.concerns(b, old)
	}
	if after == "" {
		return
	}
	index.Set(after, p)
	if !same {
		c.beginAlone(p)
		e.concerns(b, p)
	}
}

// beginAlone begins the check that a probe has by itself, where it needs no name for
// that: where the operator allows it (rule 4.10).
func (c *compiler) beginAlone(p *api.HealthCheckProbe) {
	if alone(p, c.next.opt) {
		c.checks.begin(probeUser(p))
		c.builder.watch(c.builder.probeTarget(p), func() *health.Target { return c.builder.probeTargetBefore(p) })
	}
}

// endAlone ends what beginAlone began.
func (c *compiler) endAlone(p *api.HealthCheckProbe) {
	if alone(p, c.next.opt) {
		c.checks.release(probeUser(p), []string{c.builder.probeTarget(p).Key()})
	}
}

// alone tells whether a probe is checked whether or not a name publishes its
// address.
func alone(p *api.HealthCheckProbe, opt *endpoint.Options) bool {
	if opt.ProbesOff || byProgram(p) {
		return false
	}
	addr, err := netip.ParseAddr(p.Address)
	return err == nil && slices.ContainsFunc(opt.ProbeAllow, func(allowed netip.Prefix) bool { return allowed.Contains(addr) })
}

// probeUser is the user of a check that a probe has begun by itself. No group has
// such a key.
func probeUser(p *api.HealthCheckProbe) string { return "/" + p.Cluster + "/" + p.Name }

// subjects are what probes of one namespace are about.
type subjects struct {
	addresses map[string]bool
	// about holds an address, a slash, and each beginning of a key's part that
	// finds one of the probes.
	about map[string]bool
}

// add adds what a probe is about.
func (s *subjects) add(b *builder, p *api.HealthCheckProbe) {
	if s.addresses == nil {
		s.addresses, s.about = make(map[string]bool), make(map[string]bool)
	}
	s.addresses[p.Address] = true
	for beginning := range beginnings(b.about(p)) {
		s.about[p.Address+"/"+beginning] = true
	}
}

// meet tells whether one of the probes is meant for a claim, which meant has been
// returned for. at is the addresses of s.
func (s *subjects) meet(c *endpoint.Claim, at targetSet, meant []string) bool {
	for address := range at.in(c.Targets) {
		for _, about := range meant {
			if s.about[address+"/"+about] {
				return true
			}
		}
	}
	return false
}

// beginnings yields the texts among those that meant returns that find a probe which
// is about the given thing.
func beginnings(about string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range about {
			if about[i] == '.' && !yield(about[:i+1]) {
				return
			}
		}
		yield(about)
	}
}

// concerns notes that a probe has come, gone or changed. What names do in the
// compile under way is marked later, with one look at each namespace.
func (e *clusterEdit) concerns(b *builder, p *api.HealthCheckProbe) {
	namespace := p.Namespace()
	s := e.concerned[namespace]
	if s == nil {
		s = new(subjects)
		if e.concerned == nil {
			e.concerned = make(map[string]*subjects)
		}
		e.concerned[namespace] = s
	}
	s.add(b, p)
}

// markProbed marks what the probes are meant for that have changed, or whose headers
// have. Claims that are new are marked anyway.
func (c *compiler) markProbed() {
	for i, e := range c.clusters {
		for namespace, s := range e.concerned {
			at := newTargetSet(s.addresses)
			for cl := range c.prev.clusters[i].claims(namespace) {
				if at.meets(cl.Targets) && s.meet(cl, at, c.builder.meant(cl)) {
					c.change(cl)
				}
			}
		}
	}
}

// claims yields the claims of a namespace.
func (s *clusterState) claims(namespace string) iter.Seq[*endpoint.Claim] {
	return func(yield func(*endpoint.Claim) bool) {
		for _, t := range s.targets.Beginning(namespace + "/") {
			for _, cl := range t.Claims {
				if !yield(cl) {
					return
				}
			}
		}
	}
}

// mark marks all that a Gateway publishes, markAt what it publishes at one of the
// targets.
func (c *compiler) mark(t *endpoint.Target) {
	for _, cl := range t.Claims {
		c.change(cl)
	}
}

func (c *compiler) markAt(t *endpoint.Target, at targetSet) {
	for _, cl := range t.Claims {
		if at.meets(cl.Targets) {
			c.change(cl)
		}
	}
}
