package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// Bounds of what a completion looks at, as somebody waits for it: how long a server may take, and how many octets of
// manifests are read.
const (
	completionTime = 2 * time.Second
	completionSize = 1 << 20
)

// pathFlags are the flags whose values are files, which the shell completes.
var pathFlags = []string{"filename", "corefile", "geoip", "nets", "token-file", "names", "clients", "against"}

// completeValues lets a shell complete the values of flags and arguments of a command and those below it.
func completeValues(c *cobra.Command, o *options) {
	fixed := func(values ...cobra.Completion) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	types := fixed("A", "AAAA", "CNAME", "TXT", "NS", "SOA", "MX", "SRV", "CAA", "HTTPS")
	zones := o.completer(func(ctx context.Context, r reader, _ string) (names []string) {
		all, _ := r.Zones(ctx)
		for _, z := range all {
			names = append(names, z.Name)
		}
		return names
	})
	values := map[string]cobra.CompletionFunc{
		"output": fixed(outputs...), "type": types, "types": types, "in": zones, "live": zones, "state": fixed(inspect.TargetStates...),
	}
	if c.Name() == "names" {
		values["state"] = fixed(inspect.StateFailing, inspect.StateImpaired, inspect.StateContended)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := values[f.Name]
		if complete == nil {
			complete = cobra.NoFileCompletions
		}
		if !slices.Contains(pathFlags, f.Name) {
			_ = c.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that there is not, or the second time
		}
	})
	c.ValidArgsFunction = cobra.NoFileCompletions
	if before, named := map[string]int{"explain": 0, "compare": 1}[c.Name()]; named {
		names := o.completer(servedNames)
		c.ValidArgsFunction = func(c *cobra.Command, args []string, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) < before || c.ValidateArgs(append(slices.Clone(args), part)) != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(c, args, part)
		}
	}
	for _, sub := range c.Commands() {
		completeValues(sub, o)
	}
}

// servedNames returns the first names that are served, with a part in them.
func servedNames(ctx context.Context, r reader, part string) (names []string) {
	if page, err := r.Names(ctx, inspect.Filter{Contains: part}); err == nil {
		for _, n := range page.Names {
			names = append(names, n.Name)
		}
	}
	return names
}

// completer returns what completes a word with what list finds in what the flags name, unless that takes long. What goes wrong is not
// told.
func (o *options) completer(list func(ctx context.Context, r reader, part string) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, part string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		if r := o.quickReader(); r != nil {
			names = list(ctx, r, part)
		}
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, part) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// quickReader returns what answers questions while somebody waits: a server, or manifests that are few enough; nil for nothing.
func (o *options) quickReader() reader {
	if o.server != "" {
		if client, err := o.client(); err == nil {
			return client
		}
		return nil
	}
	w, sets, err := o.find()
	if err != nil {
		return nil
	}
	size := int64(0)
	for _, set := range sets {
		for _, path := range set.paths {
			files, err := source.ManifestFiles(path)
			if path == source.Stdin || err != nil {
				return nil
			}
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					size += info.Size()
				}
			}
		}
	}
	if size > completionSize {
		return nil
	}
	for _, set := range sets {
		w.read(set, nil)
	}
	return &local{inspect.View{Snapshot: w.compile(w.clusters)}} // nobody asks where clients are
}
