package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/inspect"
)

// liveRate is how many questions a second check --live sends at the most: to servers of others.
const liveRate = 50

// living are the flags of check --live.
type living struct {
	zone     string
	parents  []string
	resolver string
	port     uint16
}

// liveCheck asks the world for one zone.
type liveCheck struct {
	*living
	reader  reader
	limiter *rate.Limiter
	// resolvers are asked in turn; empty where there are none.
	resolvers []*dnsServer
}

// findings compares a zone's delegation with what the reader says of it.
func (l *living) findings(ctx context.Context, r reader, p *progress) ([]inspect.Finding, error) {
	c := &liveCheck{living: l, reader: r, limiter: rate.NewLimiter(liveRate, 1)}
	zone, err := inspect.ParseName(l.zone)
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	if err := c.findResolver(ctx); err != nil {
		return nil, err
	}
	d := &inspect.Delegation{Zone: zone, Now: time.Now()}
	if err := c.ours(ctx, d); err != nil {
		return nil, err
	}
	p.begin("asking the parent of " + l.zone)
	if err := c.askParents(ctx, d); err != nil {
		return nil, err
	}
	p.begin("asking the name servers of " + l.zone)
	if err := c.askServers(ctx, d); err != nil {
		return nil, err
	}
	return d.Check(), nil
}

// atOnce does n things, some of them at a time.
func atOnce(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(compareWorkers)
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	_ = group.Wait()
}

// server returns a server that is asked without recursion.
func (c *liveCheck) server(addr string) *dnsServer { return &dnsServer{addr: addr, limiter: c.limiter} }

// findResolver takes the resolver of the flags, or the system's.
func (c *liveCheck) findResolver(ctx context.Context) error {
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

// resolve asks the resolvers, one after the other until one answers. What is neither data nor that there are none
// is an error.
func (c *liveCheck) resolve(ctx context.Context, name string, rtype uint16) (r *dns.Msg, err error) {
	err = errors.New("there is no resolver to look names up with: write --resolver SERVER")
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

// ours takes the NS records of the zone, and the addresses of those in it, as they are served here.
func (c *liveCheck) ours(ctx context.Context, d *inspect.Delegation) error {
	zones, err := c.reader.Zones(ctx)
	if err != nil {
		return failed(err)
	}
	if !slices.ContainsFunc(zones, func(z inspect.Zone) bool { return dns.Fqdn(z.Name) == d.Zone }) {
		var names []string
		for _, z := range zones {
			names = append(names, z.Name)
		}
		return &inspect.RequestError{Field: "--live", Text: c.zone + " is no zone that is served here: the zones are " +
			strings.Join(names, ", "), NotFound: true}
	}
	answers, err := c.explained(ctx, d.Zone, "NS")
	if err != nil {
		return err
	}
	d.NS = nsOf(answers, d.Zone)
	d.Addresses = make(map[string][]netip.Addr)
	for _, name := range d.NS {
		for _, t := range []string{"A", "AAAA"} {
			if !dns.IsSubDomain(d.Zone, name) {
				continue
			}
			rrs, err := c.explained(ctx, name, t)
			if err != nil {
				return err
			}
			d.Addresses[name] = append(d.Addresses[name], addrsOf(rrs)...)
		}
	}
	return nil
}

// explained returns the records of our answer.
func (c *liveCheck) explained(ctx context.Context, name, rtype string) ([]dns.RR, error) {
	x, err := c.reader.Explain(ctx, inspect.Question{Name: name, Type: rtype})
	if err != nil {
		return nil, failed(err)
	}
	return inspect.AnswerOf(x), nil
}

// askParents asks the servers of the parent that the flags name, or those that the resolver knows.
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

// namedServer is a server, with what people call it, and its addresses with a port.
type namedServer struct {
	name  string
	addrs []string
}

// parentOf returns the servers of the zone above.
func (c *liveCheck) parentOf(ctx context.Context, zone string) (all []namedServer, err error) {
	for off, end := dns.NextLabel(zone, 0); ; off, end = dns.NextLabel(zone, off) {
		above := "."
		if !end {
			above = zone[off:]
		}
		r, err := c.resolve(ctx, above, dns.TypeNS)
		if err != nil {
			return nil, fmt.Errorf("find the parent of %s: %w: --parent SERVER names a server of it", zone, err)
		}
		if names := nsOf(r.Answer, above); len(names) > 0 {
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
			if len(all) == 0 {
				return nil, fmt.Errorf("no address of the servers of the parent %s can be found: --parent SERVER names one", above)
			}
			return all, nil
		}
		if above == "." {
			return nil, fmt.Errorf("the resolver knows no zone above %s: --parent SERVER names a server of it", zone)
		}
	}
}

// askParent asks one server of the parent for the delegation, at the first of its addresses that answers.
func (c *liveCheck) askParent(ctx context.Context, zone string, of namedServer) inspect.ParentReply {
	p := inspect.ParentReply{Server: of.name, Glue: make(map[string][]netip.Addr), NoRoute: true}
	var server *dnsServer
	var r *dns.Msg
	for _, addr := range of.addrs {
		server = c.server(addr)
		if r, p.Err = server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeNS}); p.Err == nil {
			break
		}
		p.NoRoute = p.NoRoute && noRoute(p.Err)
	}
	if p.Err != nil {
		return p
	}
	p.Rcode = rcodeText(r.Rcode)
	p.NS = nsOf(append(slices.Clone(r.Answer), r.Ns...), zone)
	p.Serves = r.Authoritative && len(nsOf(r.Answer, zone)) > 0
	if p.Resolves = !r.Authoritative && len(nsOf(r.Answer, zone)) > 0; p.Resolves {
		return p
	}
	for _, rr := range r.Extra {
		name := strings.ToLower(rr.Header().Name)
		p.Glue[name] = append(p.Glue[name], addrsOf([]dns.RR{rr})...)
	}
	ds, err := server.ask(ctx, dnsQuestion{name: zone, rtype: dns.TypeDS})
	switch {
	case err != nil:
		p.DSErr = err
	case ds.Rcode != dns.RcodeSuccess:
		p.DSErr = fmt.Errorf("it answers %s", rcodeText(ds.Rcode))
	default:
		for _, rr := range ds.Answer {
			if one, ok := rr.(*dns.DS); ok && strings.EqualFold(one.Hdr.Name, zone) {
				p.DS = append(p.DS, one)
			}
		}
	}
	return p
}

// address is what was found of a name.
type address struct {
	addrs []netip.Addr // IPv4 first
	err   error        // nil where it is known that these are all
}

// Bounds of what is asked, whatever others say: names of servers, of which 13 are many, addresses of all of them, and
// addresses at which one server of the parent is looked for.
const (
	mostNames   = 32
	mostServers = 64
	mostTried   = 16
)

// lookup asks the resolvers for the addresses of names.
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

// askServers asks each name server that the parent or the zone names.
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
