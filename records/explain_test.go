package records

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
)

// explainTypes are the types that are asked for in the tests of Explain.
var explainTypes = []uint16{
	dns.TypeA, dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeTXT, dns.TypeNS, dns.TypeSOA, dns.TypeDS, dns.TypeMX,
}

// explainKinds are those that may not be listed.
var explainKinds = []api.Kind{api.KindDNSPolicy, api.KindGateway, api.KindSecret, api.KindRecord, api.KindDNSEndpoint}

// foundPlaces is a Locator that finds clients by the last octet of their address.
type foundPlaces struct{}

var placesByOctet = []*geo.Codes{
	{"AS64500", "", "IE", "GEO-EU"}, {"", "", "DE", "GEO-EU"}, {"AS64501", "US-CA", "US", "GEO-NA"}, {"", "", "", "GEO-AS"}, {},
}

func (foundPlaces) Locate(a netip.Addr, _ geo.Need) (*geo.Codes, int) {
	octets := a.As4()
	return placesByOctet[int(octets[3])%len(placesByOctet)], 24 + int(octets[3])%9
}

// TestExplainIsLookup compares the answers of Explain and Lookup for 100,000 random pairs of a
// snapshot and a client, and checks that what is told of the way fits the answer.
func TestExplainIsLookup(t *testing.T) {
	oneGoroutine(t)
	pairs, drawn := 0, 0
	for seed := uint64(0); pairs < 100_000; seed++ {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}, ProbesOff: seed%4 == 1, ProbeAllow: mustPrefixes("192.0.2.3/32")}
		r := rand.New(rand.NewPCG(seed, 77))
		w := newWorld("c1", "c2")
		for range 20 {
			w.pair(r)
		}
		var snap *Snapshot
		for range 20 {
			w.mutate(r)
			w.pair(r)
			w.mutateHealth(r)
			w.mutateZones(r, r.IntN(2))
			w.mutateEndpoints(r, r.IntN(2))
			w.acquire(r)
			if seed%3 == 0 { // some of whose owners cannot be read
				w.lackOf(r.IntN(2), pick(r, []api.Listing{api.NotListed, api.Listed, api.Listed}), pick(r, explainKinds))
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			findAll(snap, r.Uint64())
			names := namesToAsk(snap, r)
			for range 100 {
				q := Query{Name: pick(r, names), Type: pick(r, explainTypes), Random: r.Uint64(), Signed: r.IntN(4) == 0, Locator: foundPlaces{}}
				q.Owner, q.Client = q.Name, netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(256))})
				pairs++
				x := checkExplained(t, snap, &q)
				if t.Failed() {
					t.Fatalf("seed %d: %+v", seed, q)
				}
				if slices.ContainsFunc(x.Steps, func(s Step) bool { return len(s.Choices) > 0 }) {
					drawn++
				}
			}
		}
	}
	if drawn < pairs/20 {
		t.Errorf("%d of %d answers were chosen: too few to tell", drawn, pairs)
	}
}

// namesToAsk returns the names of a snapshot, some below them, and some that do not exist.
func namesToAsk(snap *Snapshot, r *rand.Rand) []string {
	names := []string{"nothing.example.com."}
	for _, z := range snap.zones {
		for name := range z.names.All() {
			if names = append(names, name); r.IntN(4) == 0 {
				names = append(names, "x."+name)
			}
		}
	}
	return names
}

// checkExplained compares what Explain finds with Lookup, and what it tells with that.
func checkExplained(t *testing.T, snap *Snapshot, q *Query) *Explanation {
	t.Helper()
	z := snap.Zone(q.Name)
	var want, got Answer
	snap.Lookup(z, q, &want)
	x := snap.Explain(z, q, &got)
	if a, b := answerText(&want), answerText(&got); a != b {
		t.Fatalf("Lookup finds\n%s\nExplain finds\n%s", a, b)
	}
	if q.trail != nil {
		t.Error("Explain has changed the query")
	}
	if x.Rcode != dns.RcodeToString[want.Rcode] || x.Scope != want.Scope || !slices.Equal(x.Answer, texts(want.Answer)) {
		t.Errorf("the explanation has another answer: %+v", x)
	}
	if len(x.Steps) == 0 || x.Steps[0].Name != trimDot(q.Name) {
		t.Fatalf("the way does not begin at the name: %+v", x.Steps)
	}
	if (x.Location != nil) != want.Located {
		t.Errorf("located is %v, and the location is %+v", want.Located, x.Location)
	}
	taken := ""
	for _, s := range x.Steps {
		for _, c := range s.Choices {
			checkChoice(t, &c)
		}
		if n := len(s.Choices); n > 0 && s.Name == trimDot(q.Name) {
			taken = takenOf(&s.Choices[n-1])
		}
		if s.Owner == nil && (s.Choices != nil || s.Addresses != nil) {
			t.Errorf("%s has addresses of nobody", s.Name)
		}
	}
	if want.member != nil && len(want.Answer) > 0 && taken != want.Member() {
		t.Errorf("the answer is of member %q, and the explanation takes %q: %s", want.Member(), taken, marshal(x))
	}
	if want.Rcode == dns.RcodeServerFailure && !slices.ContainsFunc(x.Steps, func(s Step) bool { return s.Ends != "" }) {
		t.Errorf("nothing says why this is SERVFAIL: %+v", x.Steps)
	}
	if _, err := json.Marshal(x); err != nil {
		t.Errorf("write as JSON: %v", err)
	}
	return x
}

// checkChoice checks that the parts of the members are parts of a whole, and that a member has one
// where it could have been drawn.
func checkChoice(t *testing.T, c *Choice) {
	t.Helper()
	sum := 0.0
	for _, m := range c.Members {
		could := m.Verdict == VerdictTaken || m.Verdict == VerdictNotDrawn
		if could != (m.Share > 0) {
			t.Errorf("member %s is %s with a share of %v", m.Member, m.Verdict, m.Share)
		}
		if could && (m.Class != c.Class || m.Match != c.Match) {
			t.Errorf("member %s is of class %s and match %s, drawn from %s and %s", m.Member, m.Class, m.Match, c.Class, c.Match)
		}
		sum += m.Share
	}
	if want := btof(c.Class != ""); math.Abs(sum-want) > 1e-9 {
		t.Errorf("the shares come to %v: %+v", sum, c)
	}
}

func btof(b bool) float64 { return float64(btoi(b)) }

// takenOf returns the member that a choice took; "" for none.
func takenOf(c *Choice) string {
	for _, m := range c.Members {
		if m.Verdict == VerdictTaken {
			return m.Member
		}
	}
	return ""
}

// answerText writes down all of an answer.
func answerText(a *Answer) string {
	return fmt.Sprintf("%s %v %v %d %v %v %v owner %s member %s geo %s/%s class %v", dns.RcodeToString[a.Rcode], a.Referral, a.Unlisted, a.Scope, a.Located,
		strings.Join(texts(a.Answer), "\n"), strings.Join(append(texts(a.Ns), texts(a.Extra)...), "\n"), a.Owner(), a.Member(), a.Geo, a.GeoClass, a.Class)
}

// TestExplainShares compares the shares that an explanation gives with how often Lookup takes each
// member.
func TestExplainShares(t *testing.T) {
	const draws, pools = 4000, 150
	compared := 0
	for seed := uint64(0); compared < pools; seed++ {
		r := rand.New(rand.NewPCG(seed, 78))
		w := newWorld("c1", "c2")
		for range 60 {
			w.pair(r)
		}
		snap := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}, testTime)
		findAll(snap, seed)
		for _, z := range snap.zones {
			for name, n := range z.names.All() {
				if n.steered.view == nil || len(n.steered.view.pool.members) < 2 || compared == pools {
					continue
				}
				q := Query{Name: name, Owner: name, Type: dns.TypeA, Locator: foundPlaces{}, Client: netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(256))})}
				var a Answer
				x := snap.Explain(z, &q, &a)
				if n := len(x.Steps[0].Choices); n == 0 || x.Steps[0].Choices[n-1].Class == "" || len(x.Steps) > 1 {
					continue
				}
				compared++
				compareShares(t, snap, q, &x.Steps[0].Choices[len(x.Steps[0].Choices)-1], r, draws)
			}
		}
	}
}

// compareShares draws for the client of q, and compares.
func compareShares(t *testing.T, snap *Snapshot, q Query, c *Choice, r *rand.Rand, draws int) {
	t.Helper()
	counts := make(map[string]int)
	for range draws {
		var a Answer
		q.Random = r.Uint64()
		snap.Lookup(snap.Zone(q.Name), &q, &a)
		counts[a.Member()+" "+a.Geo]++
	}
	for _, m := range c.Members {
		got, want := float64(counts[m.Member+" "+m.Geo])/float64(draws), m.Share
		// Five times the standard deviation of so many draws, and what one draw is.
		if tolerance := 5*math.Sqrt(want*(1-want)/float64(draws)) + 1/float64(draws); math.Abs(got-want) > tolerance {
			t.Errorf("%s: member %s has %v of the draws, and a share of %v", q.Name, m.Member, got, want)
		}
	}
}

// marshal returns x as JSON.
func marshal(x *Explanation) string {
	b, _ := json.MarshalIndent(x, "", " ")
	return string(b)
}
