package recordstest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Now is the time at which worlds are compiled, unless they say otherwise.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// World is a set of objects of several clusters that can be changed, and their snapshot. The zero
// World has no clusters.
type World struct {
	Options *records.Options
	Now     time.Time
	// Aside makes the world sometimes compile new structures during other steps.
	Aside bool
	// Snapshot is what Step compiled last, and Whole the same compiled from nothing; nil before.
	Snapshot, Whole *records.Snapshot

	in      api.Objects // without Clusters
	texts   Texts
	current int // the cluster that lines apply to
	list    []*api.Cluster
	changed []map[api.Ref]bool
	found   map[string]health.State // by key of a target
	// outcomes has the outcomes of checks by target key, for worlds with outcome lines.
	outcomes map[string][]health.Outcome
	log      []string // everything applied
	steps    int
	aside    *aside
	// incumbents is true if a registry is kept; lastComplete is the last complete snapshot.
	incumbents   bool
	lastComplete *records.Snapshot
	// compiled are the options of Snapshot.
	compiled *records.Options
	// generations has each zone's generations by serial.
	generations map[string]map[uint32]generation
	files       map[string][]api.Ref
}

// New returns a world with one cluster, c1, and the objects of texts.
func New(t testing.TB, opt *records.Options, texts ...string) *World {
	t.Helper()
	w := &World{Options: opt, Now: Now, found: make(map[string]health.State)}
	w.Apply(t, append([]string{"cluster c1"}, texts...)...)
	return w
}

// Zones returns options with zones in the usual form: ORIGIN[:flatten], with a name server outside
// the zone.
func Zones(origins ...string) *records.Options {
	o := new(records.Options)
	for _, origin := range origins {
		origin, flat := strings.CutSuffix(origin, ":flatten")
		o.Zones = append(o.Zones, records.ZoneOptions{
			Origin: origin, Flatten: flat, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
			Nameservers: []records.Nameserver{{Name: "ns.example.net."}},
		})
	}
	return o
}

// Apply changes the world. texts have lines of objects, and these commands, each on one line:
//
//	cluster NAME [uid=UID] [pools=NAMESPACE,...] [group=GROUP] [KIND=notlisted|listed|notwatched|missing|...]   the cluster of the next lines
//	delete WORD NAMESPACE/NAME            such as delete gateway a/prod
//	owner KEY [CLUSTER KIND NAMESPACE/NAME [secret=NAME] [uid=UID]]   a line of the registry; without an owner, remove it
//	serial ORIGIN HASH SERIAL             a zone's kept serial, "-" for no hash; serial-writer CLUSTER makes it visible
//	kept NAMESPACE/NAME HASH SERIAL       the serial kept in a Zone's status
//	overrides [LINE;LINE...]              the manual overrides
//	resolved NAME [TEXT...]               the TXT records at the end of a CNAME that names active groups; none for a failure
//	active ORIGIN GROUP...                the active groups that the state on disk has for a zone
//	find ADDRESS up|unknown|down [PART]   check results of an address from now on; PART limits them to targets whose key has it
//	outcome ADDRESS REASON [TIMES]        the outcome of an address's checks, such as StatusCode 3
//	miss WORD NAMESPACE/NAME              have the guard hold an object that is missing
//	awaited NAME...                       clusters of which nothing is known
//	incumbents                            a registry is kept: whoever has a name in a complete snapshot keeps it without a line
func (w *World) Apply(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		w.log = append(w.log, text)
		for number, block := range blocks(text) {
			if err := w.line(block); err != nil {
				t.Fatalf("line %d: %v\n%s", number, err, text)
			}
		}
	}
}

func (w *World) line(block []string) error {
	f := strings.Fields(block[0])
	if f[0] != "cluster" && len(w.list) == 0 {
		return fmt.Errorf("%q: write cluster NAME first", block[0])
	}
	switch f[0] {
	case "cluster":
		return w.cluster(f[1], f[2:])
	case "delete":
		return w.put(kinds[f[1]].kind, f[2], nil)
	case "owner":
		return w.owner(f[1], f[2:])
	case "serial":
		k, err := kept(f[2:])
		if err != nil {
			return err
		}
		e := w.in.Serials.Edit()
		e.Set(f[1], k)
		w.in.Serials, w.in.SerialsChanged = e.Map(), append(w.in.SerialsChanged, f[1])
	case "kept":
		return w.kept(f[1], f[2:])
	case "serial-writer":
		w.in.SerialWriter = strings.Join(f[1:], "")
	case "overrides":
		o, err := api.ParseOverrides("overrides", []byte(strings.ReplaceAll(strings.Join(f[1:], " "), ";", "\n")))
		w.in.Overrides = o
		return err
	case "resolved":
		texts := maps.Clone(w.in.GroupTexts)
		if texts == nil {
			texts = make(map[string]api.GroupText)
		}
		if texts[f[1]] = (api.GroupText{Texts: f[2:]}); len(f) == 2 {
			texts[f[1]] = api.GroupText{Err: "no TXT record"}
		}
		w.in.GroupTexts = texts
	case "active":
		w.in.ActiveGroups = maps.Clone(w.in.ActiveGroups)
		if w.in.ActiveGroups == nil {
			w.in.ActiveGroups = make(map[string]*api.ActiveGroups)
		}
		w.in.ActiveGroups[f[1]] = api.NewActiveGroups(f[2:]...)
	case "find":
		i := slices.Index([]string{"up", "unknown", "down"}, f[2])
		if i < 0 {
			return fmt.Errorf("no state %q", f[2])
		}
		for key, target := range w.targets(f[1]) {
			if strings.Contains(key, strings.Join(f[3:], " ")) {
				w.found[key] = [...]health.State{health.Up, health.Unknown, health.Down}[i]
				delete(w.outcomes, key)
				target.Cell.Set(w.found[key])
			}
		}
	case "outcome":
		return w.outcome(f[1], f[2:])
	case "miss":
		next, ref := *w.list[w.current], api.Ref{Kind: kinds[f[1]].kind, Name: f[2]}
		next.Keep(ref.Kind, w.list[w.current], slices.Values(f[2:]))
		w.list[w.current], w.changed[w.current][ref] = &next, true
	case "awaited":
		w.in.Awaited = nil
		for _, name := range f[1:] {
			w.in.Awaited = append(w.in.Awaited, &api.Cluster{Name: name})
		}
	case "incumbents":
		w.incumbents = true
	default:
		o, err := w.texts.object(w.list[w.current].Name, block)
		if err != nil {
			return err
		}
		was, _ := w.list[w.current].Zones.Get(o.Name)
		err = w.put(o.Kind, o.Name, o.JSON())
		if is, _ := w.list[w.current].Zones.Get(o.Name); o.Kind == api.KindZone && was != nil && is.Kept == (api.Kept{}) {
			is.Kept = was.Kept // a new spec leaves the status alone
		}
		return err
	}
	return nil
}

// cluster changes a cluster, and makes it the one that lines apply to.
func (w *World) cluster(name string, words []string) error {
	w.current = slices.IndexFunc(w.list, func(c *api.Cluster) bool { return c.Name == name })
	if w.current < 0 {
		c := &api.Cluster{Name: name, UID: "uid-" + name}
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		w.current = len(w.list)
		w.list, w.changed = append(w.list, c), append(w.changed, make(map[api.Ref]bool))
	}
	next := *w.list[w.current]
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch k, ok := api.ParseKind(key); {
		case key == "uid":
			next.UID = value
		case key == "group":
			next.Group = value
		case key == "pools":
			for _, ref := range next.As(next.Name, api.PoolsIn(strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)) {
				w.changed[w.current][ref] = true
			}
		case ok:
			how, namespaces, _ := strings.Cut(value, ":")
			i := slices.Index([]string{"notlisted", "listed", "notinstalled", "notwatched", "missing", "notcounted"}, how)
			if i < 0 {
				return fmt.Errorf("no state %q of a list", value)
			}
			next.Listings[k], next.ListedIn[k] = api.Listing(i), strings.FieldsFunc(namespaces, func(r rune) bool { return r == ',' })
		default:
			return fmt.Errorf("word %q: a cluster has no such word", word)
		}
	}
	w.list[w.current] = &next
	return nil
}

func (w *World) owner(key string, words []string) error {
	e := w.in.Acquired.Edit()
	if len(words) == 0 {
		e.Delete(key)
	} else {
		kind, ok := api.ParseKind(words[1])
		if !ok || len(words) < 3 {
			return fmt.Errorf("write owner KEY CLUSTER KIND NAMESPACE/NAME")
		}
		o := api.Owner{Cluster: words[0], Kind: kind, Name: words[2]}
		for _, word := range words[3:] {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "secret":
				o.Secret = value
			case "uid":
				o.UID = value
			case "cluster":
				o.ClusterUID = value
			}
		}
		e.Set(key, o)
	}
	w.in.Acquired, w.in.AcquiredChanged = e.Map(), append(w.in.AcquiredChanged, key)
	return nil
}

// put puts an object into the current cluster; nil deletes it.
func (w *World) put(k api.Kind, name string, json []byte) error {
	next := *w.list[w.current]
	var err error
	switch k {
	case api.KindGateway:
		err = set(&next, name, json, api.DecodeGateway, &next.Gateways, func(o *api.Gateway) *api.Meta { return &o.Meta })
	case api.KindDNSPolicy:
		err = set(&next, name, json, api.DecodePolicy, &next.Policies, func(o *api.DNSPolicy) *api.Meta { return &o.Meta })
	case api.KindProbe:
		err = set(&next, name, json, api.DecodeProbe, &next.Probes, func(o *api.HealthCheckProbe) *api.Meta { return &o.Meta })
	case api.KindSecret:
		err = set(&next, name, json, api.DecodeSecret, &next.Secrets, func(o *api.Secret) *api.Meta { return &o.Meta })
	case api.KindZone:
		err = set(&next, name, json, api.DecodeZone, &next.Zones, func(o *api.Zone) *api.Meta { return &o.Meta })
	case api.KindRecord:
		err = set(&next, name, json, api.DecodeRecord, &next.Records, func(o *api.Record) *api.Meta { return &o.Meta })
	case api.KindDNSRecord:
		err = set(&next, name, json, api.DecodeDNSRecord, &next.DNSRecords, func(o *api.DNSRecord) *api.Meta { return &o.Meta })
	case api.KindDNSEndpoint:
		err = set(&next, name, json, api.DecodeDNSEndpoint, &next.DNSEndpoints, func(o *api.DNSEndpoint) *api.Meta { return &o.Meta })
	}
	w.list[w.current] = &next
	w.changed[w.current][api.Ref{Kind: k, Name: name}] = true
	return err
}

func kept(words []string) (k api.Kept, err error) {
	if _, err = fmt.Sscan(strings.Join(words, " "), &k.Hash, &k.Serial); k.Hash == "-" {
		k.Hash = ""
	}
	return k, err
}

func (w *World) kept(name string, words []string) error {
	k, err := kept(words)
	next := *w.list[w.current]
	if z, ok := next.Zones.Get(name); ok {
		is, e := *z, next.Zones.Edit()
		is.Kept = k
		e.Set(name, &is)
		next.Zones = e.Map()
		w.list[w.current], w.changed[w.current][api.Ref{Kind: api.KindZone, Name: name}] = &next, true
	}
	return err
}

// File replaces the content of a cluster's file, documents in YAML; objects missing from it are
// deleted.
func (w *World) File(cluster, file string, content []byte) error {
	if err := w.cluster(cluster, nil); err != nil {
		return err
	}
	w.log = append(w.log, fmt.Sprintf("%s/%s\n%s", cluster, file, content))
	var refs []api.Ref
	for doc := range strings.SplitSeq("\n"+string(content), "\n---") {
		json, err := yaml.YAMLToJSON([]byte(doc))
		o := new(Object)
		if err == nil {
			err = yaml.Unmarshal(json, &o.doc)
		}
		if err != nil {
			return err
		}
		if o.doc == nil {
			continue
		}
		kind, _ := o.doc["kind"].(string)
		k, ok := api.ParseKind(kind)
		if !ok {
			return fmt.Errorf("no kind %q", kind)
		}
		m := o.at("metadata")
		if m["namespace"] == nil {
			m["namespace"] = "default"
		}
		ref := api.Ref{Kind: k, Name: fmt.Sprint(m["namespace"], "/", m["name"])}
		if err := w.put(k, ref.Name, json); err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	if w.files == nil {
		w.files = make(map[string][]api.Ref)
	}
	for _, ref := range w.files[cluster+"/"+file] {
		if !slices.Contains(refs, ref) {
			_ = w.put(ref.Kind, ref.Name, nil)
		}
	}
	w.files[cluster+"/"+file] = refs
	return nil
}

func set[T any](c *api.Cluster, name string, json []byte, decode func(string, []byte) (*T, error), in *tree.Map[*T],
	meta func(*T) *api.Meta,
) error {
	e := in.Edit()
	if e.Delete(name); json != nil {
		o, err := decode(c.Name, json)
		if err != nil {
			return err
		}
		c.Pools.Mark(meta(o))
		e.Set(name, o)
	}
	*in = e.Map()
	return nil
}

// Objects returns the world's objects, with the changes since the last call.
func (w *World) Objects() api.Objects {
	in := w.in
	w.in.AcquiredChanged, w.in.SerialsChanged = nil, nil
	if w.incumbents && w.lastComplete != nil {
		in.Incumbents = w.lastComplete
	}
	for i, c := range w.list {
		next := *c
		next.Changed = nil
		for ref := range w.changed[i] {
			next.Changed = append(next.Changed, ref)
		}
		w.changed[i] = make(map[api.Ref]bool)
		in.Clusters = append(in.Clusters, &next)
	}
	return in
}

// targets yields the targets at an address, by key, of both snapshots.
func (w *World) targets(address string) iter.Seq2[string, *health.Target] {
	return func(yield func(string, *health.Target) bool) {
		for _, s := range [...]*records.Snapshot{w.Snapshot, w.Whole} {
			if s == nil {
				continue
			}
			for key, target := range s.Checks().All() {
				if target.Address == address && !yield(key, target) {
					return
				}
			}
		}
	}
}

// outcomes are the reasons in outcome lines.
var outcomes = map[string]health.Outcome{
	"Good": {}, "StatusCode": {Reason: health.StatusCode, Status: 503}, "ConnectionRefused": {Reason: health.ConnectionRefused},
	"NoRoute": {Reason: health.NoRoute}, "Forbidden": {Reason: health.Forbidden},
}

func (w *World) outcome(address string, words []string) error {
	times, o := 1, outcomes[words[0]]
	if len(words) > 1 {
		if _, err := fmt.Sscan(words[1], &times); err != nil {
			return err
		}
	}
	if o.Reason.String() == "" && words[0] != "Good" {
		return fmt.Errorf("no outcome %q", words[0])
	}
	if w.outcomes == nil {
		w.outcomes = make(map[string][]health.Outcome)
	}
	for key, target := range w.targets(address) {
		for range times {
			target.Cell.Observe(o, target.Terms)
		}
		if known, _ := w.Snapshot.Checks().Get(key); known == target {
			w.outcomes[key] = append(w.outcomes[key], slices.Repeat([]health.Outcome{o}, times)...)
		}
	}
	return nil
}

// Register makes the registry hold what a writer would keep of the newest snapshot, and returns
// that. A line stays until its object is known to be gone (rule 5.4).
func (w *World) Register() map[string]api.Owner {
	lines := maps.Collect(w.Snapshot.ZoneOwners())
	for group := range w.Snapshot.Groups() {
		maps.Insert(lines, w.Snapshot.Owners(group))
	}
	e := w.in.Acquired.Edit()
	for key, was := range w.in.Acquired.All() {
		is, ok := lines[key]
		if ok && was.Is(is.Kind, &api.Meta{Cluster: is.Cluster, Name: is.Name, UID: is.UID}) {
			continue
		}
		if gone, known := w.Snapshot.Gone(key, was); known && !gone {
			lines[key] = was
		} else {
			e.Delete(key)
			w.in.AcquiredChanged = append(w.in.AcquiredChanged, key)
		}
	}
	for key, o := range lines {
		if was, ok := w.in.Acquired.Get(key); !ok || was != o {
			e.Set(key, o)
			w.in.AcquiredChanged = append(w.in.AcquiredChanged, key)
		}
	}
	w.in.Acquired = e.Map()
	return lines
}
