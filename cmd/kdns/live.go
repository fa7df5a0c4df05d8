package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// liveRate is the maximum number of questions per second that check --live sends: the servers belong to others.
const liveRate = 50

// Limits on what other servers can make us ask: server names (13 are already many), their addresses in all, and
// addresses tried per parent server.
const (
	mostNames   = 32
	mostServers = 64
	mostTried   = 16
)

// living holds the flags of check --live.
type living struct {
	zone     string
	parents  []string
	resolver string
	port     uint16
}

// liveCheck checks one zone's delegation.
type liveCheck struct {
	*living
	reader  reader
	limiter *rate.Limiter
	// resolvers are tried in turn; empty if there are none.
	resolvers []*dnsServer
}

// findings compares a zone's delegation with what r serves.
func (l *living) findings(ctx context.Context, r reader, p *progress) ([]inspect.Finding, error) {
	c := &liveCheck{living: l, reader: r, limiter: rate.NewLimiter(liveRate, 1)}
	zone, err := inspect.ParseName(l.zone)
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	d := &inspect.Delegation{Zone: zone}
	for _, step := range []struct {
		what string
		do   func(context.Context, *inspect.Delegation) error
	}{
		{"looking up the resolver", c.findResolver},
		{"looking up " + l.zone, c.ours},
		{"asking the parent of " + l.zone, c.askParents},
		{"asking the name servers of " + l.zone, c.askServers},
	} {
		p.begin(step.what)
		if err := step.do(ctx, d); err != nil {
			return nil, err
		}
	}
	return d.Check(), nil
}

// atOnce calls do for 0 to n-1, several at a time.
func atOnce(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(compareWorkers)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait()
}

// findResolver sets the resolver of the flags, or the system's.
func (c *liveCheck) findResolver(ctx context.Context, _ *inspect.Delegation) error {
	var addrs []string
	if c.resolver != "" {
		addr, err := parseServer(ctx, c.resolver)
		if err != nil {
			return fmt.Errorf("--resolver: %w", err)
		}
		addrs = []string{addr}
	} else if conf, err := dns.ClientConfigFromFile("/etc/resolv.conf"); err == nil {
		for _, server := range conf.Servers {
			addrs = append(addrs, net.JoinHostPort(server, conf.Port))
		}
	}
	for _, addr := range addrs {
		c.resolvers = append(c.resolvers, &dnsServer{addr: addr, limiter: c.limiter, recurse: true})
	}
	return nil
}

// resolve asks the resolvers in turn until one answers. An rcode other than NOERROR or NXDOMAIN is an error.
func (c *liveCheck) resolve(ctx context.Context, name string, rtype uint16) (r *dns.Msg, err error) {
	err = errors.New("no resolver to look names up with; set --resolver SERVER")
	for _, s := range c.resolvers {
		if r, err = s.ask(ctx, dnsQuestion{name: name, rtype: rtype}); err != nil {
			continue
		}
		if r.Rcode == dns.RcodeSuccess || r.Rcode == dns.RcodeNameError {
			return r, nil
		}
		err = fmt.Errorf("%s answers %s for %s %s", s.addr, rcodeText(r.Rcode), name, dns.Type(rtype))
	}
	return nil, err
}

// ours records the zone's NS records as served here, and the addresses of those inside the zone.
func (c *liveCheck) ours(ctx context.Context, d *inspect.Delegation) error {
	if _, err := c.reader.Names(ctx, inspect.Filter{Zone: d.Zone, Limit: 1}); err != nil {
		return failed(fmt.Errorf("--live: %w", err))
	}
	explained := func(name, rtype string) ([]dns.RR, error) {
		x, err := c.reader.Explain(ctx, inspect.Question{Name: name, Type: rtype})
		if err != nil {
			return nil, failed(err)
		}
		return inspect.AnswerOf(x), nil
	}
	rrs, err := explained(d.Zone, "NS")
	if err != nil {
		return err
	}
	d.NS = nsOf(rrs, d.Zone)
	d.Addresses = make(map[string][]netip.Addr)
	for _, name := range d.NS {
		for _, rtype := range []string{"A", "AAAA"} {
			if !dns.IsSubDomain(d.Zone, name) {
				continue
			}
			if rrs, err = explained(name, rtype); err != nil {
				return err
			}
			d.Addresses[name] = append(d.Addresses[name], addrsOf(rrs)...)
		}
	}
	return nil
}

// askParents asks the parent's servers: those of the flags, or those that the resolver finds.
func (c *liveCheck) askParents(ctx context.Context, d *inspect.Delegation) error {
	if d.Zone == "." {
		return errors.New("--live: the root has no parent")
	}
	var servers []namedServer
	for _, text := range c.parents {
		addr, err := parseServer(ctx, text)
		if err != nil {
			return fmt.Errorf("--parent: %w", err)
		}
		servers = append(servers, namedServer{text, []string{addr}})
	}
	if len(servers) == 0 {
		var err error
		if servers, err = c.parentOf(ctx, d.Zone); err != nil {
			return failed(err)
		}
	}
	d.Parents = make([]inspect.ParentReply, len(servers))
	atOnce(len(servers), func(i int) { d.Parents[i] = c.askParent(ctx, d.Zone, servers[i]) })
	return ctx.Err()
}

// namedServer is a server: a name for people, and its addresses with ports.
type namedServer struct {
	name  string
	addrs []string
}

// parentOf returns the servers of the parent zone.
func (c *liveCheck) parentOf(ctx context.Context, zone string) (all []namedServer, err error) {
	for off, end := dns.NextLabel(zone, 0); ; off, end = dns.NextLabel(zone, off) {
		above := "."
		if !end {
			above = zone[off:]
		}
		r, err := c.resolve(ctx, above, dns.TypeNS)
		if err != nil {
			return nil, fmt.Errorf("find the parent of %s: %w; name a server of it with --parent SERVER", zone, err)
		}
		names := nsOf(r.Answer, above)
		found := c.lookup(ctx, names)
		for _, name := range names {
			of := namedServer{name: strings.TrimSuffix(name, ".")}
			addrs := found[name].addrs
			for _, a := range addrs[:min(len(addrs), mostTried)] {
				of.addrs = append(of.addrs, net.JoinHostPort(a.String(), dnsPort))
			}
			if len(of.addrs) > 0 {
				all = append(all, of)
			}
		}
		switch {
		case len(all) > 0:
			return all, nil
		case len(names) > 0:
			return nil, fmt.Errorf("no server of the parent %s has an address; name one with --parent SERVER", above)
		case above == ".":
			return nil, fmt.Errorf("the resolver knows no zone above %s; name a server of it with --parent SERVER", zone)
		}
	}
}

// address is the result of looking up a name.
type address struct {
	addrs []netip.Addr // IPv4 first
	err   error        // nil if addrs is complete
}

// lookup resolves the addresses of names.
func (c *liveCheck) lookup(ctx context.Context, names []string) map[string]address {
	all := make([]address, min(len(names), mostNames))
	atOnce(len(all), func(i int) {
		for _, t := range []uint16{dns.TypeA, dns.TypeAAAA} {
			r, err := c.resolve(ctx, names[i], t)
			if err != nil {
				all[i].err = err
				return
			}
			all[i].addrs = append(all[i].addrs, addrsOf(r.Answer)...)
		}
	})
	found := make(map[string]address, len(all))
	for i := range all {
		found[names[i]] = all[i]
	}
	return found
}

// askServers asks each name server that the parent or the zone lists.
func (c *liveCheck) askServers(ctx context.Context, d *inspect.Delegation) error {
	names := slices.Clone(d.NS)
	for i := range d.Parents {
		names = append(names, d.Parents[i].NS...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	known := make(map[string][]netip.Addr)
	var foreign []string
	for _, name := range names {
		known[name] = slices.Clone(d.Addresses[name])
		for i := range d.Parents {
			known[name] = append(known[name], d.Parents[i].Glue[name]...)
		}
		if len(known[name]) == 0 && !dns.IsSubDomain(d.Zone, name) {
			foreign = append(foreign, name)
		}
	}
	found := c.lookup(ctx, foreign)
	d.Unasked = max(0, len(names)-mostNames)
	for _, name := range names[:min(len(names), mostNames)] {
		addrs := append(known[name], found[name].addrs...)
		switch {
		case len(addrs) == 0 && found[name].err != nil:
			d.Unknown = append(d.Unknown, inspect.UnknownServer{Name: name, Err: found[name].err})
		case len(addrs) == 0:
			d.Homeless = append(d.Homeless, name)
		}
		slices.SortFunc(addrs, netip.Addr.Compare)
		for _, a := range slices.Compact(addrs) {
			if len(d.Servers) >= mostServers {
				d.Unasked++
				continue
			}
			d.Servers = append(d.Servers, inspect.ServerReply{Name: name, Addr: a})
		}
	}
	atOnce(len(d.Servers), func(i int) { c.askServer(ctx, d.Zone, &d.Servers[i]) })
	return ctx.Err()
}
