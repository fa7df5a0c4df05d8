package records_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// shown is one answer: the site that it is of, -1 for none, and its addresses.
type shown struct {
	site      int
	addresses []string
	records.Answer
}

// ask asks in the name of a client of a network's part.
func (h *steered) ask(s *records.Snapshot, of posed, part int, random uint64) shown {
	q := records.Query{Name: of.name, Owner: of.name, Type: steeredTypes[of.family], Random: random, Signed: of.signed}
	q.Locator = recordstest.Network
	q.Client, q.Bits = netip.MustParseAddr(fmt.Sprintf("%s.%d.%d", of.network, part, random>>56)), 24+int(random>>52&8)
	d := shown{site: -1}
	s.Lookup(s.Zone(q.Name), &q, &d.Answer)
	for _, rr := range d.Answer.Answer {
		var text string
		switch rr := rr.(type) {
		case *dns.A:
			text = rr.A.String()
		case *dns.AAAA:
			text = rr.AAAA.String()
		case *dns.CNAME:
			if i, ok := h.leaves[rr.Target]; ok {
				d.site = i
			}
			continue
		}
		var n int
		_, _ = fmt.Sscanf(text, []string{"192.0.2.%d", "2001:db8::%d"}[of.family], &n)
		d.site, d.addresses = (n-1)/10, append(d.addresses, text)
	}
	return d
}

// kept is the site of a sticky client, and the odds that it was drawn by.
type kept struct {
	site int
	odds map[int]int
}

// moved reports whether a sticky client has moved for no reason: with rendezvous hashing of the set identifiers it goes from one site to
// another only where one of them comes or goes, or the odds between the two change in favour of the new one (rule 9.2).
func (k kept) moved(to kept) bool {
	both := to.odds[k.site] > 0 && k.odds[to.site] > 0
	return k.site != to.site && both && to.odds[to.site]*k.odds[k.site] <= k.odds[to.site]*to.odds[k.site]
}

// steeringDraws is how many draws are made of one question. If a site has not come by then, more are.
const steeringDraws = 96

// check compares the answers to a question with what is permitted, and returns what is wrong.
func (h *steered) check(s *records.Snapshot, q posed, before map[string]kept) string {
	want := h.permits(q)
	counts, windows := make(map[int]int), make(map[[2]int]bool)
	for n := 0; n < steeringDraws || n < 256 && len(counts) < len(want.odds); n++ {
		random := uint64(n+1) * 0x9e3779b97f4a7c15
		d := h.ask(s, q, n, random)
		if d.Rcode != dns.RcodeSuccess || len(d.addresses) == 0 && (len(d.Ns) == 0 || d.Ns[0].Header().Rrtype != dns.TypeSOA) {
			return fmt.Sprintf("rcode %d, authority %v", d.Rcode, d.Ns)
		}
		if d.Closed != want.closed || d.Closed && (len(d.Answer.Answer) > 0 || d.Ns[0].Header().Ttl > 10) {
			return fmt.Sprintf("closed %v, want %v: %v %v", d.Closed, want.closed, d.Answer.Answer, d.Ns)
		}
		if d.site < 0 && len(want.odds) == 0 {
			continue
		}
		if want.odds[d.site] == 0 || d.Class != want.class {
			return fmt.Sprintf("site %d of class %v", d.site, d.Class)
		}
		counts[d.site]++
		window := h.window(d, q.family)
		if window < 0 {
			return fmt.Sprintf("site %d: addresses %v of %v", d.site, d.addresses, h.best(d.site, q.family))
		}
		windows[[2]int{d.site, window}] = true
		if !h.sticky && !q.signed {
			continue
		}
		again := h.ask(s, q, n, ^random)
		same := again.site == d.site
		if h.sticky && !same || same && !slices.Equal(d.addresses, again.addresses) {
			return fmt.Sprintf("part %d is answered %d %v and %d %v", n, d.site, d.addresses, again.site, again.addresses)
		}
		if !h.sticky {
			continue
		}
		if len(want.odds) > 1 && d.Scope < 24 {
			return fmt.Sprintf("scope %d", d.Scope)
		}
		client, now := fmt.Sprint(q.network, ".", n), kept{d.site, want.odds}
		if was, ok := before[client]; ok && was.moved(now) {
			return fmt.Sprintf("part %d moves from %v to %v", n, was, now)
		}
		before[client] = now
	}
	return h.shares(want, counts, windows, q.family)
}

// window returns where the addresses of an answer begin among the site's best, -1 if they are none of its windows.
func (h *steered) window(d shown, family int) int {
	best := h.best(d.site, family)
	count := len(best)
	if h.most > 0 {
		count = min(count, h.most)
	}
	for at := range max(len(best), 1) {
		if count == len(best) && at > 0 {
			break
		}
		if slices.Equal(d.addresses, slices.Concat(best, best)[at:at+count]) {
			return at
		}
	}
	return -1
}

// shares compares how often each site was drawn with the odds, and whether each window was.
func (h *steered) shares(want permitted, counts map[int]int, windows map[[2]int]bool, family int) string {
	total, draws := 0, 0
	h.freedom += float64(max(len(want.odds)-1, 0))
	for i, odds := range want.odds {
		total, draws = total+odds, draws+counts[i]
	}
	for i, odds := range want.odds {
		p, n := float64(odds)/float64(total), float64(draws)
		if math.Abs(float64(counts[i])-n*p) > 1+5*math.Sqrt(n*p*(1-p)) || counts[i] == 0 {
			return fmt.Sprintf("site %d comes %d times of %d", i, counts[i], draws)
		}
		h.chi2 += (float64(counts[i]) - n*p) * (float64(counts[i]) - n*p) / (n * p)
		all := len(h.best(i, family))
		for at := range all {
			if h.most > 0 && h.most < all && counts[i] > 32 && !windows[[2]int{i, at}] {
				return fmt.Sprintf("site %d: no window begins with its address %d", i, at)
			}
		}
	}
	return ""
}

// change changes the state of an address, or what a site's objects say.
func (h *steered) change(t *testing.T, r *rand.Rand, w *recordstest.World) {
	i := r.IntN(len(h.sites))
	s, f := &h.sites[i], r.IntN(2)
	cluster, _ := h.place(i)
	switch n := r.IntN(7); {
	case n == 0:
		s.weight = r.IntN(5)
	case n == 1:
		s.priority = r.IntN(2)
	case n == 2:
		s.override = []string{"", "down", "drain"}[r.IntN(3)]
	case n == 3:
		h.active = activeGroups[r.IntN(len(activeGroups))]
	case len(s.states[f]) > 0:
		for j := range s.states[f] {
			s.states[f][j] = []string{"up", "unknown", "down"}[r.IntN(3)]
		}
		w.Apply(t, h.found(i))
		return
	}
	w.Apply(t, "cluster "+cluster, h.objects(i), "cluster c1", h.records())
	w.Snapshot = records.Compile(w.Snapshot, w.Objects(), w.Options, w.Now)
	w.Whole = w.Snapshot
}

// TestSteeringByOracle compares answers with the rules of steering as they are written, for random hosts and clients, step by step.
func TestSteeringByOracle(t *testing.T) {
	all := make(map[bool][]*steered) // by sticky
	for seed := range recordstest.Seeds(t, 300) {
		r := rand.New(rand.NewPCG(seed, 46))
		h := randomSteered(r)
		opt := recordstest.Zones("example.com." + map[bool]string{true: ":flatten"}[h.flat])
		opt.ZoneNamespaces = []string{"dns"}
		w := recordstest.New(t, opt, fmt.Sprintf("cluster c2 group=%s\ncluster c1 group=%s\n", h.groups[1], h.groups[0]), h.records())
		for i := range h.sites {
			cluster, _ := h.place(i)
			w.Apply(t, "cluster "+cluster, h.objects(i))
		}
		w.Snapshot = records.Compile(nil, w.Objects(), opt, w.Now)
		w.Whole = w.Snapshot
		for i := range h.sites {
			w.Apply(t, h.found(i))
		}
		before := make(map[string]kept)
		all[h.sticky] = append(all[h.sticky], h)
		for step := range 4 {
			if step > 0 {
				h.change(t, r, w)
			}
			networks := slices.Sorted(maps.Keys(from))
			for _, n := range r.Perm(len(networks))[:2] {
				q := posed{network: networks[n], signed: r.IntN(4) == 0, name: steeredName}
				switch r.IntN(4) {
				case 0:
					q.name = "klb." + steeredName
				case 1:
					live := h.live()
					q.group, q.code = true, h.sites[live[r.IntN(len(live))]].code
					q.name = strings.ToLower(cmp.Or(q.code, "default")) + ".klb." + steeredName
				}
				for q.family = range steeredTypes {
					if bad := h.check(w.Snapshot, q, before); bad != "" {
						t.Fatalf("seed %d, step %d: %s; want %+v of\n%s-- ask --\n> %s", seed, step, bad, h.permits(q), h, q)
					}
				}
			}
		}
	}
	for sticky, hosts := range all {
		chi2, freedom := 0.0, 0.0
		for _, h := range hosts {
			chi2, freedom = chi2+h.chi2, freedom+h.freedom
		}
		if freedom > 100 && chi2 > 1.5*freedom { // Pearson: they should be equal
			t.Errorf("sticky %v: draws are not by weight: chi-square %.0f for %.0f degrees of freedom", sticky, chi2, freedom)
		}
	}
}
