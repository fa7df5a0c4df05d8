package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// pathFlags are the flags whose values are file paths, for shell completion.
var pathFlags = []string{"filename", "corefile", "geoip", "nets", "token-file", "names", "against"}

// completeValues registers shell completion for the flag values of c and its subcommands.
func completeValues(c *cobra.Command) {
	types := []string{"A", "AAAA", "CNAME", "TXT", "NS", "SOA", "MX", "SRV", "CAA", "HTTPS"}
	values := map[string][]string{"output": outputs, "type": types, "types": types, "state": inspect.TargetStates}
	if c.Name() == "names" {
		values["state"] = inspect.NameStates
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(pathFlags, f.Name) { // registering fails for unknown flags and for duplicates
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values[f.Name], cobra.ShellCompDirectiveNoFileComp))
		}
	})
	c.ValidArgsFunction = cobra.NoFileCompletions
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
}
