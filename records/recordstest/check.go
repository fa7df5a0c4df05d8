package recordstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// askedTypes are queried at every name.
var askedTypes = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, dns.TypeDS,
	dns.TypeMX, 65280,
}

// clients take turns as the source of queries.
var clients = []netip.Addr{
	netip.MustParseAddr("10.1.0.7"), netip.MustParseAddr("10.2.0.7"), netip.MustParseAddr("192.0.2.77"),
	netip.MustParseAddr("10.4.0.7"),
}

// Step compiles the current world. It checks that the result equals a compile from nothing, that
// changes are reported, and that every answer keeps the invariants. If not, it fails the test with
// a short way to the same problem.
func (w *World) Step(t testing.TB) *records.Snapshot {
	t.Helper()
	w.log = append(w.log, "step")
	if problems := w.step(); len(problems) > 0 {
		t.Fatalf("%s\nafter\n%s", strings.Join(problems[:min(len(problems), 12)], "\n"), strings.Join(w.reduced(), "\n"))
	}
	return w.Snapshot
}

func (w *World) step() (problems []string) {
	in, before, whole := w.Objects(), w.Snapshot, w.Whole
	if w.steps++; before != nil && w.steps%4 == 0 && !before.Behind() && w.outcomes == nil { // else it would change their cells
		problems = branch(before, in, w.Options, w.Now)
	}
	w.next(in)
	is := Facts(w.Snapshot)
	problems = slices.Concat(problems, difference(is, Facts(w.Whole)), invariants(w.Snapshot))
	if before != nil {
		was := Facts(before)
		problems = append(problems, changes(before, w.Snapshot, was, is)...)
		if whole != nil {
			for _, d := range difference(was, Facts(whole)) {
				problems = append(problems, "the snapshot before has changed: "+d)
			}
		}
	}
	for _, z := range w.Snapshot.Zones() {
		problems = append(problems, w.publish(z)...)
	}
	return problems
}

// Compile compiles the current world, as Step does, and checks nothing.
func (w *World) Compile() {
	in := w.Objects()
	w.steps++
	w.next(in)
}

func (w *World) next(in api.Objects) {
	w.Snapshot, w.Whole = w.compile(in)
	w.remember()
}

// Applied returns the lines that have been applied, and "step" for each Step.
func (w *World) Applied() []string { return w.log }

// generation is a version of a zone as transferred.
type generation struct {
	soa     string
	content map[string]int
}

// publish records a zone's transfer. It checks that a serial never has two contents, and that the
// journal leads here from each generation that it knows (RFC 1995 §4).
func (w *World) publish(z *records.Zone) (problems []string) {
	if z = z.PublishedVersion(); z == nil {
		return nil
	}
	if w.generations == nil {
		w.generations = make(map[string]map[uint32]generation)
	}
	if w.generations[z.Origin()] == nil {
		w.generations[z.Origin()] = make(map[uint32]generation)
	}
	all, now := w.generations[z.Origin()], generation{z.SOA().String(), content(z)}
	if was, ok := all[z.Serial()]; ok && (was.soa != now.soa || !maps.Equal(was.content, now.content)) {
		problems = append(problems, fmt.Sprintf("zone %s: serial %d was %v, and is %v", z.Origin(), z.Serial(), was, now))
	}
	all[z.Serial()] = now
	for serial, was := range all {
		deltas, ok := z.Since(serial)
		if !ok {
			continue
		}
		soa, way := was.soa, maps.Clone(was.content)
		for _, d := range deltas {
			if d.Old.String() != soa || d.Old.Serial == d.New.Serial {
				problems = append(problems, fmt.Sprintf("zone %s: a step from %s after %s", z.Origin(), d.Old, soa))
			}
			soa = d.New.String()
			for _, rr := range d.Removed {
				way[rr.String()]--
			}
			for _, rr := range d.Added {
				way[rr.String()]++
			}
		}
		if maps.DeleteFunc(way, func(_ string, n int) bool { return n == 0 }); soa != now.soa || !maps.Equal(way, now.content) {
			problems = append(problems, fmt.Sprintf("zone %s: its journal leads from %d to %v %v\nand not to %v", z.Origin(), serial, soa, way, now))
		}
	}
	return problems
}

// branch compiles one possible change without the other changes of that object, as previews and the
// guard do (rule 8.5). It checks that the result equals a compile from nothing, and does not affect
// Step.
func branch(before *records.Snapshot, in api.Objects, opt *records.Options, now time.Time) (problems []string) {
	in.Clusters, in.ActiveGroups = slices.Clone(in.Clusters), before.Objects().ActiveGroups
	for i, c := range in.Clusters {
		less := *c
		changed := slices.SortedFunc(slices.Values(c.Changed), func(a, b api.Ref) int { // the same order each time
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
		})
		for _, ref := range changed[:min(1, len(changed))] {
			less.Adopt(ref.Kind, new(api.Cluster), slices.Values([]string{ref.Name}))
		}
		in.Clusters[i] = &less
	}
	tried, fresh := records.Compile(before, in, opt, now), records.Compile(nil, in, opt, now)
	for key, target := range fresh.Checks().All() { // a check that differs only in its terms starts with the known state (rule 4.7)
		if known, ok := tried.Checks().Get(key); ok && known.Cell.Load().Known() {
			target.Cell.Set(known.Cell.Load().Found())
		}
	}
	for _, d := range difference(Facts(tried), Facts(fresh)) {
		problems = append(problems, "what might be: "+d)
	}
	return problems
}

// maxReplays bounds the replays of reduced.
const maxReplays = 300

// reduced returns the log without the lines that the problem does not need, as far as it can find
// them: it leaves out smaller and smaller parts.
func (w *World) reduced() []string {
	log, replays := w.log, 0
	for size := len(log) / 2; size > 0 && replays < maxReplays; size /= 2 {
		for from := 0; from+size < len(log) && replays < maxReplays; replays++ {
			if less := slices.Delete(slices.Clone(log), from, from+size); w.fails(less) {
				log = less
			} else {
				from += size
			}
		}
	}
	return log
}

// fails reports whether a log leads to a problem under w's options.
func (w *World) fails(log []string) bool {
	again := &World{Options: w.Options, Now: w.Now, Aside: w.Aside, found: make(map[string]health.State)}
	for _, text := range log {
		if text == "step" {
			if len(again.step()) > 0 {
				return true
			}
			continue
		}
		for _, block := range blocks(text) {
			if again.line(block) != nil {
				return false
			}
		}
	}
	return false
}

// remember gives the checks of both snapshots the world's results: targets with other terms inherit
// them (rule 4.7).
func (w *World) remember() {
	for key, target := range w.Snapshot.Checks().All() {
		if word := target.Cell.Load(); word.Known() && w.outcomes[key] == nil {
			w.found[key] = word.Found()
		}
	}
	for key, all := range w.outcomes {
		if target, ok := w.Whole.Checks().Get(key); ok {
			for _, o := range all {
				target.Cell.Observe(o, target.Terms)
			}
		}
		delete(w.found, key)
	}
	for key, state := range w.found {
		for _, s := range [...]*records.Snapshot{w.Snapshot, w.Whole} {
			if target, ok := s.Checks().Get(key); ok {
				target.Cell.Set(state)
			} else {
				delete(w.found, key) // with its last user
			}
		}
	}
}

// Names returns the names of a snapshot, the names between them and their zones, and some that do
// not exist.
func Names(s *records.Snapshot) []string {
	names := make(map[string]bool)
	for name := range s.Differing(new(records.Snapshot)) {
		rest, _ := strings.CutPrefix(name, "*.")
		names["x."+name], names["some."+rest] = true, true
		for off, end := 0, false; !end && s.Zone(name[off:]) != nil; off, end = dns.NextLabel(name, off) {
			names[name[off:]] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { _, ok := dns.IsDomainName(name); return !ok || s.Zone(name) == nil })
	return slices.Sorted(maps.Keys(names))
}

// Facts returns everything that a snapshot says, except what depends on its history: serials.
func Facts(s *records.Snapshot) map[string]string {
	f := make(map[string]string)
	for _, z := range s.Zones() {
		soa := *z.SOA()
		soa.Serial = 0
		f["zone "+z.Origin()] = fmt.Sprint(z.Hash(), &soa, z.Names(), z.Listed, z.Conflicts, z.StandsIn(), z.CorefileZone(), s.Lists(z))
		f["transfer "+z.Origin()] = strings.Join(slices.Sorted(maps.Keys(content(z))), "\n")
		for n := range s.Names(z, "", nil) {
			f["listed "+n.Name] = text(n)
			f["data "+n.Name] = text(n.Owner) + fmt.Sprint(n.Types, n.Members)
		}
	}
	for i, name := range Names(s) {
		if tree, ok := s.Tree(name); ok {
			f["tree "+name] = text(tree)
		}
		for j, qtype := range askedTypes {
			q := records.Query{
				Name: name, Owner: name, Type: qtype, Client: clients[(i+j)%len(clients)], Locator: Network,
				Random: uint64(i+j) * 0x9e3779b97f4a7c15, Signed: j%2 == 1,
			}
			var a records.Answer
			s.Lookup(s.ZoneOf(name, qtype), &q, &a)
			f["answer "+name+" "+dns.Type(qtype).String()] = answer(&a)
		}
	}
	for _, c := range s.Objects().Clusters {
		for _, k := range [...]api.Kind{api.KindDNSPolicy, api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(k, "") {
				ref := api.Ref{Kind: k, Name: name}
				f["verdict "+c.Name+" "+k.String()+" "+name] = verdict(s, c.Name, ref)
				if k == api.KindDNSPolicy || k == api.KindDNSRecord {
					f["children "+c.Name+" "+k.String()+" "+name] = children(s, c.Name, ref)
				}
				if v, rows := s.RecordStatus(c.Name, name); k == api.KindDNSRecord && v != nil {
					f["status "+c.Name+" "+name] = fmt.Sprint(*v, rows)
				}
			}
		}
		for name := range c.Gateways.All() {
			if v := s.Affected(c.Name, name); v != nil {
				f["affected "+c.Name+" "+name] = fmt.Sprint(*v)
			}
		}
		for name := range c.Policies.All() {
			if v := s.StatusNow(c.Name, name); v != nil {
				f["status "+c.Name+" "+name] = fmt.Sprint(*v)
			}
		}
	}
	for p, why := range s.ProbeProblems(Probes(s)) {
		f["probe "+p.Cluster+" "+p.Name] = why
	}
	for group := range s.Groups() {
		has := maps.Collect(s.Owners(group))
		for host, o := range has {
			o.Since = 0 // what has no line yet is as new as the snapshot
			has[host] = o
		}
		if len(has) > 0 { // a group may exist only for a reservation
			f["holdings "+group] = text(has)
		}
		for host, is := range s.Hosts(group) {
			f["host "+host] = fmt.Sprint(is)
		}
	}
	f["sites"], f["unmet"], f["denied"], f["open"] = text(maps.Collect(s.ZoneOwners())), fmt.Sprint(s.Unmet()), fmt.Sprint(s.Denied()),
		fmt.Sprint(s.Open())
	f["conflicts"], f["troubles"], f["unread"] = sorted(s.Conflicts()), sorted(s.Troubles()), text(maps.Collect(s.UnreadNames()))
	for key, target := range s.Checks().All() {
		f["check "+key] = fmt.Sprint(target.Key() == key, target.Missing, slices.Compact(slices.Sorted(s.Checks().Users(key))))
	}
	return f
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// sorted formats an unordered sequence.
func sorted[T any](all iter.Seq[T]) string {
	var lines []string
	for v := range all {
		lines = append(lines, text(v))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func verdict(s *records.Snapshot, cluster string, ref api.Ref) string {
	v := s.Verdict(cluster, ref)
	if v == nil {
		return ""
	}
	said := *v
	said.Kept.Serial = 0 // it depends on the history
	return fmt.Sprintf("%+v", said)
}

func children(s *records.Snapshot, cluster string, ref api.Ref) string {
	there, wanted := s.Existing(cluster, ref), s.Children(cluster, ref)
	if len(there)+len(wanted) == 0 {
		return ""
	}
	slices.SortFunc(there, func(a, b api.Ref) int { return strings.Compare(a.Name+a.Kind.String(), b.Name+b.Kind.String()) })
	return text(wanted) + fmt.Sprint(there)
}

func answer(a *records.Answer) string {
	return fmt.Sprintln(a.Referral, a.Unlisted, a.Scope, a.Located, a.Owner(), a.Member(), a.Geo, a.GeoClass, a.Class) + sections(a)
}

// sections formats the message of an answer.
func sections(a *records.Answer) string {
	var b strings.Builder
	b.WriteString(dns.RcodeToString[a.Rcode])
	for i, rrs := range [...][]dns.RR{a.Answer, a.Ns, a.Extra} {
		for _, rr := range rrs {
			if soa, ok := rr.(*dns.SOA); ok {
				c := *soa
				c.Serial, rr = 0, &c
			}
			fmt.Fprint(&b, "\n", i, " ", rr)
		}
	}
	return b.String()
}

// difference lists the facts that differ.
func difference(step, nothing map[string]string) (all []string) {
	for key, a := range step {
		if b, ok := nothing[key]; !ok || a != b {
			all = append(all, fmt.Sprintf("%s\nstep by step: %s\nfrom nothing: %s", key, a, b))
		}
	}
	for key, b := range nothing {
		if _, ok := step[key]; !ok {
			all = append(all, fmt.Sprintf("%s\nonly from nothing: %s", key, b))
		}
	}
	slices.Sort(all)
	return all
}

// content returns the records of a zone's transfer, each with its count.
func content(z *records.Zone) map[string]int {
	c := make(map[string]int)
	for set := range z.Transfer() {
		for _, rr := range set {
			c[rr.String()]++
		}
	}
	return c
}

// changes lists the changes between two snapshots that are reported wrongly or not at all.
func changes(before, after *records.Snapshot, was, is map[string]string) (all []string) {
	wrong := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	verdicts, parents, differing := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, c := range after.Changed() {
		verdicts["verdict "+c.Cluster+" "+c.Ref.Kind.String()+" "+c.Ref.Name] = true
	}
	for _, p := range after.ChildrenChanged() {
		parents["children "+p.Cluster+" "+p.Of.Kind.String()+" "+p.Of.Name] = true
	}
	for name := range before.Differing(after) {
		differing[name] = true
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for key := range both {
		what, name, _ := strings.Cut(key, " ")
		switch same := was[key] == is[key]; {
		case what == "verdict" && same == verdicts[key] && !strings.Contains(key, " DNSPolicy "):
			wrong("%s: it is reported as changed: %v\nwas %s\nis %s", key, !same, was[key], is[key])
		case what == "children" && !same && !parents[key] && after.ChildrenChanged() != nil:
			f := strings.Fields(key) // one may be there before its parent
			k, _ := api.ParseKind(f[2])
			if a, b := children(before, f[1], api.Ref{Kind: k, Name: f[3]}), children(after, f[1], api.Ref{Kind: k, Name: f[3]}); a != b {
				wrong("%s: they are not reported as changed\nwas %s\nis %s", key, a, b)
			}
		case what == "data" && !same && !differing[name+"."]:
			wrong("%s: it is not among those that differ\nwas %s\nis %s", key, was[key], is[key])
		}
	}
	for group := range after.Groups() {
		if key := "holdings " + group; was[key] != is[key] && after.Renewed() != nil && !slices.Contains(after.Renewed(), group) {
			wrong("%s: they are not said to be made anew\nwas %s\nis %s", key, was[key], is[key])
		}
	}
	checks(before.Checks(), after.Checks(), wrong)
	for _, z := range after.Zones() {
		if old := before.Zone(z.Origin()); old != nil && old.Origin() == z.Origin() {
			follows(old, z, wrong)
		}
	}
	return all
}

// checks compares the targets of two snapshots: each keeps its cell, and differences are reported
// as changes.
func checks(before, after *records.Checks, wrong func(string, ...any)) {
	keys := make(map[string]*health.Target)
	for _, c := range [...]*records.Checks{before, after} {
		maps.Insert(keys, c.All())
	}
	for key := range keys {
		old, _ := before.Get(key)
		now, _ := after.Get(key)
		if after.Changed() != nil && slices.Contains(after.Changed(), key) != (old != now) {
			wrong("target %s: it is another one: %v", key, old != now)
		}
		if old != nil && now != nil && old.Cell != now.Cell {
			wrong("target %s: it has another cell", key)
		}
	}
}

// follows checks that a zone with other content has another serial, and that its journal leads
// there (rule 6.7).
func follows(old, z *records.Zone, wrong func(string, ...any)) {
	if same := old.Hash() == z.Hash(); same != (old.Serial() == z.Serial()) || int32(z.Serial()-old.Serial()) < 0 {
		wrong("zone %s: the same content: %v, and serial %d after %d", z.Origin(), same, z.Serial(), old.Serial())
	}
	if _, ok := z.Since(old.Serial()); !ok {
		wrong("zone %s: it does not know the way from %d to %d", z.Origin(), old.Serial(), z.Serial())
	}
}
