package pool

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

const (
	roleNone role = iota
	roleHost
	roleTop
	roleGroup
	roleMember
)

// chain returns the tree as a chain; nil if one of its endpoints does not fit (rule 6.10). A host that leads elsewhere is no part of it.
func (t *hostTree) chain() *chain {
	c := &chain{deflt: None}
	for _, name := range [...]string{t.host, rdata.WildcardOf(t.host)} {
		if br := t.at(name); br != nil {
			br.role = roleHost
		}
	}
	for _, name := range [...]string{t.host, rdata.WildcardOf(t.host)} {
		c.addHost(t, t.at(name))
	}
	if c.top == nil || !c.addGroups(t) || slices.ContainsFunc(c.groups, func(g geoGroup) bool { return !g.draws(t) }) ||
		slices.ContainsFunc(t.branches, func(br branch) bool { return br.role == roleNone }) { // nothing leads there
		return nil
	}
	return c
}

// become gives the name a role, and reports whether it has no other one.
func (br *branch) become(r role) bool {
	if br.role == roleNone {
		br.role = r
	}
	return br.role == r
}

// bare reports whether nothing is said of an endpoint's part in a choice.
func bare(e *endpoint.Endpoint) bool { return e.SetID == "" && !e.Chosen() && e.Priority() == 0 }

// addHost adds a host that has nothing but a CNAME to the top.
func (c *chain) addHost(t *hostTree, br *branch) {
	if br == nil || len(br.rows) > 1 || !bare(br.rows[0].Endpoint) {
		return
	}
	if top := t.at(br.rows[0].Target); top != nil && (c.top == nil || top == c.top) && top.become(roleTop) {
		c.top, c.hosts = top, append(c.hosts, br)
	}
}

// addGroups adds the geo groups: one name for each code, and one code for each name.
func (c *chain) addGroups(t *hostTree) bool {
	for i := range c.top.rows {
		f := &c.top.rows[i]
		to, code := t.at(f.Target), f.code()
		if f.Type != dns.TypeCNAME || f.SetID == "" || f.Geo == "" || f.Weight >= 0 || f.Priority() > 0 || to == nil || !to.become(roleGroup) {
			return false
		}
		at := slices.IndexFunc(c.groups, func(g geoGroup) bool { return g.branch == to })
		if at < 0 {
			at, c.groups = len(c.groups), append(c.groups, geoGroup{branch: to, head: f})
		}
		switch g := &c.groups[at]; {
		case code == g.code && code != "" || f.other:
		case code == "" && (c.deflt == None || c.deflt == int32(at)):
			c.deflt = int32(at)
		case code == "" || g.code != "" || slices.ContainsFunc(c.groups, func(o geoGroup) bool { return o.code == code }):
			return false
		default:
			g.code, g.head = code, f
		}
	}
	if c.deflt != None && geo.Class(c.groups[c.deflt].code) == geo.ClassUnknown && c.groups[c.deflt].code != "" {
		c.deflt = None // nobody has the code (rule 3.2)
	}
	return true
}

// draws reports whether a group has nothing but CNAMEs, by weight, to names that have addresses alone, or to hostnames.
func (g geoGroup) draws(t *hostTree) bool {
	for i := range g.rows {
		f := &g.rows[i]
		to := t.at(f.Target)
		if f.Type != dns.TypeCNAME || f.SetID == "" || f.Geo != "" || to != nil && !to.become(roleMember) {
			return false
		}
		if to != nil && slices.ContainsFunc(to.rows, func(f owned) bool { return f.Type == dns.TypeCNAME || !bare(f.Endpoint) }) {
			return false
		}
	}
	return true
}
