package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// struggle says what others try for the names of a namespace called victim with, in a zone where all may publish.
type struggle struct {
	// cuts is true where there are NS records and DNAMEs, zones where the others have Zones too.
	cuts, zones bool
	// recorded is true where the victim's names are on record as its, and the others' objects are older.
	recorded bool
}

// contested are the names that all want: at, above and below klb labels and each other.
var contested = []string{
	"h.example.org.", "x.h.example.org.", "*.h.example.org.", "klb.h.example.org.", "x.klb.h.example.org.", "*.x.h.example.org.",
	"y.x.klb.h.example.org.", "y.x.h.example.org.", "klb.x.h.example.org.",
}

const (
	victimNamespace = "victim"
	victimDate      = 5 // when its objects are created
)

// add makes one object of a namespace at random.
func (g *struggle) add(w *world, r *rand.Rand, namespace string, created int64) {
	name, host := namespace+"/"+pick(r, []string{"p", "q", "s"}), pick(r, contested)
	kinds := 10
	switch own := namespace == victimNamespace; {
	case own:
		kinds = 6 // all Records are of one owner, and Zones take what lies in them along
	case !g.zones:
		kinds = 9
	}
	switch k := r.IntN(kinds); {
	case k < 3:
		kind, address := api.IPAddress, addressFrom(namespace)
		if r.IntN(3) == 0 {
			kind, address = api.HostnameAddress, "lb."+namespace+".net"
		}
		w.gateway(name, trimDot(host), pick(r, []api.Strategy{api.Simple, api.WeightedGeo}), created, kind, address)
	case k < 5:
		w.endpoints(name, created, g.endpoints(r, namespace)...)
	case k < 6:
		w.setDNSRecord(0, name, &api.DNSRecord{
			Meta:     api.Meta{Created: created, Labels: map[string]string{api.LabelZoneName: "example.org"}},
			RootHost: "h.example.org.", Endpoints: g.endpoints(r, namespace),
		})
	case k < 9:
		rtype := pick(r, g.types("A", "CNAME", "TXT"))
		w.record(name, host, rtype, dataFrom(namespace, rtype), created)
	default:
		if !strings.Contains(host, endpoint.KLB) { // those are a chain's (rule 2.8)
			w.zone(name, rdata.Base(host), created)
		}
	}
}

// types returns the types of data that there are, and where there are cuts those that lead elsewhere.
func (g *struggle) types(others ...string) []string {
	if g.cuts {
		return append(others, "NS", "DNAME")
	}
	return others
}

// endpoints returns those of an object.
func (g *struggle) endpoints(r *rand.Rand, namespace string) (all []api.Endpoint) {
	for range 1 + r.IntN(3) {
		rtype := pick(r, g.types("A", "CNAME", "TXT", "MX"))
		e := apiEndpoint(pick(r, contested), rtype, strings.Trim(dataFrom(namespace, rtype), `"`))
		if rtype == "A" && r.IntN(3) == 0 {
			e.SetID = pick(r, []string{"a", "b"})
		}
		all = append(all, e)
	}
	if r.IntN(4) == 0 {
		all = append(all, chainOf(pick(r, contested), addressFrom(namespace))...)
	}
	return all
}

func addressFrom(namespace string) string {
	return map[string]string{victimNamespace: "192.0.2.1", "evil": "192.0.2.66", "eve": "192.0.2.67"}[namespace]
}

// dataFrom returns the data of a type that tell of a namespace.
func dataFrom(namespace, rtype string) string {
	switch rtype {
	case "A":
		return addressFrom(namespace)
	case "TXT":
		return `"` + namespace + `"`
	case "MX":
		return "10 mx." + namespace + ".net."
	}
	return "lb." + namespace + ".net."
}

// belongings returns what the victim has: the names whose steered data are its own.
func belongings(s *Snapshot) (names []string) {
	owns := func(key string) bool {
		owner, ok := s.Owner(key)
		return ok && strings.HasPrefix(owner.Name, victimNamespace+"/")
	}
	for _, name := range contested {
		if owns(name) {
			names = append(names, name)
		}
	}
	return names
}

// outcomes returns the ends of all answers that a name gets.
func outcomes(s *Snapshot, name string) string {
	var all []string
	for i := range uint64(16) {
		var a Answer
		s.Lookup(s.Zone(name), &Query{Name: name, Owner: name, Type: dns.TypeA, Random: i << 60}, &a)
		end := dns.RcodeToString[a.Rcode]
		if n := len(a.Answer); n > 0 {
			end += " " + strings.TrimPrefix(a.Answer[n-1].String(), a.Answer[n-1].Header().String())
		}
		if a.Referral {
			end += " referral to " + strings.TrimPrefix(a.Ns[0].String(), a.Ns[0].Header().String())
		}
		all = append(all, end)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "; ")
}

// describe returns the objects of a world in a few words each.
func (w *world) describe() string {
	var b strings.Builder
	c := w.clusters[0]
	for name, z := range c.Zones.All() {
		fmt.Fprintf(&b, "Zone %s %s, day %d\n", name, z.DomainName, z.Created)
	}
	for name, rec := range c.Records.All() {
		fmt.Fprintf(&b, "Record %s %s %s %s, day %d\n", name, rec.DomainName, rec.Type, rec.RData, rec.Created)
	}
	rows := func(kind, name string, created int64, endpoints []api.Endpoint) {
		fmt.Fprintf(&b, "%s %s, day %d:", kind, name, created)
		for _, e := range endpoints {
			fmt.Fprintf(&b, " [%s %s %v %s]", e.DNSName, e.Type, e.Targets, e.SetID)
		}
		fmt.Fprintln(&b)
	}
	for name, e := range c.DNSEndpoints.All() {
		rows("DNSEndpoint", name, e.Created, e.Endpoints)
	}
	for name, rec := range c.DNSRecords.All() {
		rows("DNSRecord", name, rec.Created, rec.Endpoints)
	}
	for name, p := range c.Policies.All() {
		g, _ := c.Gateways.Get(name)
		fmt.Fprintf(&b, "DNSPolicy %s %s %v, day %d, strategy %v\n", name, g.Listeners[0].Hostname, g.Addresses, p.Created, p.Strategy)
	}
	return b.String()
}

// TestOthersTakeNothing: whatever objects others make, of which kinds, at, above or below a namespace's names, these are
// answered as before where the others come later: they are younger, or the names are on record (rules 5.3 to 5.7).
func TestOthersTakeNothing(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 6000) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := &struggle{cuts: r.IntN(4) > 0, zones: r.IntN(4) == 0, recorded: r.IntN(3) == 0}
		g.zones = g.zones && g.recorded // else a Zone takes the names below it (rule 6.5)
		w := sharedWorld()
		for range 1 + r.IntN(2) {
			g.add(w, r, victimNamespace, victimDate)
		}
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		created := int64(victimDate + 1)
		if g.recorded {
			created = 1
			for _, name := range contested {
				w.acquireKeys(s, name, api.ZoneKey(name))
			}
			s = Compile(s, w.objects(), dnsHasZones, testTime)
		}
		names, was := belongings(s), make(map[string]string)
		for _, name := range names {
			was[name] = outcomes(s, name)
		}
		before := w.describe()
		for range 1 + r.IntN(4) {
			g.add(w, r, pick(r, []string{"evil", "evil", "eve"}), created+int64(r.IntN(3)))
		}
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		for _, name := range names {
			if is := outcomes(s, name); is != was[name] && !strings.Contains(name, endpoint.KLB) { // chains of wildcards are those of younger hosts (rule 2.8)
				t.Errorf("%s was %q and is %q; on record: %v\n%s---\n%s", name, was[name], is, g.recorded, before, w.describe())
				break
			}
		}
	}
}
