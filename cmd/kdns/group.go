package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newGroup returns the command group.
func newGroup(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "group",
		Short: "List groups of clusters, or make them active or not",
		Args:  cobra.NoArgs,
		RunE:  needsCommand("name what to do: list, activate or deactivate"),
	}
	c.AddCommand(listGroups(o), switchGroups(o, true), switchGroups(o, false))
	return c
}

func listGroups(o *options) *cobra.Command {
	var in string
	c := &cobra.Command{
		Use: "list", Short: "List the groups of clusters, and which are active", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return show(c, o, func(ctx context.Context, r reader) ([]inspect.Zone, error) { return groupedZones(ctx, r, in) }, groupRows)
		},
	}
	c.Flags().StringVar(&in, "in", "", "only groups in this zone")
	return c
}

// groupedZones returns the zones with groups: that of a name, or all for "".
func groupedZones(ctx context.Context, r reader, name string) (all []inspect.Zone, err error) {
	zones, err := r.Zones(ctx)
	if err != nil {
		return nil, failed(err)
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name != "" && !slices.ContainsFunc(zones, func(z inspect.Zone) bool { return z.Name == name }) {
		text := instead(name, func(yield func(string) bool) {
			for _, z := range zones {
				if !yield(z.Name) {
					return
				}
			}
		})
		return nil, &inspect.RequestError{Field: "zone", Text: fmt.Sprintf("no zone %s here; %ssee kdns list zones", name, text)}
	}
	return slices.DeleteFunc(zones, func(z inspect.Zone) bool { return z.Groups == nil || name != "" && z.Name != name }), nil
}

// noGroup says why there is nothing to switch.
const noGroup = "no cluster has a group: write group NAME in the Corefile, or annotate a cluster's Secret"

func groupRows(all []inspect.Zone) string {
	type row struct {
		zone string
		inspect.Group
	}
	var lines []row
	notes := ""
	for _, z := range all {
		for _, g := range z.Groups.Groups {
			lines = append(lines, row{z.Name, g})
		}
		if z.Groups.Wrong() || z.Groups.All {
			notes += z.Name + ": " + z.Groups.Text() + "\n"
		}
	}
	return rows(noGroup+"\n", "ZONE\tGROUP\tSTATE\tCLUSTERS", lines,
		func(r *row) string {
			state := "active"
			if !r.Active {
				state = "not active"
			}
			return strings.Join([]string{r.zone, r.Name, state, cmp.Or(strings.Join(r.Clusters, ", "), "-")}, "\t")
		}) + notes
}

// switchGroups returns the command that makes groups active, or not.
func switchGroups(o *options, on bool) *cobra.Command {
	var in, namespace string
	var preview bool
	word, does := "activate", "Make groups active"
	if !on {
		word, does = "deactivate", "Make groups not active"
	}
	c := &cobra.Command{
		Use: word + " GROUP...", Short: does + ": print the record that names the active ones", Args: cobra.MinimumNArgs(1),
		Long: does + ` in a zone: print the object with the TXT record that names the active groups, for
kubectl apply -f -. With --preview, show instead what it would change.`,
		Example: "  kdns group " + word + ` blue --in example.com --server http://localhost:8090 --preview
  kdns group ` + word + ` blue --in example.com --server http://localhost:8090 | kubectl apply -f -`,
		RunE: func(c *cobra.Command, groups []string) error {
			return o.tell(c, func(p *progress) (*outcome, error) {
				r, _, lacks, err := o.look(c, p)
				if err != nil {
					return nil, err
				}
				if lacks != nil {
					return nil, lacks
				}
				zones, err := groupedZones(c.Context(), r, in)
				if err != nil {
					return nil, err
				}
				z, err := oneZone(zones)
				if err != nil {
					return nil, err
				}
				texts, err := switched(z, groups, on)
				if err != nil {
					return nil, err
				}
				record, cluster, err := groupsRecord(z, texts, namespace)
				if err != nil {
					return nil, err
				}
				if !preview {
					return &outcome{found: record, text: func() string { return recordText(record) }}, nil
				}
				found, err := o.previewRecord(c.Context(), p, recordText(record), cluster)
				if err != nil {
					return nil, err
				}
				return &outcome{found, found.Text, !found.Same()}, nil
			})
		},
	}
	c.Flags().StringVar(&in, "in", "", "the zone, if groups are in several")
	c.Flags().StringVar(&namespace, "namespace", "", "the namespace of a new record, if the zone has several administering ones")
	c.Flags().BoolVar(&preview, "preview", false, "show what would change; the exit code is 1 if something does")
	return c
}

func oneZone(zones []inspect.Zone) (*inspect.Zone, error) {
	switch len(zones) {
	case 0:
		return nil, failed(errors.New(noGroup))
	case 1:
		return &zones[0], nil
	}
	var names []string
	for _, z := range zones[:min(len(zones), mostNear)] {
		names = append(names, z.Name)
	}
	return nil, fmt.Errorf("groups are in %d zones; name one with --in, such as %s", len(zones), strings.Join(names, ", "))
}

// switched returns the active groups of a zone once some are switched on or off.
func switched(z *inspect.Zone, groups []string, on bool) (*api.ActiveGroups, error) {
	clusters, active := make(map[string]bool), make(map[string]bool)
	for _, g := range z.Groups.Groups {
		clusters[g.Name] = len(g.Clusters) > 0
		active[g.Name] = g.Active
	}
	for _, name := range groups {
		if !clusters[name] && (on || !active[name]) {
			return nil, fmt.Errorf("no cluster has the group %s; %ssee kdns group list", name, instead(name, maps.Keys(clusters)))
		}
		active[name] = on
	}
	last := true
	for name, is := range active {
		last = last && !(is && clusters[name])
		if !is {
			delete(active, name)
		}
	}
	if last {
		return nil, failed(fmt.Errorf("no group of a cluster would be active in %s; activate another one first", z.Name))
	}
	return api.NewActiveGroups(slices.Collect(maps.Keys(active))...), nil
}

// groupsRecord returns the Record that names the active groups of a zone, and its cluster: for a new one the main one, else the first that
// has a group.
func groupsRecord(z *inspect.Zone, active *api.ActiveGroups, namespace string) (record map[string]any, cluster string, err error) {
	g := z.Groups
	text := fmt.Sprintf("%q", active.String())
	name := "active-groups-" + strings.ReplaceAll(z.Name, ".", "-")
	for _, group := range g.Groups {
		if slices.Contains(group.Clusters, defaultCluster) {
			cluster = defaultCluster
		} else if len(group.Clusters) > 0 {
			cluster = cmp.Or(cluster, group.Clusters[0])
		}
	}
	if len(g.Owners) > 1 {
		return nil, "", failed(fmt.Errorf("%s is in %s: delete all but one", g.Record, inspect.ObjectsText(g.Owners)))
	}
	var of *records.Object
	if len(g.Owners) == 1 {
		of = &g.Owners[0]
	}
	switch {
	case g.Alias != "":
		return nil, "", failed(fmt.Errorf("%s is a CNAME: set the TXT record of %s to %s", g.Record, g.Alias, text))
	case of != nil && of.Kind != api.KindRecord.String():
		return nil, "", failed(fmt.Errorf("%s is in %s: set its target to %s", g.Record, inspect.ObjectText(*of), text))
	case of != nil:
		cluster = of.Cluster
		namespace, name, _ = strings.Cut(of.Name, "/")
	case namespace != "" && !slices.Contains(g.Namespaces, namespace) && !slices.Contains(g.Namespaces, "*"):
		return nil, "", fmt.Errorf("namespace %s does not administer %s; %s", namespace, z.Name,
			cmp.Or(strings.Join(g.Namespaces, ", "), "none")+" does")
	case namespace != "":
	case len(g.Namespaces) == 1 && g.Namespaces[0] != "*":
		namespace = g.Namespaces[0]
	case len(g.Namespaces) == 0:
		return nil, "", failed(fmt.Errorf("no namespace administers %s: write zone-namespaces NAMESPACE in the Corefile", z.Name))
	default:
		return nil, "", fmt.Errorf("namespaces %s administer %s; name one with --namespace", strings.Join(g.Namespaces, ", "), z.Name)
	}
	return map[string]any{
		"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"domainName": dns.Fqdn(g.Record), "type": "TXT", "ttl": 60, "rdata": text},
	}, cluster, nil
}

// recordText returns what groupsRecord has made, in YAML.
func recordText(record map[string]any) string {
	meta, spec := record["metadata"].(map[string]any), record["spec"].(map[string]any)
	return fmt.Sprintf("apiVersion: %v\nkind: %v\nmetadata: {namespace: %v, name: %v}\nspec: {domainName: %v, type: %v, ttl: %v, rdata: '%v'}\n",
		record["apiVersion"], record["kind"], meta["namespace"], meta["name"], spec["domainName"], spec["type"], spec["ttl"], spec["rdata"])
}

// previewRecord shows what a manifest would change in what the flags name.
func (o *options) previewRecord(ctx context.Context, p *progress, manifest, cluster string) (*inspect.Preview, error) {
	to, on := *o, previewOf{cluster: cluster, against: o.filenames}
	to.filenames = []string{source.Stdin}
	found, _, err := to.preview(ctx, io.Reader(strings.NewReader(manifest)), p, on)
	return found, err
}
