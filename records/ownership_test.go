package records_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// wish is what one object wants at one name.
type wish struct {
	api.Owner
	at          int // its age
	apart       bool
	rtype, data string
	pools       bool // its target is one of several members (rule 5.6)
}

func (w *wish) namespace() string {
	if w.apart {
		return w.Cluster + " " + w.Owner.Namespace()
	}
	return w.Owner.Namespace()
}

func (w *wish) steered() bool { return w.rtype == "A" || w.rtype == "CNAME" }

// beside reports whether it stands beside any owner and owns nothing: other types of the administering namespace (rule 5.3).
func (w *wish) beside() bool { return !w.steered() && w.namespace() == "dns" }

// contender is what decides about a name together: one object's targets, or all records of a namespace, at the age of the oldest.
type contender struct {
	oldest *wish
	of     []*wish
	static bool
}

func (c *contender) addresses() bool { return slices.ContainsFunc(c.of, (*wish).steered) }

// shares reports whether two contenders, of all of a name, are served together (rule 5.6).
func (c *contender) shares(o *contender, all []*contender) bool {
	a, b := c.oldest, o.oldest
	hasAddress := func(w *wish) bool { // in some cluster
		return slices.ContainsFunc(all, func(c *contender) bool {
			is := c.oldest
			return !c.static && is.Kind == w.Kind && is.Name == w.Name && is.namespace() == w.namespace() && is.rtype == "A"
		})
	}
	return !c.static && !o.static && a.Kind == b.Kind && a.pools == b.pools &&
		(a.pools || a.Name == b.Name && a.Cluster != b.Cluster || hasAddress(a) && hasAddress(b))
}

// rank is 0 for whom the registry names, 1 for others of its namespace, who follow it, and 2 for all others (rule 5.4).
func (c *contender) rank(line wish) int {
	is := func(w *wish) bool { return line.Is(w.Kind, &api.Meta{Cluster: w.Cluster, Name: w.Name, UID: w.UID}) }
	switch {
	case is(c.oldest) || c.static && line.Kind == api.KindRecord && slices.ContainsFunc(c.of, is):
		return 0
	case line.Name != "" && line.namespace() == c.oldest.namespace():
		return 1
	}
	return 2
}

func older(a, b *wish) int {
	return cmp.Or(a.at-b.at, boolean.Int(a.apart)-boolean.Int(b.apart), strings.Compare(a.Name, b.Name), strings.Compare(a.Cluster, b.Cluster),
		cmp.Compare(a.Kind, b.Kind))
}

// holding is whose a name is, the zero holding nobody's: the namespace, the first of its wishes, nil for a line of the registry without an
// object, and since when; addresses is true if it answers with them or a CNAME.
type holding struct {
	namespace string
	first     *wish
	since     int64
	addresses bool
}

// since returns since when a namespace has a name with a registry line, or with none: its own wish is w.
func since(w *wish, line wish, kept bool) int64 {
	switch {
	case kept && line.namespace() != w.namespace():
		return math.MaxInt64
	case kept && line.Since != 0:
		return line.Since
	}
	return w.created()
}

// created is the age in seconds since 1970.
func (w *wish) created() int64 {
	return time.Date(2026, 1, 1, w.at, 0, 0, 0, time.UTC).Unix()
}

// before reports whether w, which has its name since that time, has had it before h.
func (h *holding) before(w *wish, since int64) bool {
	return since < h.since || since == h.since && h.first != nil && older(w, h.first) < 0
}

// owners decides about a name by rules 5.3 to 5.6: what is served there of each type, and whose it is. kept is true if there is a registry,
// line the name's; wildcard is whose the wildcard is that covers the name.
func owners(wishes []*wish, line wish, kept bool, wildcard holding) (served map[string][]string, has holding) {
	var contenders []*contender
	records := make(map[string]*contender) // of namespaces
	wishes = slices.SortedFunc(slices.Values(wishes), older)
	barred := func(w *wish) bool { // a hostname that came after the administering namespace's data
		return w.rtype == "CNAME" && slices.ContainsFunc(wishes, func(o *wish) bool {
			own := &holding{first: w, since: since(w, line, kept)}
			return o.beside() && w.namespace() != "dns" && own.before(o, o.created())
		})
	}
	addressed := make(map[string]bool) // by namespace
	admins := make(map[string]bool)    // types of the administering namespace
	for _, w := range wishes {
		addressed[w.namespace()] = addressed[w.namespace()] || w.steered() && !barred(w)
		admins[w.rtype] = admins[w.rtype] || w.beside()
	}
	wishes = slices.DeleteFunc(wishes, func(w *wish) bool { // covered by another namespace's wildcard
		return !w.steered() && !w.beside() && !addressed[w.namespace()] && wildcard.namespace != "" && wildcard.namespace != "dns" &&
			wildcard.namespace != w.namespace() && !wildcard.before(w, since(w, line, kept))
	})
	namespace := ""
	var besides []*wish // before the administering namespace's first contender of Records
	for _, w := range wishes {
		static := w.Kind == api.KindRecord || !w.steered()
		if c := records[w.namespace()]; static && c != nil {
			c.of = append(c.of, w)
		} else if w.beside() {
			besides = append(besides, w)
		} else {
			if c = (&contender{w, []*wish{w}, static}); static {
				if records[w.namespace()] = c; w.namespace() == "dns" {
					c.of = append(c.of, besides...)
				}
			}
			contenders = append(contenders, c)
		}
	}
	slices.SortStableFunc(contenders, func(a, b *contender) int { return a.rank(line) - b.rank(line) })
	switch {
	case line.Name != "" && (len(contenders) == 0 || contenders[0].rank(line) == 2):
		contenders, namespace, has.since = nil, line.namespace(), line.Since // it is kept for who had it
		if line.Since == 0 {
			has.since = math.MaxInt64 // nobody knows: what has a line of its own stays
		}
	case len(contenders) > 0:
		namespace = contenders[0].oldest.namespace()
	}
	if has.namespace = namespace; len(contenders) > 0 {
		has.first, has.addresses = contenders[0].oldest, false
		has.since = since(has.first, line, kept)
	}
	served = make(map[string][]string)
	put := func(w *wish) { served[w.rtype] = append(served[w.rtype], w.data) }
	var owner *contender
	for _, c := range contenders {
		if c.oldest.namespace() != namespace || !c.addresses() || barred(c.oldest) || owner != nil && !c.shares(owner, contenders) {
			continue
		}
		if owner == nil {
			owner = c
			has.addresses, has.first = true, c.oldest
			has.since = since(has.first, line, kept)
		}
		for _, w := range c.of {
			if w.steered() {
				put(w)
			}
		}
	}
	if len(served["A"]) > 0 {
		delete(served, "CNAME") // rule 1.7
	} else if all := served["CNAME"]; len(all) > 1 {
		served["CNAME"] = all[:1]
	}
	for _, w := range wishes {
		joins := !w.beside() && admins[w.rtype]                                                                // the administering namespace's records of the type
		if !w.steered() && (w.namespace() == namespace && !joins || w.beside()) && len(served["CNAME"]) == 0 { // rule 5.3: never beside a hostname
			put(w)
		}
	}
	for rtype, all := range served {
		slices.Sort(all)
		served[rtype] = slices.Compact(all)
	}
	return served, has
}

var contested = []string{"*.h.example.org.", "h.example.org.", "x.h.example.org.", "y.x.h.example.org."}

// TestOwnership makes objects of several kinds, namespaces, clusters and ages at few names, of which some are in the registry, and compares
// who is served with what the rules say; what a writer keeps of that changes nothing (rule 5.4).
func TestOwnership(t *testing.T) {
	for seed := range recordstest.Seeds(t, 8) {
		m := recordstest.NewMutator(seed)
		w := recordstest.New(t, recordstest.Zones("example.org."), "cluster c2"+[]string{"", " pools=nowhere"}[seed%2], "cluster c3",
			"cluster c1", "zone dns/z example.org. at=0h delegate=*")
		w.Options.ZoneNamespaces = []string{"dns"}
		wishes := make(map[string]*wish) // by kind, cluster and name
		hosts := make(map[string]string)
		for range 25 {
			for range 1 + m.IntN(3) {
				change(t, m, w, wishes, hosts, seed%2 == 1)
			}
			compare(t, seed, w.Step(t), wishes, hosts, seed%2 == 1)
			if t.Failed() {
				return
			}
			if m.IntN(3) > 0 {
				continue
			}
			w.Register() // the lines go of those who have gone
			w.Now = w.Now.Add(time.Second)
			before := answersAt(w.Step(t))
			kept := w.Register()
			w.Now = w.Now.Add(time.Second)
			if is := answersAt(w.Step(t)); !maps.Equal(before, is) {
				for key, o := range wishes {
					t.Logf("%s: %+v", hosts[key], *o)
				}
				t.Fatalf("seed %d: the registry has %v now, and what was served is not: %v\nis %v", seed, kept, before, is)
			}
			if again := w.Register(); !maps.Equal(kept, again) {
				t.Fatalf("seed %d: the registry had %v and now %v", seed, kept, again)
			}
		}
	}
}

// change makes or deletes an object, or a line of the registry.
func change(t *testing.T, m *recordstest.Mutator, w *recordstest.World, wishes map[string]*wish, hosts map[string]string, apart bool) {
	t.Helper()
	pick := func(from ...string) string { return from[m.IntN(len(from))] }
	o := &wish{at: m.IntN(4), Owner: api.Owner{
		Cluster: pick("c1", "c1", "c2", "c3"), Name: pick("a", "b", "dns") + "/" + pick("p", "q"),
		UID: pick("u1", "u2"),
	}}
	kind, host := pick("policy", "dnsendpoint", "dnsrecord", "record"), pick(contested...)
	o.Kind = map[string]api.Kind{
		"policy": api.KindDNSPolicy, "dnsendpoint": api.KindDNSEndpoint, "dnsrecord": api.KindDNSRecord,
		"record": api.KindRecord,
	}[kind]
	o.apart = apart && o.Cluster == "c2"
	if m.IntN(8) == 0 {
		if line := "owner " + host; m.IntN(3) > 0 {
			w.Apply(t, fmt.Sprintf("%s %s %s %s uid=%s", line, o.Cluster, o.Kind, o.Name, o.UID))
		} else {
			w.Apply(t, line)
		}
		return
	}
	key := kind + " " + o.Cluster + " " + o.Name
	w.Apply(t, "cluster "+o.Cluster)
	if m.IntN(5) == 0 {
		delete(wishes, key)
		w.Apply(t, "delete "+kind+" "+o.Name)
		return
	}
	o.rtype, o.data = pick("A", "A", "CNAME", "TXT", "MX"), fmt.Sprintf("10.%d.%d.%d", m.IntN(250), m.IntN(250), 1+m.IntN(250))
	o.pools = o.rtype == "A" && m.IntN(2) == 0
	switch {
	case kind == "policy" || kind == "record" && o.rtype == "CNAME":
		o.rtype, o.pools = "A", o.pools && kind == "policy"
	case kind == "record":
		o.pools = false
	}
	switch o.rtype {
	case "CNAME":
		o.data = fmt.Sprintf("lb%d.example.net.", m.IntN(999_999))
	case "TXT":
		o.data = fmt.Sprintf("t%d", m.IntN(999_999))
	case "MX":
		o.data = fmt.Sprintf("10 mx%d.example.net.", m.IntN(999_999))
	}
	wishes[key], hosts[key] = o, host
	meta, set := fmt.Sprintf(" at=%dh uid=%s", o.at, o.UID), ""
	if o.pools && kind != "policy" {
		set = " set=s" + o.Cluster + strings.ReplaceAll(o.Name, "/", "")
	}
	row := "\n    " + host + " " + o.rtype + " '" + strings.ReplaceAll(o.data, " ", "\u0020") + "'" + set
	switch kind {
	case "policy":
		w.Apply(t, "gateway "+o.Name+" host="+strings.TrimSuffix(host, ".")+" addr="+o.data,
			"policy "+o.Name+meta+map[bool]string{true: " weight=1"}[o.pools])
	case "record":
		w.Apply(t, "record "+o.Name+" "+host+meta+" "+o.rtype+" "+o.data)
	case "dnsrecord":
		w.Apply(t, "dnsrecord "+o.Name+" root="+host+" served=example.org"+meta+row)
	default:
		w.Apply(t, "dnsendpoint "+o.Name+meta+row)
	}
}

// compare compares what is served with what the rules say, and what objects are told.
func compare(t *testing.T, seed uint64, s *records.Snapshot, wishes map[string]*wish, hosts map[string]string, apart bool) {
	t.Helper()
	is, in := answersAt(s), s.Objects()
	var wildcard holding
	for _, host := range contested {
		var here []*wish
		for key, o := range wishes {
			if hosts[key] == host {
				here = append(here, o)
			}
		}
		line := wish{}
		line.Owner, _ = in.Registered(host)
		line.apart = apart && line.Cluster == "c2"
		covers := wildcard
		if host == "h.example.org." {
			covers = holding{}
		}
		served, has := owners(here, line, in.Acquired.Len() > 0, covers)
		switch {
		case strings.HasPrefix(host, "*."):
			wildcard = has
		case host == "x.h.example.org." && has.addresses:
			wildcard = holding{} // nor does it cover what is below
		}
		namespace := has.namespace
		if len(here) == 0 {
			continue // a wildcard may answer
		}
		for _, rtype := range []string{"A", "CNAME", "TXT", "MX"} {
			got, want := is[host+" "+rtype], strings.Join(served[rtype], ", ")
			if len(served) == 0 && host != "h.example.org." {
				break // the wildcard may answer
			}
			if got != want {
				t.Errorf("seed %d: %s %s is %q, want %q of %s; the registry has %+v", seed, host, rtype, got, want, namespace, line)
			}
		}
		for _, o := range here {
			_, why := s.Verdict(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name}).Problem()
			if serves := slices.Contains(served[o.rtype], o.data); !serves && why == "" || serves && o.namespace() == namespace &&
				strings.Contains(why, " belongs to ") {
				t.Errorf("seed %d: %s %s wants %s %s %s and is told %q", seed, o.Kind, o.Name, host, o.rtype, o.data, why)
			}
		}
		if t.Failed() {
			t.Logf("covered by %+v %+v; registry %v", covers, covers.first, maps.Collect(in.Acquired.All()))
			for _, o := range here {
				t.Logf("%+v", *o)
			}
			return
		}
	}
}

// answersAt returns what can be had at the contested names, whichever member is chosen.
func answersAt(s *records.Snapshot) map[string]string {
	all := make(map[string]string)
	for _, host := range contested {
		seen := make(map[string]bool)
		for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT, dns.TypeMX} {
			for random := range uint64(48) {
				q := records.Query{Name: host, Owner: host, Type: qtype, Random: random * (1<<64/48 + 1), Locator: recordstest.Network}
				var a records.Answer
				s.Lookup(s.Zone(host), &q, &a)
				for _, rr := range a.Answer {
					data := strings.Trim(strings.TrimPrefix(rr.String(), rr.Header().String()), `"`)
					if h := rr.Header(); !strings.Contains(data, "klb.") && (h.Name == host || strings.Contains(h.Name, "klb.")) {
						seen[dns.TypeToString[h.Rrtype]+" "+data] = true
					}
				}
			}
		}
		for _, text := range slices.Sorted(maps.Keys(seen)) {
			rtype, data, _ := strings.Cut(text, " ")
			all[host+" "+rtype] = strings.TrimPrefix(all[host+" "+rtype]+", "+data, ", ")
		}
	}
	return all
}
