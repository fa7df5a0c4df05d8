package records_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// site is one member of a host: a Gateway with its policy. Its addresses say which one it is.
type site struct {
	code     string // "" for none
	deflt    bool   // it says that its code is the default
	weight   int
	priority int
	override string      // up, down, drain, or "" for none
	states   [2][]string // of its IPv4 and IPv6 addresses: up, pending, unknown or down
	words    string      // what the policy says of the host as a whole; the first site's count
}

const steeredName = "h.example.com."

// steered is the host of that name, and what its owner says of it.
type steered struct {
	flat, sticky, closed, byPriority bool

	bound string // geo-fallback
	most  int    // max-answers; 0 for all
	sites []site
	// groups are those of both clusters, "" for none, and active says which are active, "" for all.
	groups [2]string
	active string
	// leaves are the sites by their names in the chain.
	leaves map[string]int
	// states are those that checks find at first.
	states []string
	// chi2 is how far all draws are from their odds, with so many degrees of freedom.
	chi2, freedom float64
}

// from are the networks of clients in recordstest.Network, with 256 parts each, and their codes, the most specific first.
var from = map[string][]string{
	"10.1": {"", "", "IE", "GEO-EU"}, "10.2": {"", "US-CA", "US", "GEO-NA"}, "10.3": {"", "", "", "GEO-AS"}, "10.4": {"AS64500"},
	"172.16": nil,
}

// randomSteered returns a host of one to six sites in two clusters.
func randomSteered(r *rand.Rand) *steered {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	h := &steered{
		flat: r.IntN(2) == 0, sticky: r.IntN(3) == 0, closed: r.IntN(3) == 0, byPriority: r.IntN(3) == 0,
		bound: one("any", "default", "none"), leaves: make(map[string]int),
		states: []string{"up", "up", "pending", "unknown", "down", "down"},
	}
	switch r.IntN(4) {
	case 0:
		h.states = []string{"up", "pending"}
	case 1:
		h.states = []string{"down", "down", "down", "unknown"}
	}
	if r.IntN(2) == 0 {
		h.most = 1 + r.IntN(3)
	}
	if r.IntN(3) == 0 {
		h.groups, h.active = [2]string{one("", "blue"), one("blue", "green")}, one(activeGroups...)
	}
	codes := [][]string{
		{""}, {"IE", "IE", "US"}, {"IE", "GEO-EU", "US", "AS64500", "BR", "US-CA"}, {"IE", "GEO-EU", "US", "GEO-AS", "UK", ""},
	}[r.IntN(4)]
	for i := range 1 + r.IntN(8) {
		s := site{code: one(codes...), priority: max(0, r.IntN(8)-4), override: one("", "", "", "", "", "up", "down", "drain")}
		s.deflt, s.weight = s.code != "" && r.IntN(3) == 0, []int{0, 1, 2, 4, 4}[r.IntN(5)]
		for s.states[0] == nil && s.states[1] == nil {
			for f := range s.states {
				for range r.IntN(4) {
					s.states[f] = append(s.states[f], one(h.states...))
				}
			}
		}
		switch {
		case i == 0:
			s.words = h.words()
		case r.IntN(6) == 0:
			s.words = " order=priority sticky=client fail=closed fallback=none max-answers=1"
		}
		h.sites, h.leaves[h.leaf(i)] = append(h.sites, s), i
	}
	return h
}

// words returns what the owner's policy says.
func (h *steered) words() string {
	return chosenWords(map[string]bool{
		" fallback=" + h.bound: true, " order=priority": h.byPriority, " sticky=client": h.sticky, " fail=closed": h.closed,
		fmt.Sprint(" max-answers=", h.most): h.most > 0,
	})
}

// chosenWords returns the words that are true.
func chosenWords(all map[string]bool) (words string) {
	for _, word := range slices.Sorted(maps.Keys(all)) {
		if all[word] {
			words += word
		}
	}
	return words
}

// address returns an address of a site, by family.
func address(i, family, j int) string {
	return fmt.Sprintf([...]string{"192.0.2.%d", "2001:db8::%d"}[family], 10*i+j+1)
}

// activeGroups are values of steered.active.
var activeGroups = []string{"", "blue", "green", "red", "blue&&green"}

// records returns the record of active groups.
func (h *steered) records() string {
	if h.active == "" {
		return "delete dnsrecord dns/groups\n"
	}
	const name = "kuadrant-active-groups.example.com"
	return fmt.Sprintf("dnsrecord dns/groups root=%s served=example.com\n    %s TXT \"version=1;groups=%s\" ttl=60\n", name, name, h.active)
}

// live returns the sites that are not withdrawn: those of active groups and of none, or all if there are no such (rule 9.5).
func (h *steered) live() (all []int) {
	active := strings.Split(h.active, "&&")
	for i := range h.sites {
		if group := h.groups[i%2]; h.active == "" || group == "" || slices.Contains(active, group) {
			all = append(all, i)
		}
	}
	if len(all) > 0 {
		return all
	}
	for i := range h.sites {
		all = append(all, i)
	}
	return all
}

// place returns the cluster of a site, and the name of its objects there: two clusters may have one name each.
func (h *steered) place(i int) (cluster, name string) {
	return fmt.Sprint("c", i%2+1), fmt.Sprint("m", i/2)
}

// leaf returns the name of a site's addresses in the chain (rule 2.3).
func (h *steered) leaf(i int) string {
	hash := func(of string) string {
		sum := sha256.Sum224([]byte(of))
		return new(big.Int).SetBytes(sum[:]).Text(36)[:6]
	}
	cluster, name := h.place(i)
	return hash("uid-"+cluster) + "-" + hash(name+"-n") + ".klb.h.example.com."
}

// objects returns those of a site.
func (h *steered) objects(i int) string {
	s := &h.sites[i]
	var addresses []string
	for f, states := range s.states {
		for j := range states {
			addresses = append(addresses, address(i, f, j))
		}
	}
	_, name := h.place(i)
	words := chosenWords(map[string]bool{
		fmt.Sprint(" weight=", s.weight): true, " geo=" + s.code: s.code != "", " default": s.deflt,
		" override=" + s.override: s.override != "", fmt.Sprint(" priority=", s.priority): s.priority > 0,
	})
	const text = "gateway n/%s host=h.example.com addr=%s\npolicy n/%s check=TCP:443%s\n"
	return fmt.Sprintf(text, name, strings.Join(addresses, ","), name, words+s.words)
}

// found returns what the checks of a site find.
func (h *steered) found(i int) (text string) {
	for f, states := range h.sites[i].states {
		for j, state := range states {
			if state != "pending" {
				text += fmt.Sprintf("find %s %s\n", address(i, f, j), state)
			}
		}
	}
	return text
}

// String is the host as a scenario.
func (h *steered) String() string {
	answer := map[bool]string{true: "flatten", false: "chain"}[h.flat]
	text := fmt.Sprintf("-- corefile --\nkuadrant example.com {\n    answer %s\n    zone-namespaces dns\n}\n-- groups --\n", answer)
	for i, group := range h.groups {
		if group != "" {
			text += fmt.Sprintf("c%d %s\n", i+1, group)
		}
	}
	text += "-- nets --\n10.1.0.0/16 IE\n10.2.0.0/16 US-CA\n10.3.0.0/16 GEO-AS\n10.4.0.0/16 AS64500\n"
	for i := range h.sites {
		cluster, name := h.place(i)
		text += fmt.Sprintf("-- %s/%s --\n%s", cluster, name, h.objects(i))
	}
	if h.active != "" {
		text += "-- c1/active --\n" + h.records()
	}
	text += "-- world --\n"
	for i := range h.sites {
		text += h.found(i)
	}
	return text
}

// class is how good a site is (rules 4.5 and 4.6).
func (s *site) class() pool.Class {
	all, up, notDown, deadFamily := 0, 0, 0, false
	for _, states := range s.states {
		alive := len(states) == 0
		for _, state := range states {
			all++
			if state == "up" || state == "pending" {
				up++
			}
			if state != "down" {
				notDown, alive = notDown+1, true
			}
		}
		deadFamily = deadFamily || !alive
	}
	drained := s.weight == 0 || s.override == "drain"
	of := func(weighted, other pool.Class) pool.Class {
		if drained {
			return other
		}
		return weighted
	}
	switch {
	case s.override == "down":
		return pool.ForcedDown
	case s.override == "up" || 2*up >= all && !deadFamily:
		return of(pool.WeightedUp, pool.DrainedUp)
	case 2*notDown >= all:
		return of(pool.WeightedUnknown, pool.DrainedUnknown)
	}
	return of(pool.WeightedDown, pool.DrainedDown)
}

// best returns the addresses of a site's answer: of a family those of the best state.
func (h *steered) best(i, family int) (addresses []string) {
	rank := func(state string) int {
		if o := h.sites[i].override; o == "up" || o == "down" {
			return 0 // the operator's word is that of all
		}
		return map[string]int{"unknown": 1, "down": 2}[state]
	}
	states := h.sites[i].states[family]
	for j, state := range states {
		if rank(state) == rank(slices.MinFunc(states, func(a, b string) int { return rank(a) - rank(b) })) {
			addresses = append(addresses, address(i, family, j))
		}
	}
	return addresses
}

// near returns how near a site is to a client: 0 to 3 for a match, 4 for the default, 5 for all others. Of two defaults the older's is
// the default (rule 5.6), and a code that nobody has is none (rule 3.2).
func (h *steered) near(i int, client []string) int {
	if n := slices.Index(client, h.sites[i].code); n >= 0 && h.sites[i].code != "" {
		return n
	}
	for _, of := range h.live() {
		if s := &h.sites[of]; s.deflt && s.code != "UK" || s.code == "" {
			if s.code == h.sites[i].code {
				return 4
			}
			break
		}
	}
	return 5
}

// permitted is what may be answered: one site, drawn by odds; nothing for at most 10 s if closed; and nothing else without odds.
type permitted struct {
	odds   map[int]int
	class  pool.Class
	closed bool
}

// posed is a question of the clients of a network.
type posed struct {
	network string
	family  int
	signed  bool
	name    string // of the host, or in its chain
	group   bool   // the name stands for the sites of a code
	code    string
}

func (q posed) String() string {
	words := map[bool]string{true: " do"}[q.signed]
	return fmt.Sprintf("%s %s from=%s.0.1%s", q.name, dns.TypeToString[steeredTypes[q.family]], q.network, words)
}

var steeredTypes = [...]uint16{dns.TypeA, dns.TypeAAAA}

// permits returns what may be answered (rules 4.6, 9.1, 9.3 and 9.5).
func (h *steered) permits(q posed) (p permitted) {
	client, candidates, usable := from[q.network], []int(nil), false
	is := func(classes ...pool.Class) func(i int) bool {
		return func(i int) bool { return slices.Contains(classes, h.sites[i].class()) }
	}
	down, forced := is(pool.WeightedDown, pool.DrainedDown, pool.ForcedDown), is(pool.ForcedDown)
	use := is(pool.WeightedUp, pool.WeightedUnknown)
	for _, i := range h.live() {
		if h.flat && q.name == steeredName && len(h.sites[i].states[q.family]) == 0 || q.group && h.sites[i].code != q.code {
			continue
		}
		candidates, usable = append(candidates, i), usable || use(i)
	}
	if q.group && !usable { // rule 2.4
		q.group = false
		return h.permits(q)
	}
	if len(candidates) == 0 {
		return p
	}
	if h.closed && !slices.ContainsFunc(h.within(candidates, client), func(i int) bool { return !down(i) }) {
		return permitted{closed: true}
	}
	if slices.ContainsFunc(candidates, func(i int) bool { return !forced(i) }) {
		candidates = slices.DeleteFunc(candidates, forced)
	}
	candidates = h.first(h.within(candidates, client), client)
	p = permitted{odds: make(map[int]int), class: h.sites[candidates[0]].class()}
	for _, i := range candidates {
		p.odds[i] = max(1, h.sites[i].weight) // weights of 0 are equal shares (rule 2.6), and count as 1 beside others that are drained
	}
	return p
}

// within returns the candidates that geo-fallback allows a client (rule 4.6): those of its geography, which is the default where no code
// matches, and all members where there is no default (rule 3.3).
func (h *steered) within(candidates []int, client []string) []int {
	nearest := 5
	for _, i := range candidates {
		nearest = min(nearest, h.near(i, client))
	}
	farthest := map[string]int{"any": 5, "default": 4, "none": 3}[h.bound]
	if nearest > 3 {
		farthest = max(farthest, nearest)
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return h.near(i, client) > farthest })
}

// first returns the candidates that come first in the order of rule 4.6.
func (h *steered) first(candidates []int, client []string) []int {
	uses := map[pool.Class]int{pool.DrainedUp: 1, pool.DrainedUnknown: 1, pool.WeightedDown: 2, pool.DrainedDown: 3, pool.ForcedDown: 4}
	order := func(i int) []int {
		near, priority, class := h.near(i, client), h.sites[i].priority, h.sites[i].class()
		unknown := map[pool.Class]int{pool.WeightedUnknown: 1, pool.DrainedUnknown: 1}[class]
		if h.byPriority {
			return []int{uses[class], priority, near, unknown}
		}
		return []int{uses[class], near, priority, unknown}
	}
	first := order(slices.MinFunc(candidates, func(a, b int) int { return slices.Compare(order(a), order(b)) }))
	return slices.DeleteFunc(candidates, func(i int) bool { return !slices.Equal(order(i), first) })
}
