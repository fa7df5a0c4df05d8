package pool

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// newView returns a view of all of a new pool, without members, in one allocation: an answer reads both.
func newView() *View {
	v := &struct {
		View
		own Pool
	}{}
	v.View = View{Pool: &v.own, Group: None}
	return &v.View
}

// Fixed returns the answer for a family if it is the same for every member; nil if not.
func (v *View) Fixed(fam Family) []dns.RR {
	if fam == CNAME && v.Skip == 0 && v.Pool.chained && v.Pool.Attributes.Of(api.Fail) == api.FailOpen {
		return v.Pool.Members[0].answers[CNAME][:1:1]
	}
	return nil
}

// Choose makes the choice (rule 4.6), and returns the answer at the view's name, empty for none; m is nil if there is no candidate. t
// records the findings.
func (v *View) Choose(a *Ask, t *Trail) (rrs []dns.RR, m *Member, class Class) {
	if t != nil {
		t.View, t.Ask = v, *a
	}
	m, class = v.Pool.choose(a, v.Group, t)
	if v.Group != None && (m == nil || !class.Usable()) {
		// Without a usable member, the group answers as the host would (rule 2.4).
		m, class = v.Pool.choose(a, None, t)
	}
	if m != nil {
		rrs = v.records(m, class, a, t)
	}
	return rrs, m, class
}

// records returns the member's answer at the view's name.
func (v *View) records(m *Member, class Class, a *Ask, t *Trail) []dns.RR {
	fam := a.Family
	rrs := m.answer(fam)
	if len(rrs) == 0 {
		return nil
	}
	chain := m.cnames
	switch {
	case m.leaf == nil:
		t.judge(Judged{RRs: rrs[len(rrs)-1:], cells: m.Cells, gateway: m.Gateway, lowest: class})
	case m.Cells == nil || len(rrs) == chain:
		t.judge(Judged{RRs: rrs[chain:], gateway: m.Gateway, lowest: class})
	default:
		cells := m.Cells[:m.leaf.v4]
		if fam == AAAA {
			cells = m.Cells[m.leaf.v4:]
		}
		if alive, _ := best(rrs[chain:], cells, t); len(alive) < len(rrs)-chain {
			rrs = slices.Concat(rrs[:chain], alive)
		}
	}
	if m.leaf != nil && len(rrs) > chain {
		rrs = t.window(window(rrs, chain, &v.Pool.Attributes, a.Window), chain)
	}
	groups := v.Pool.Groups
	switch {
	case v.Group == None || m.Group == v.Group:
		rrs = rrs[v.Skip:]
	default:
		rrs = rdata.WithOwner(rrs[v.Skip:], groups[m.Group].Name, groups[v.Group].Name)
	}
	if fam == CNAME && len(rrs) > 1 {
		return rrs[:1:1]
	}
	return rrs
}

// TTL returns the TTL of the data at the view's name; 0 if it has none.
func (v *View) TTL() uint32 {
	for i := range v.Pool.Members {
		if rrs := v.Pool.Members[i].any(); len(rrs) > v.Skip {
			return rrs[v.Skip].Header().Ttl
		}
	}
	return 0
}

// Inner and the methods below implement Data.
func (v *View) Inner() bool { return v.part }

func (v *View) Layout() string {
	chained := func(m Member) bool { return m.cnames > 0 || m.leaf == nil }
	if v.Flat || !slices.ContainsFunc(v.Pool.Members, chained) {
		return "flatten"
	}
	return "chain"
}

func (v *View) Has(fam Family) bool {
	return slices.ContainsFunc(v.Pool.Members, func(m Member) bool { return len(m.answers[fam]) > 0 })
}

func (v *View) Types() (all []uint16) {
	for _, rtype := range types {
		if slices.ContainsFunc(v.Pool.Members, func(m Member) bool {
			return slices.ContainsFunc(m.answers[:], func(rrs []dns.RR) bool { return len(rrs) > 0 && rrs[0].Header().Rrtype == rtype })
		}) {
			all = append(all, rtype)
		}
	}
	return all
}

func (v *View) AppendKnown(rrs []dns.RR) []dns.RR {
	m := &v.Pool.Members[0]
	if len(v.Pool.Members) > 1 || m.cnames != 0 || m.leaf == nil {
		return rrs
	}
	return append(append(rrs, v.records(m, 0, &Ask{Family: A}, nil)...), v.records(m, 0, &Ask{Family: AAAA}, nil)...)
}

// Fails implements Data: it tries the clients of each group, and those that match none.
func (v *View) Fails() (codes []string, all, closed bool) {
	p := v.Pool
	if !slices.ContainsFunc(p.Members, func(m Member) bool { return m.Gateway != nil || m.Cells != nil }) {
		return nil, false, false // no cells, as usual
	}
	all = true
	ask := func(at *geo.Codes, code string) {
		for _, fam := range [...]Family{A, AAAA} {
			if m, class := p.choose(&Ask{Family: fam, At: at}, None, nil); m != nil && class >= WeightedDown {
				codes = append(codes, code)
				return
			}
		}
		all = false
	}
	for i := range p.Groups {
		if at := geo.Client(p.Groups[i].Code); at != nil {
			ask(at, p.Groups[i].Code)
		}
	}
	ask(nil, "other places")
	return codes, all, p.Attributes.Of(api.Fail) == api.FailClosed
}
