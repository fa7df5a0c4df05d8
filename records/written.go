package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// endpoints returns what a claim is as a DNSRecord (rules 2.2 and 2.3): what this Gateway adds
// to the host, whoever shares it.
func (p *parentObject) endpoints(c *claim) []api.WrittenEndpoint {
	w := chainWriting{host: trimDot(c.host), ttl: DefaultTTL, upper: DefaultLoadBalancedTTL}
	chained := c.steers()
	if z := p.s.Zone(rdata.Base(c.host)); z != nil {
		w.ttl, w.upper = int64(z.corefile.TTL), int64(z.corefile.LoadBalancedTTL)
		if c.via != nil || c.policy.Provider.ServedHere() {
			chained = chained && p.s.chained(c.host)
		}
	}
	if !chained {
		w.flat(c.targets.leaves)
		return w.all
	}
	b := p.s.reader()
	b.weights = make(map[weighing]weighed)
	b.uid = func(string) string { return p.state.uid }
	below := klbLabel + rdata.Base(c.host)
	specs := b.addSpecs(nil, below, c)
	unite(specs)
	w.chain(trimDot(below), c.policy.DefaultGeo, specs)
	return w.all
}

// chainWriting gathers the endpoints of one host.
type chainWriting struct {
	host       string // names are without final dots
	ttl, upper int64
	all        []api.WrittenEndpoint
}

func (w *chainWriting) add(name, rtype string, ttl int64, setID string, targets []string, properties ...api.Property) {
	w.all = append(w.all, api.WrittenEndpoint{DNSName: name, Type: rtype, TTL: ttl, Targets: targets, SetID: setID, Properties: properties})
}

// addresses adds the addresses of a leaf at a name, or of several.
func (w *chainWriting) addresses(name string, leaves ...leaf) (any bool) {
	var v4, v6 []string
	for _, l := range leaves {
		for _, a := range l.v4 {
			v4 = appendText(v4, a.String())
		}
		for _, a := range l.v6 {
			v6 = appendText(v6, a.String())
		}
	}
	if len(v4) > 0 {
		w.add(name, "A", w.ttl, "", v4)
	}
	if len(v6) > 0 {
		w.add(name, "AAAA", w.ttl, "", v6)
	}
	return len(v4)+len(v6) > 0
}

func appendText(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// flat adds all addresses at the host, or where there are none the first hostname (rule 1.7).
func (w *chainWriting) flat(leaves []leaf) {
	if w.addresses(w.host, leaves...) {
		return
	}
	for _, l := range leaves {
		for _, h := range l.hostnames {
			w.add(w.host, "CNAME", w.ttl, "", []string{trimDot(h)})
			return
		}
	}
}

// chain adds the names of rule 2.3.
func (w *chainWriting) chain(below, deflt string, specs []spec) {
	w.add(w.host, "CNAME", w.upper, "", []string{below})
	known := make(map[string]bool)
	group := func(code string) string { return geoLabel(code) + "." + below }
	for _, s := range specs {
		if known[s.code] {
			continue
		}
		known[s.code] = true
		if s.code != "" {
			w.add(below, "CNAME", w.upper, s.code, []string{group(s.code)}, api.Property{Name: api.PropertyGeo, Value: s.code})
		}
		if s.code == deflt || s.code == "" && !hasCode(specs) {
			w.add(below, "CNAME", w.upper, "default", []string{group(s.code)}, api.Property{Name: api.PropertyGeo, Value: "*"})
		}
	}
	member := make(map[[2]string]bool, len(specs))
	for _, s := range specs {
		target := trimDot(s.target)
		if member[[2]string{s.code, target}] {
			continue
		}
		member[[2]string{s.code, target}] = true
		w.add(group(s.code), "CNAME", w.ttl, target, []string{target}, api.WeightProperty(s.weight))
	}
	leaves := make(map[string]bool, len(specs))
	for _, s := range specs {
		if s.leaf != nil && !leaves[s.target] {
			leaves[s.target] = true
			w.addresses(trimDot(s.target), *s.leaf)
		}
	}
}

// hasCode tells whether a member has a geo code.
func hasCode(specs []spec) bool {
	return slices.ContainsFunc(specs, func(s spec) bool { return s.code != "" })
}
