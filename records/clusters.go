package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// clusterEdit is the next version of a status.Cluster.
type clusterEdit struct {
	// in are its objects, before those that its version before was made of; nil if all is compiled from nothing.
	in, before *api.Cluster
	state      *status.Cluster
	targets    *tree.Edit[*endpoint.Target]
	published  *tree.Edit[*endpoint.Publication]
	verdicts   *tree.Edit[*api.Verdict]
	records    *tree.Edit[*endpoint.Record]
}

// clusterSet are the clusters of a compile, in the order of api.Objects.Clusters.
type clusterSet []*clusterEdit

// openClusters begins the next version of each cluster. prev is the snapshot that is changed; nil if all is compiled from nothing.
func openClusters(prev *Snapshot, in *api.Objects) clusterSet {
	all := make(clusterSet, len(in.Clusters))
	for i, c := range in.Clusters {
		e := &clusterEdit{in: c, state: &status.Cluster{Name: c.Name, UID: c.UID}}
		if prev != nil {
			*e.state, e.before = *prev.Clusters[i], prev.In.Clusters[i]
		}
		e.targets, e.published = e.state.Targets.Edit(), e.state.Published.Edit()
		e.verdicts, e.records = e.state.Verdicts.Edit(), e.state.Records.Edit()
		all[i] = e
	}
	return all
}

// expected returns roughly how many objects change.
func (all clusterSet) expected() (n int) {
	for _, e := range all {
		if e.before == nil {
			n += e.in.Policies.Len()
		} else {
			n += len(e.in.Changed)
		}
	}
	return n
}

// of returns the cluster of that name; nil for none.
func (all clusterSet) of(name string) *clusterEdit {
	if i := slices.IndexFunc(all, func(e *clusterEdit) bool { return e.in.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// record returns a Record of a cluster as it is placed now; nil for none.
func (all clusterSet) record(cluster, name string) *endpoint.Record {
	e := all.of(cluster)
	if e == nil {
		return nil
	}
	r, _ := e.records.Get(name)
	return r
}

// contenders yields those that there are now.
func (e *clusterEdit) contenders() iter.Seq[*endpoint.Contender] {
	return status.Contenders(e.targets.From(""), e.published.From(""))
}

// finish returns the new versions.
func (all clusterSet) finish() []*status.Cluster {
	done := make([]*status.Cluster, len(all))
	for i, e := range all {
		e.state.Targets, e.state.Published = e.targets.Map(), e.published.Map()
		e.state.Verdicts, e.state.Records = e.verdicts.Map(), e.records.Map()
		done[i] = e.state
	}
	return done
}

// secretsMoved returns the namespaces of a cluster in which everything that depends on Secrets is made anew: those with a changed Secret,
// and those of a changed registry line that names a missing Secret, or one of several defaults. before and now have the registry.
func (e *clusterEdit) secretsMoved(before, now *api.Objects) (namespaces []string) {
	add := func(namespace string) {
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	for _, ref := range e.in.Changed {
		if ref.Kind == api.KindSecret {
			namespace, _, _ := strings.Cut(ref.Name, "/")
			add(namespace)
		}
	}
	for _, key := range now.AcquiredChanged {
		for _, in := range [...]*api.Objects{before, now} {
			line, _ := in.Line(key)
			if line.Secret == "" {
				continue
			}
			if _, exists := e.in.Secrets.Get(line.Namespace() + "/" + line.Secret); !exists || endpoint.SeveralDefaults(e.in, line.Namespace()) {
				add(line.Namespace())
			}
		}
	}
	return namespaces
}
