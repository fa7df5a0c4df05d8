package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// The tests here are about what one tenant's objects cost all others (rule 8.4). They
// count allocations, members and records, and no time.

// grows fails where n times as many objects cost more than n times as much, with half as
// much again for trees.
func grows(t *testing.T, what string, few, many, n uint64) {
	t.Helper()
	if many > few*n*3/2+1000 {
		t.Errorf("%s: %d allocations, with %d times as many %d", what, few, n, many)
	}
}

// cost is what compiling w from nothing takes, with all verdicts.
func cost(w *world) uint64 {
	_, took := mallocs(nil, w)
	return took
}

func cnameRow(name, target, setID string) api.Endpoint {
	return api.Endpoint{DNSName: name, Type: "CNAME", Targets: []string{target}, SetID: setID, Weight: 1}
}

// steeringName returns the n-th name below klb.evil.example.com.
func steeringName(n int) string { return fmt.Sprintf("n%d.klb.evil.example.com.", n) }

// TestEndpointsThatLeadToEachOther: names of one object each of which leads to each other
// one, and none to an address, cost what their number does: with 1,000 endpoints, all that
// one object has, there are 31 names and more than 10^11 ways through eight of them.
func TestEndpointsThatLeadToEachOther(t *testing.T) {
	loops := func(n int, end bool) uint64 {
		list := []api.Endpoint{cnameRow("evil.example.com.", "klb.evil.example.com", ""), cnameRow("klb.evil.example.com.", steeringName(0), "")}
		for i := range n {
			for j := range n {
				if i != j {
					list = append(list, cnameRow(steeringName(i), steeringName(j), fmt.Sprint("s", j)))
				}
			}
		}
		if end {
			list = append(list, cnameRow(steeringName(n-1), "lb.example.net", "end"))
		}
		w := newWorld("c")
		w.endpoints("evil/e", 0, list...)
		return cost(w)
	}
	grows(t, "endpoints in loops", loops(4, false), loops(8, false), 4)
	grows(t, "endpoints in loops with a way out", loops(4, true), loops(8, true), 4)
}

// TestEndpointsThatLeadToOne: many names that lead to one with many targets have as many
// members together as there are endpoints, on each of the levels that are followed.
func TestEndpointsThatLeadToOne(t *testing.T) {
	const n = 100
	list := []api.Endpoint{cnameRow("evil.example.com.", "klb.evil.example.com", "")}
	for i := range n {
		list = append(list, cnameRow(steeringName(i), "klb.evil.example.com", ""),
			cnameRow("klb.evil.example.com.", fmt.Sprintf("lb%d.example.net", i), fmt.Sprint("s", i)))
	}
	w := newWorld("c")
	w.endpoints("evil/e", 0, list...)
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	members, seen := 0, make(map[*Pool]bool)
	for _, node := range s.zones[0].names.All() {
		if v := node.steered.view; v != nil && !seen[v.pool] {
			seen[v.pool] = true
			members += len(v.pool.members)
		}
	}
	if members > maxExpand*len(list) {
		t.Errorf("%d endpoints make %d members", len(list), members)
	}
}

// TestConditionsOfOneObject: what an object is told of the same fault is said once, however
// many ways lead past it.
func TestConditionsOfOneObject(t *testing.T) {
	const n = 50
	list := []api.Endpoint{cnameRow("evil.example.com.", "klb.evil.example.com", "")}
	for i := range n {
		list = append(list, cnameRow("klb.evil.example.com.", steeringName(i), fmt.Sprint("s", i)), cnameRow(steeringName(i), "hub.klb.evil.example.com", ""))
	}
	list = append(list, api.Endpoint{DNSName: "hub.klb.evil.example.com.", Type: "A", Targets: []string{"192.0.2.1"}, Weight: -1}, cnameRow("hub.klb.evil.example.com.", "lb.example.net", ""))
	list[len(list)-1].Weight = -1
	w := newWorld("c")
	w.endpoints("evil/e", 0, list...)
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	notes := 0
	for _, g := range s.groups.All() {
		for _, list := range g.notes {
			notes += len(list)
		}
	}
	if notes > len(list) {
		t.Errorf("%d endpoints have %d notes", len(list), notes)
	}
}

// TestManyRecordsAtOneName: Records that cannot stand beside each other, or of which there
// are too many, cost what their number does, with what each is told.
func TestManyRecordsAtOneName(t *testing.T) {
	at := func(n int, rtype string, data func(i int) string) uint64 {
		w := newWorld("c")
		for i := range n {
			w.setRecord(0, fmt.Sprintf("evil/r%05d", i), &api.Record{DomainName: "evil.example.com.", Type: rtype, Class: "IN", TTL: int64(i), RData: data(i)})
		}
		return cost(w)
	}
	grows(t, "CNAMEs of one name", at(100, "CNAME", func(i int) string { return fmt.Sprintf("lb%d.example.net.", i) }), at(400, "CNAME", func(i int) string { return fmt.Sprintf("lb%d.example.net.", i) }), 4)
	text := func(i int) string { return fmt.Sprintf(`"%d"`, i) }
	grows(t, "TXT records of one name, with a TTL each", at(100, "TXT", text), at(400, "TXT", text), 4)
	if t.Failed() {
		return // what follows would take minutes
	}
	grows(t, "TXT records of one name, more than are served", at(2*maxAtName, "TXT", text), at(4*maxAtName, "TXT", text), 2)
}

// TestManyZones: Zones cost what their number does, whatever their zoneRefs are.
func TestManyZones(t *testing.T) {
	zones := func(n int, make func(i int) *api.Zone) uint64 {
		w := newWorld("c")
		for i := range n {
			z := make(i)
			z.Delegations = []api.Delegation{{Zones: []string{"*"}}}
			w.setZone(0, fmt.Sprintf("evil/z%05d", i), z)
		}
		return cost(w)
	}
	for what, make := range map[string]func(i int) *api.Zone{
		"Zones beside each other": func(i int) *api.Zone { return &api.Zone{DomainName: fmt.Sprintf("z%d.example.com.", i)} },
		"Zones of one name":       func(int) *api.Zone { return &api.Zone{DomainName: "z.example.com."} },
		"Zones in a cycle":        func(i int) *api.Zone { return &api.Zone{DomainName: "z", Parent: fmt.Sprintf("evil/z%05d", i^1)} },
		"Zones in a row": func(i int) *api.Zone {
			return &api.Zone{DomainName: "z", Parent: fmt.Sprintf("evil/z%05d", i+1)}
		},
	} {
		grows(t, what, zones(300, make), zones(1200, make), 4)
	}
}

// TestPatternsAndRecords: Records in a Zone with many delegations cost what the number of
// both does, not what their product does.
func TestPatternsAndRecords(t *testing.T) {
	of := func(n int) uint64 {
		w := newWorld("c")
		z := &api.Zone{DomainName: "evil.example.com.", Delegations: []api.Delegation{{}}}
		for i := range n {
			z.Delegations[0].Records = append(z.Delegations[0].Records, api.RecordDelegation{Pattern: fmt.Sprintf("*.a%d.b.c", i)})
		}
		w.setZone(0, "evil/z", z)
		for i := range n {
			w.setRecord(0, fmt.Sprintf("evil/r%05d", i), &api.Record{DomainName: fmt.Sprintf("r%d.x.y.evil.example.com.", i), Type: "A", Class: "IN", TTL: 60, RData: "192.0.2.1"})
		}
		return cost(w)
	}
	grows(t, "Records and patterns", of(50), of(200), 4)
}

// TestManyStars: a pattern with any number of `*` is matched at once; one that tried all
// ways would not end.
func TestManyStars(t *testing.T) {
	label := strings.Repeat("a", rdata.MaxLabel)
	name := strings.Join([]string{label, label, label, label[:60]}, ".")
	stars := strings.Repeat("*a", 31)
	for pattern, want := range map[string]bool{
		strings.Join([]string{stars, stars, stars, stars[:60]}, "."):             true,
		strings.Join([]string{stars + "*", stars, stars, stars[:59] + "b"}, "."): false,
		strings.Join([]string{"*", stars + "b", stars, stars[:60]}, "."):         false,
		strings.Repeat("*.", 100) + "*":                                          false,
	} {
		for range 100 {
			if got := matchPattern(pattern, name); got != want {
				t.Errorf("%s matches %s: %v", pattern, name, got)
			}
		}
	}
}

// TestLoopsBetweenObjects: chains without an end, of CNAMEs of three kinds of objects and
// of DNAMEs, end in an answer of a bounded size.
func TestLoopsBetweenObjects(t *testing.T) {
	w := newWorld("c")
	w.endpoints("evil/e", 0, cnameRow("a.example.com.", "b.example.com", ""))
	w.setRecord(0, "evil/b", &api.Record{DomainName: "b.example.com.", Type: "CNAME", Class: "IN", RData: "c.example.com."})
	w.publish("evil/c", "c.example.com", &api.DNSPolicy{}, "a.example.com")
	w.setDNSRecord(0, "evil/d", &api.DNSRecord{
		Meta: api.Meta{Labels: map[string]string{api.LabelZoneName: "example.com"}}, RootHost: "d.example.com.", Endpoints: []api.Endpoint{cnameRow("d.example.com.", "d2.d.example.com", ""), cnameRow("d2.d.example.com.", "d.example.com", "")},
	})
	list := []api.Endpoint{}
	for i := range 200 { // an apex whose members all lead into the loop
		list = append(list, cnameRow("example.com.", fmt.Sprintf("x%d.example.com", i), fmt.Sprint(i)))
		w.setRecord(0, fmt.Sprintf("evil/x%d", i), &api.Record{DomainName: fmt.Sprintf("x%d.example.com.", i), Type: "CNAME", Class: "IN", RData: fmt.Sprintf("x%d.example.com.", (i+1)%200)})
	}
	w.endpoints("evil/apex", 0, list...)
	for _, d := range [][2]string{{"p", "q.example.com."}, {"q", "p.example.com."}, {"grow", "grow.grow.example.com."}, {"self", "self.example.com."}, {"down", "x.down.example.com."}} {
		w.setRecord(0, "evil/"+d[0], &api.Record{DomainName: d[0] + ".example.com.", Type: "DNAME", Class: "IN", RData: d[1]})
	}
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	for _, name := range []string{"a", "b", "c", "d", "x0", "x.p", "y.x.q", "x.grow", "x.self", "x.down", ""} {
		name = strings.TrimPrefix(name+".example.com.", ".")
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeANY, dns.TypeDS} {
			var a Answer
			took := testing.AllocsPerRun(1, func() {
				a = Answer{}
				s.Lookup(s.Zone(name), &Query{Name: name, Owner: name, Type: qtype, Random: 1}, &a)
			})
			if n := len(a.Answer) + len(a.Ns) + len(a.Extra); n > 4*maxHops || took > 64*maxTries {
				t.Errorf("%s %s: %s with %d records, %v allocations", name, dns.TypeToString[qtype], dns.RcodeToString[a.Rcode], n, took)
			}
		}
	}
}

// TestReferralIsBounded: a referral has the addresses of some servers, however many a
// tenant names (maxGlue).
func TestReferralIsBounded(t *testing.T) {
	const servers, addresses = 200, 10
	w := newWorld("c")
	for i := range servers {
		w.setRecord(0, fmt.Sprintf("evil/ns%d", i), &api.Record{DomainName: "evil.example.com.", Type: "NS", Class: "IN", RData: fmt.Sprintf("ns%d.evil.example.com.", i)})
		for j := range addresses {
			w.setRecord(0, fmt.Sprintf("evil/a%d-%d", i, j), &api.Record{DomainName: fmt.Sprintf("ns%d.evil.example.com.", i), Type: "A", Class: "IN", RData: fmt.Sprintf("192.0.2.%d", j)})
		}
	}
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	var a Answer
	s.Lookup(s.zones[0], &Query{Name: "x.evil.example.com.", Owner: "x.evil.example.com.", Type: dns.TypeA}, &a)
	if !a.Referral || len(a.Extra) > maxGlue+addresses {
		t.Errorf("referral=%v with %d servers and %d of their addresses", a.Referral, len(a.Ns), len(a.Extra))
	}
}

// TestOthersCostTheSame: what a change of one tenant's policy costs, and what a query for
// it does, does not grow with what another publishes in the zone, or below the name. What
// contends for the host, or for the names that steer to it, is looked at again with it:
// that costs a change what the number of these does, and a query nothing.
func TestOthersCostTheSame(t *testing.T) {
	const host = "app.example.com"
	policy := func(weight int64) *api.DNSPolicy {
		return &api.DNSPolicy{Meta: api.Meta{Created: 1}, Strategy: api.WeightedGeo, DefaultWeight: weight}
	}
	contends := map[string]bool{"claims on the host": true, "Records below klb.H": true}
	for what, evil := range map[string]func(w *world, i int){
		"hosts of the zone": func(w *world, i int) {
			w.publish(fmt.Sprintf("evil/g%d", i), fmt.Sprintf("h%d.example.com", i), &api.DNSPolicy{Meta: api.Meta{Created: 2}}, "192.0.2.66")
		},
		"names below the host": func(w *world, i int) {
			w.endpoints(fmt.Sprintf("evil/e%d", i), 0, api.Endpoint{DNSName: fmt.Sprintf("x%d.%s.", i, host), Type: "A", Targets: []string{"192.0.2.66"}, Weight: -1})
		},
		"claims on the host": func(w *world, i int) {
			p := policy(1)
			p.Created = 2
			w.publish(fmt.Sprintf("evil/g%d", i), host, p, "192.0.2.66")
		},
		"Records below klb.H": func(w *world, i int) {
			w.setRecord(0, fmt.Sprintf("evil/r%d", i), &api.Record{Meta: api.Meta{Created: 2}, DomainName: fmt.Sprintf("x%d.klb.%s.", i, host), Type: "A", Class: "IN", RData: "192.0.2.66"})
		},
	} {
		measure := func(n int) (change uint64, query float64) {
			w := newWorld("c")
			w.publish("victim/app", host, policy(1), "192.0.2.1")
			for i := range n {
				evil(w, i)
			}
			s := Compile(nil, w.objects(), hostileOptions, testTime)
			w.publish("victim/app", host, policy(2), "192.0.2.1")
			s, change = mallocs(s, w)
			query = testing.AllocsPerRun(10, func() {
				var a Answer
				s.Lookup(s.zones[0], &Query{Name: host + ".", Owner: host + ".", Type: dns.TypeA, Random: 1}, &a)
				if slices.ContainsFunc(a.Answer, func(rr dns.RR) bool { return strings.Contains(rr.String(), "192.0.2.66") }) {
					t.Error("the host is another's")
				}
			})
			return change, query
		}
		fewChange, fewQuery := measure(100)
		manyChange, manyQuery := measure(1000)
		most := 2 * fewChange
		if contends[what] {
			most *= 10 / 2
		}
		if manyChange > most+500 {
			t.Errorf("beside 100 %s a change takes %d allocations, beside 1000 %d", what, fewChange, manyChange)
		}
		if manyQuery > fewQuery {
			t.Errorf("beside 100 %s a query takes %v allocations, beside 1000 %v", what, fewQuery, manyQuery)
		}
	}
}
