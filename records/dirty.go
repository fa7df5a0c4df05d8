package records

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// dirty is what one compile makes anew: groups of names, and verdicts of objects. Its fields are set by its methods alone. Every stage may
// mark groups until they are resolved; resolving marks those on whose names changed owners have claims.
type dirty struct {
	// exists reports whether there is a group of that key, or may be one because its names are reserved.
	exists func(key string) bool
	// secrets are the namespaces in which everything that depends on Secrets is made anew, by the index of the cluster.
	secrets [][]string
	// groups are the groups to resolve, by key; order has them as they were found, due by turn (turnOf): names claim what lies below them,
	// so that a group is resolved after those above, and those of names with labels that begin with _ after all others.
	groups map[string]*groupChange
	order  []*groupChange
	due    [2 * maxDepth][]*groupChange
	// objects are those whose verdicts may change; some are there twice.
	objects []object
	// moved are the names of Records that came or went, and so may have another owner; cut are those of NS records. lined are the names
	// whose lines in the registry differ.
	moved, cut, lined map[string]struct{}
}

// groupChange is what one compile takes from a group and adds to it.
type groupChange struct {
	key   string
	drop  map[*endpoint.Contender]struct{} // nil for none
	add   []*endpoint.Contender
	names []string          // at which records of several namespaces met
	group *status.NameGroup // the result, once resolved
}

// object names an object of a cluster.
type object struct {
	cluster string
	ref     api.Ref
}

func (o object) compare(p object) int {
	return cmp.Or(strings.Compare(o.cluster, p.cluster), cmp.Compare(o.ref.Kind, p.ref.Kind), strings.Compare(o.ref.Name, p.ref.Name))
}

// maxDepth is more than the labels of any name.
const maxDepth = 128

// turnOf returns when a group is resolved: the index of dirty.due.
func turnOf(key string) int {
	n := dns.CountLabel(key)
	if endpoint.Underscored(key) {
		n += maxDepth
	}
	return n
}

// newDirty returns what is dirty before anything is; expected is roughly how many objects change.
func newDirty(expected int, exists func(key string) bool) *dirty {
	return &dirty{
		exists: exists, groups: make(map[string]*groupChange, expected), order: make([]*groupChange, 0, expected),
		objects: make([]object, 0, expected), moved: make(map[string]struct{}), cut: make(map[string]struct{}), lined: make(map[string]struct{}),
	}
}

// group has the group of that key resolved anew.
func (d *dirty) group(key string) *groupChange {
	ch := d.groups[key]
	if ch == nil {
		ch = &groupChange{key: key}
		d.groups[key] = ch
		d.order = append(d.order, ch)
		turn := turnOf(key)
		d.due[turn] = append(d.due[turn], ch)
	}
	return ch
}

// knownGroup has the group of that key resolved anew, if it exists.
func (d *dirty) knownGroup(key string) {
	if d.exists(key) {
		d.group(key)
	}
}

// contender has the group of a contender resolved anew.
func (d *dirty) contender(who *endpoint.Contender) { d.group(endpoint.GroupKey(who.Host)) }

// lose has a contender leave its group.
func (d *dirty) lose(who *endpoint.Contender) {
	ch := d.group(endpoint.GroupKey(who.Host))
	if ch.drop == nil {
		ch.drop = make(map[*endpoint.Contender]struct{}, 1)
	}
	ch.drop[who] = struct{}{}
}

// gain has a contender enter its group.
func (d *dirty) gain(who *endpoint.Contender) {
	ch := d.group(endpoint.GroupKey(who.Host))
	ch.add = append(ch.add, who)
}

// contend has it decided anew who has a name at which several namespaces have Records.
func (d *dirty) contend(name string) {
	ch := d.group(endpoint.GroupKey(name))
	ch.names = append(ch.names, name)
}

// resolved notes the result of a change.
func (d *dirty) resolved(ch *groupChange, g *status.NameGroup) { ch.group = g }

// turns yields the groups to resolve together, turn by turn. Meanwhile, only groups of later turns may be marked: a mark in this one is lost.
func (d *dirty) turns() iter.Seq[[]*groupChange] {
	byKey := func(a, b *groupChange) int { return strings.Compare(a.key, b.key) }
	return func(yield func([]*groupChange) bool) {
		for turn := range d.due {
			slices.SortFunc(d.due[turn], byKey)
			if !yield(d.due[turn]) {
				return
			}
		}
	}
}

// keys returns the keys of the groups, sorted.
func (d *dirty) keys() []string {
	all := make([]string, len(d.order))
	for i, change := range d.order {
		all[i] = change.key
	}
	slices.Sort(all)
	return all
}

// noteRecord notes that a Record came or went.
func (d *dirty) noteRecord(r *endpoint.Record) {
	if r.Owns() {
		d.moved[r.Name] = struct{}{}
	}
	if r.IsDelegation() {
		d.cut[r.Name] = struct{}{}
	}
}

// noteLine notes that a name has another line of the registry: its owner is the same for longer or shorter.
func (d *dirty) noteLine(name string) { d.lined[name] = struct{}{} }

// secretsIn notes in which namespaces of clusters everything is made anew that depends on Secrets; before and now have the registry.
func (d *dirty) secretsIn(clusters clusterSet, before, now *api.Objects) {
	for _, e := range clusters {
		d.secrets = append(d.secrets, e.secretsMoved(before, now))
	}
}

// object has an object's verdict made anew, and compared with that before.
func (d *dirty) object(cluster string, kind api.Kind, name string) {
	d.objects = append(d.objects, object{cluster, api.Ref{Kind: kind, Name: name}})
}

// objectOf has the verdict of a contender's object made anew.
func (d *dirty) objectOf(who *endpoint.Contender) { d.object(who.By.Cluster, who.Kind, who.By.Name) }

// objectsAt has the verdicts of the objects made anew that have Records at n.
func (d *dirty) objectsAt(n *zone.Node) {
	for _, r := range n.Records {
		d.object(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
	}
}

// sorted sorts the objects, and leaves each once.
func (d *dirty) sorted() []object {
	slices.SortFunc(d.objects, object.compare)
	d.objects = slices.Compact(d.objects)
	return d.objects
}
