package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newPreview returns the command preview.
func newPreview(o *options) *cobra.Command {
	var against []string
	var cluster string
	var prune bool
	c := &cobra.Command{
		Use:   "preview -f PATH [--against PATH|URL]",
		Short: "Show what would change if manifests were applied",
		Long: `Show what would change if the manifests of -f were applied with kubectl apply: names that appear, disappear
or change, members and weights, conflicts, and which share of the clients gets other addresses, by
the address space of the geo databases.

They are applied to what --against names: other manifests, or a running server. Without it, to the
manifests of the Corefile. An object without a status keeps its present one.

If that has one cluster, they are applied to it. If it has several, to the one of --cluster; with
manifests, also to the one of -f CLUSTER=PATH, or the one with the directory's name.

The exit code is 1 if something changes, as with kubectl diff.`,
		Example: `  kdns preview -f new/ --against current/ --corefile Corefile
  kdns preview -f policy.yaml --server http://localhost:8090`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if len(o.filenames) == 0 {
				return errors.New("name the manifests with -f PATH")
			}
			return o.tell(c, func(p *progress) (*outcome, error) {
				found, lacks, err := o.preview(c.Context(), c.InOrStdin(), p, previewOf{against, cluster, prune})
				if err != nil {
					return nil, err
				}
				for _, line := range found.LeftOut {
					p.warn("%s", line)
				}
				return &outcome{found, found.Text, !found.Same()}, lacks
			})
		},
	}
	c.Flags().StringArrayVar(&against, "against", nil,
		"apply to these manifests, [CLUSTER=]PATH, repeatable, or to a server, by the URL of its console")
	c.Flags().StringVar(&cluster, "cluster", "", "apply to this cluster, if there are several and -f names none")
	c.Flags().BoolVar(&prune, "prune", false, "remove objects that the manifests lack, of their kinds and in their namespaces")
	return c
}

// previewOf holds the flags of preview.
type previewOf struct {
	against []string
	cluster string
	prune   bool
}

// preview runs a preview. lacks says what the server has not read; nil for nothing.
func (o *options) preview(ctx context.Context, in io.Reader, p *progress, f previewOf) (found *inspect.Preview, lacks, err error) {
	server := o.server
	for _, a := range f.against {
		if scheme, _, url := strings.Cut(a, "://"); url && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
			if server != "" || len(f.against) > 1 {
				return nil, nil, errors.New("--against is either one server or manifests, and excludes --server")
			}
			server = a
		}
	}
	if server != "" {
		return o.previewOn(ctx, server, in, p, f)
	}
	found, err = o.previewHere(in, p, f)
	return found, nil, err
}

// previewOn asks a server for the preview.
func (o *options) previewOn(ctx context.Context, server string, in io.Reader, p *progress, f previewOf) (found *inspect.Preview,
	lacks, err error,
) {
	if o.corefile != "" || len(o.zones)+len(o.geoip) > 0 || o.nets != "" {
		return nil, nil, errors.New("the server has its own Corefile; remove --corefile, --zone, --geoip and --nets")
	}
	p.begin("reading manifests")
	body, places, err := manifestText(o.filenames, in)
	if err != nil {
		return nil, nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil, o.noObject()
	}
	client, err := o.clientOf(server)
	if err != nil {
		return nil, nil, err
	}
	p.begin("asking " + server)
	found, err = client.Preview(ctx, console.PreviewRequest{Manifests: body, Cluster: f.cluster, Prune: f.prune})
	of, asked := inspect.IsRequest(err)
	switch {
	case err == nil:
		for i := range found.LeftOut {
			found.LeftOut[i] = places.inFiles(found.LeftOut[i])
		}
		lacks, err = serverLacks(ctx, client, p)
		return found, lacks, err
	case asked && of.Field == "manifests":
		return nil, nil, failed(errors.New(places.inFiles(of.Text)))
	case asked && of.Field == "cluster":
		return nil, nil, fmt.Errorf("%s (--cluster NAME)", of.Text)
	}
	return nil, nil, failed(err)
}

// place is where a file begins in the concatenated text; line counts from 1.
type place struct {
	file string
	line int
}

// places are sorted by line.
type places []place

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// inFiles replaces the line numbers in a server's message by those of the files.
func (p places) inFiles(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "standard input: "), " in standard input", "")
	return lineNumber.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.Atoi(s[len("line "):])
		if err != nil {
			return s
		}
		for _, f := range slices.Backward(p) {
			if f.line-1 <= n { // a document begins at its separator
				return fmt.Sprintf("line %d of %s", max(1, n-f.line+1), f.file)
			}
		}
		return s
	})
}

// manifestText concatenates the manifests of paths, and returns where each file begins.
func manifestText(paths []string, in io.Reader) ([]byte, places, error) {
	var b bytes.Buffer
	var begins places
	add := func(name string, r io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(r, console.MaxManifests+1))
		if err != nil {
			return failed(fmt.Errorf("read %s: %w", name, err))
		}
		if b.Len() > 0 {
			b.WriteString("\n---\n")
		}
		begins = append(begins, place{name, 1 + bytes.Count(b.Bytes(), []byte("\n"))})
		if b.Write(data); b.Len() > console.MaxManifests {
			return failed(fmt.Errorf("the manifests have more than the %d MiB that a server accepts; preview a part of them, or "+
				"against manifests", console.MaxManifests>>20))
		}
		return nil
	}
	for _, path := range paths {
		if path == source.Stdin {
			if err := add("standard input", in); err != nil {
				return nil, nil, err
			}
			continue
		}
		if cluster, rest, named := cutCluster(path); named {
			return nil, nil, fmt.Errorf("-f %s: for a server, write -f %s --cluster %s", path, rest, cluster)
		}
		files, err := source.ManifestFiles(path)
		switch {
		case err != nil:
			return nil, nil, failed(err)
		case len(files) == 0:
			return nil, nil, noFile(path)
		}
		for _, file := range files {
			r, err := os.Open(file)
			if err != nil {
				return nil, nil, failed(err)
			}
			err = add(file, r)
			_ = r.Close()
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return b.Bytes(), begins, nil
}

// previewHere compares manifests with manifests, without a server.
func (o *options) previewHere(in io.Reader, p *progress, f previewOf) (*inspect.Preview, error) {
	base := *o
	if o.readsStdin() && slices.ContainsFunc(f.against, isStdin) {
		return nil, errors.New("-f - and --against - both read standard input; use a file for one of them")
	}
	base.filenames, base.mayBeEmpty = f.against, true
	w, err := base.load(in, p)
	if err != nil {
		return nil, err
	}
	o.byDefault = base.byDefault
	if err := w.whole(); err != nil {
		return nil, failed(fmt.Errorf("cannot read in full what they are applied to: %w", err))
	}
	clusters := slices.Clone(w.clusters)
	applied := &world{settings: w.settings}
	sets, err := o.appliedSets(w, f.cluster)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		p.begin("reading " + strings.Join(set.paths, ", "))
		i := slices.IndexFunc(clusters, func(c *api.Cluster) bool { return c.Name == set.cluster })
		stated := applied.read(set, in)
		c := applied.clusters[len(applied.clusters)-1]
		clusters[i] = clusters[i].Applied(c, api.Application{Stated: stated, Prune: f.prune, Now: time.Now().Unix()})
	}
	if err := applied.whole(); err != nil {
		return nil, failed(err)
	}
	if err := o.nothingIn(applied); err != nil {
		return nil, err
	}
	p.begin("compiling the result")
	after := records.Compile(w.snap, api.Objects{Clusters: clusters, Overrides: w.settings.Overrides}, w.settings.Options, time.Now())
	found := inspect.Compare(w.snap, after, w.space(p), func(done, all int) { p.begin(fmt.Sprintf("comparing names, %d of %d", done, all)) })
	found.LeftOut = slices.Concat(w.mixed, w.said, applied.said)
	return found, nil
}

// appliedSets returns the manifests to apply, one set per cluster, as each cluster's are applied at once. A set goes
// to the cluster of its own name, the one that the flags name, or the only one.
func (o *options) appliedSets(w *world, cluster string) ([]manifestSet, error) {
	paths, err := o.manifestPaths(w.settings)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, c := range w.clusters {
		known = append(known, c.Name)
	}
	there := "clusters are " + strings.Join(known, ", ")
	if cluster != "" && !slices.Contains(known, cluster) {
		return nil, fmt.Errorf("--cluster %q does not exist; %s", cluster, there)
	}
	for i := range paths {
		p := &paths[i]
		switch {
		case p.named && cluster != "" && p.cluster != cluster:
			return nil, fmt.Errorf("-f %s=%s and --cluster %s name two clusters; remove one of them", p.cluster, p.path, cluster)
		case slices.Contains(known, p.cluster) && (p.named || cluster == ""):
		case p.named:
			return nil, fmt.Errorf("-f %s=%s: no such cluster; %s", p.cluster, p.path, there)
		case cluster != "":
			p.cluster = cluster
		case len(known) == 1:
			p.cluster = known[0]
		default:
			return nil, fmt.Errorf("%s: name the cluster with --cluster NAME or -f CLUSTER=PATH; %s", p.path, there)
		}
	}
	return setsOf(paths), nil
}
