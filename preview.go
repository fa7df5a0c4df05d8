package kuadrant

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/console"
	"github.com/coredns-kuadrant/kuadrant/engine"
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
	name, err := previewCluster(e.Snapshot(), p.Cluster)
	if err != nil {
		return nil, err
	}
	sel := e.Selection()
	sel.Pools = poolsIn(e.Snapshot(), name)
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
	before, after, err := e.Imagine(name, applied, api.Application{Stated: stated, Prune: p.Prune, Now: e.Now().Unix()})
	if err != nil {
		return nil, err
	}
	var space *geo.Space
	if db := e.Locator(); db != nil {
		space = db.Space(nil)
	}
	found := inspect.Compare(before, after, space, nil)
	found.LeftOut = left
	return found, nil
}

// previewCluster returns the cluster that manifests would be applied to.
func previewCluster(snap *records.Snapshot, name string) (string, error) {
	var known []string
	if snap != nil {
		for _, c := range snap.Objects().Clusters {
			if known = append(known, c.Name); c.Name == name || c.Name == engine.LocalCluster && name == "" {
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

// poolsIn says in which namespaces the objects of a cluster are the same as those of others.
func poolsIn(snap *records.Snapshot, name string) api.Pools {
	for _, c := range snap.Objects().Clusters {
		if c.Name == name {
			return c.Pools
		}
	}
	return api.Pools{}
}
