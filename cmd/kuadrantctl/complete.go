package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// Bounds of what a completion looks at, as somebody waits for it: how long a server may take, and how many octets of
// manifests are read.
const (
	completionTime = 2 * time.Second
	completionSize = 1 << 20
)

// pathFlags are the flags whose values are files, which the shell completes.
var pathFlags = []string{"filename", "corefile", "geoip", "nets", "token-file", "names", "clients", "against"}

// completeValues lets a shell complete the values of flags and arguments of root and the commands below it.
func completeValues(root *cobra.Command, o *options) {
	types := cobra.FixedCompletions([]cobra.Completion{"A", "AAAA", "CNAME", "TXT", "NS", "SOA", "MX", "SRV", "CAA", "HTTPS"},
		cobra.ShellCompDirectiveNoFileComp)
	values := map[string]cobra.CompletionFunc{
		"output": cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp),
		"type":   types, "types": types, "in": o.completeZones, "live": o.completeZones,
		"names state": cobra.FixedCompletions([]cobra.Completion{
			inspect.StateFailing, inspect.StateImpaired,
			inspect.StateContended,
		}, cobra.ShellCompDirectiveNoFileComp),
		"targets state": cobra.FixedCompletions(inspect.TargetStates, cobra.ShellCompDirectiveNoFileComp),
	}
	arguments := map[string]cobra.CompletionFunc{"explain": o.completeNames(0), "compare": o.completeNames(1)}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		flags := c.LocalFlags()
		flags.VisitAll(func(f *pflag.Flag) {
			complete := values[f.Name]
			if of := values[c.Name()+" "+f.Name]; of != nil {
				complete = of
			}
			if complete == nil {
				complete = cobra.NoFileCompletions
			}
			if !slices.Contains(pathFlags, f.Name) {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that there is not, or the second time
			}
		})
		if c.ValidArgsFunction = arguments[c.Name()]; c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
}

// completeZones completes the name of a zone that is served.
func (o *options) completeZones(c *cobra.Command, _ []string, part string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	o.complete(c, func(ctx context.Context, r reader) {
		zones, _ := r.Zones(ctx)
		for _, z := range zones {
			if strings.HasPrefix(z.Name, part) {
				names = append(names, z.Name)
			}
		}
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeNames returns what completes a name that is served, where there are as many arguments before it or more.
func (o *options) completeNames(before int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, part string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) >= before && c.ValidateArgs(append(slices.Clone(args), part)) == nil {
			o.complete(c, func(ctx context.Context, r reader) {
				page, err := r.Names(ctx, inspect.Filter{Contains: part})
				if err != nil {
					return
				}
				for i := range page.Names {
					if name := page.Names[i].Name; strings.HasPrefix(name, part) {
						names = append(names, name)
					}
				}
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete calls f with what the flags say is to be looked at, unless that takes long. What goes wrong is not told.
func (o *options) complete(c *cobra.Command, f func(context.Context, reader)) {
	ctx, cancel := context.WithTimeout(c.Context(), min(o.timeout, completionTime))
	defer cancel()
	if o.server != "" {
		if client, err := o.client(); err == nil {
			f(ctx, client)
		}
		return
	}
	w, sets, err := o.find()
	if err != nil || !quick(sets) {
		return
	}
	for _, set := range sets {
		w.read(set, nil)
	}
	f(ctx, &local{inspect.View{Snapshot: w.compile(w.clusters)}}) // nobody asks where clients are
}

// quick reports whether manifests are few enough to be read while somebody waits.
func quick(sets []manifestSet) bool {
	size := int64(0)
	for _, set := range sets {
		for _, path := range set.paths {
			files, err := source.ManifestFiles(path)
			if path == source.Stdin || err != nil {
				return false
			}
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					size += info.Size()
				}
			}
		}
	}
	return size <= completionSize
}
