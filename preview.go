package kuadrant

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/console"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// mostLeftOut is how many lines a preview has about what of the manifests does not count.
const mostLeftOut = 50

// Preview implements console.Source. What it compiles shares all that stays with the snapshot that
// queries are answered from, and is forgotten when it has been compared.
func (s *server) Preview(p console.PreviewRequest) (*inspect.Preview, error) {
	e := s.engine
	var left []string
	unread := ""
	name, err := e.previewCluster(p.Cluster)
	if err != nil {
		return nil, err
	}
	sel := e.settings().reads
	sel.Pools = e.poolsNow(name)
	applied, stated, err := source.ReadManifests(source.DirectoryOptions{
		Cluster: name, Selection: sel, Infof: func(string, ...any) {},
		Logf: func(format string, args ...any) {
			line := fmt.Sprintf(format, args...)
			if source.IsSkipped(line) {
				unread = cmp.Or(unread, strings.TrimPrefix(line, "standard input: "))
			}
			if len(left) < mostLeftOut {
				left = append(left, line)
			}
		},
	}, bytes.NewReader(p.Manifests), source.Stdin)
	if of := (*source.ManifestError)(nil); errors.As(err, &of) {
		return nil, &inspect.RequestError{Field: "manifests", Text: of.Text}
	}
	if unread != "" { // as kubectl apply would say
		return nil, &inspect.RequestError{Field: "manifests", Text: unread}
	}
	before, after, err := e.imagine(name, applied, api.Application{Stated: stated, Prune: p.Prune, Now: e.now().Unix()})
	if err != nil {
		return nil, err
	}
	var space *geo.Space
	if e.settings().locator != nil {
		space = e.settings().locator.Space(nil)
	}
	found := inspect.Compare(before, after, space, nil)
	found.LeftOut = left
	return found, nil
}

// previewCluster returns the cluster that manifests would be applied to.
func (e *engine) previewCluster(name string) (string, error) {
	var known []string
	if snap := e.snap.Load(); snap != nil {
		for _, c := range snap.Objects().Clusters {
			if known = append(known, c.Name); c.Name == name || c.Name == corefile.LocalCluster && name == "" {
				return c.Name, nil
			}
		}
	}
	if len(known) == 1 && name == "" {
		return known[0], nil
	}
	text := fmt.Sprintf("%.60q is no cluster that is read here", name)
	if name == "" {
		text = "several clusters are read here: say which"
	}
	return "", &inspect.RequestError{Field: "cluster", Text: text + ": there are " + strings.Join(known, ", "), NotFound: name != ""}
}

// imagine returns the snapshot of now, and what would come of it if objects were applied.
func (e *engine) imagine(name string, applied *api.Cluster, how api.Application) (before, after *records.Snapshot, err error) {
	e.compiling.Lock()
	defer e.compiling.Unlock()
	before = e.snap.Load()
	in := before.Objects()
	clusters := make([]*api.Cluster, len(in.Clusters))
	for i, c := range in.Clusters {
		same := *c
		same.Changed, same.Inferred = nil, nil
		if clusters[i] = &same; c.Name == name {
			clusters[i] = c.Applied(applied, how)
		}
	}
	in.Clusters, in.AcquiredChanged, in.SerialsChanged = clusters, nil, nil
	return before, records.Compile(before, in, e.settings().opt, e.now()), nil
}

// poolsNow says in which namespaces the objects of a cluster are the same as those of others.
func (e *engine) poolsNow(name string) api.Pools {
	for _, c := range e.snap.Load().Objects().Clusters {
		if c.Name == name {
			return c.Pools
		}
	}
	return api.Pools{}
}
