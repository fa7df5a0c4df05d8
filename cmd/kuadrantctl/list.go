package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newList returns the command list.
func newList(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List zones, names, targets or conflicts",
		Args:  cobra.NoArgs,
		RunE:  needsCommand("say what to list"),
	}
	c.AddCommand(listZones(o), listNames(o), listTargets(o), listConflicts(o))
	return c
}

func listZones(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "zones", Short: "List the zones that are served", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return show(c, o, func(ctx context.Context, r reader) ([]inspect.Zone, error) { return r.Zones(ctx) }, zoneRows)
		},
	}
}

func zoneRows(w io.Writer, all []inspect.Zone) error {
	lines := make([][]string, len(all))
	for i, z := range all {
		who := "those named"
		if z.Open {
			who = "every namespace"
		}
		lines[i] = []string{
			z.Name, strconv.FormatUint(uint64(z.Serial), 10), strconv.Itoa(z.Names), strconv.Itoa(z.Conflicts),
			strconv.Itoa(z.Held), who,
		}
	}
	return rows(w, "no zones", []string{"ZONE", "SERIAL", "NAMES", "CONFLICTS", "HELD", "MAY PUBLISH"}, lines)
}

func listNames(o *options) *cobra.Command {
	var f inspect.Filter
	c := &cobra.Command{
		Use: "names [PART]", Short: "List the names that have data", Args: cobra.MaximumNArgs(1),
		Long: "List the names that have data, or those with PART in them. Names below klb of a host are parts of it, and not listed.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.Contains = args[0]
			}
			return show(c, o, func(ctx context.Context, r reader) ([]records.NameState, error) { return allNames(ctx, r, f) }, nameRows)
		},
	}
	c.Flags().StringVar(&f.Zone, "in", "", "only names of this zone")
	c.Flags().StringVar(&f.State, "state", "", "only names that are failing, impaired or contended")
	return c
}

// allNames reads page after page.
func allNames(ctx context.Context, r reader, f inspect.Filter) (all []records.NameState, err error) {
	all = []records.NameState{}
	f.Limit = inspect.MaxPage
	for {
		page, err := r.Names(ctx, f)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Names...); page.Next == "" {
			return all, nil
		}
		f.After = page.Next
	}
}

func nameRows(w io.Writer, all []records.NameState) error {
	lines := make([][]string, len(all))
	for i := range all {
		n := &all[i]
		owner := "-"
		if n.Owner != nil {
			owner = inspect.ObjectText(*n.Owner)
		}
		lines[i] = []string{n.Name, strings.Join(n.Types, ","), cmp.Or(n.Answer, "records"), inspect.HealthText(n), owner}
	}
	return rows(w, "no names", []string{"NAME", "TYPES", "ANSWER", "HEALTH", "OWNER"}, lines)
}

func listTargets(o *options) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use: "targets [PART]", Short: "List what is checked, the worst first", Args: cobra.MaximumNArgs(1),
		Long: "List what is checked, the worst first, or those with PART in them. Manifests alone are not checked: all is up there.",
		RunE: func(c *cobra.Command, args []string) error {
			part := strings.Join(args, "")
			return show(c, o, func(ctx context.Context, r reader) (*inspect.TargetPage, error) {
				return r.Targets(ctx, state, part, inspect.MaxPage)
			}, targetRows)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only targets that are up, unknown, down or pending")
	return c
}

func targetRows(w io.Writer, page *inspect.TargetPage) error {
	lines := make([][]string, len(page.Targets))
	for i := range page.Targets {
		t := &page.Targets[i]
		state := t.State
		if t.Pending {
			state = "pending"
		}
		lines[i] = []string{t.Target, t.Host, state, fmt.Sprintf("%d of %d", t.Failures, t.FailureThreshold), cmp.Or(t.Reason, "-"), t.Interval}
	}
	if err := rows(w, "no targets", []string{"TARGET", "HOST", "STATE", "FAILURES", "REASON", "INTERVAL"}, lines); err != nil {
		return err
	}
	return andMore(w, page.More, ": limit the list with --state or PART")
}

// andMore says how many entries a list has besides; nothing for none.
func andMore(w io.Writer, more int, what string) error {
	if more == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %d more%s\n", more, what)
	return err
}

func listConflicts(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "conflicts", Short: "List who wants a name that another object has, and what is not served in full", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return show(c, o, func(ctx context.Context, r reader) (*inspect.Troubles, error) {
				return r.Troubles(ctx, inspect.TroubleFilter{Limit: inspect.MaxPage})
			}, troubleRows)
		},
	}
}

func troubleRows(w io.Writer, all *inspect.Troubles) error {
	lines := make([][]string, len(all.Conflicts))
	for i, c := range all.Conflicts {
		lines[i] = []string{c.Name, inspect.ObjectText(c.Loser), c.Why}
	}
	if err := rows(w, "no conflicts", []string{"NAME", "WANTED BY", "WHY NOT"}, lines); err != nil {
		return err
	}
	if err := andMore(w, all.MoreConflicts, ""); err != nil {
		return err
	}
	lines = make([][]string, len(all.Objects))
	for i, o := range all.Objects {
		served := "in part"
		if o.Refused {
			served = "no"
		}
		lines[i] = []string{inspect.ObjectText(o.Object), served, o.Reason, o.Why}
	}
	if len(lines) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := rows(w, "", []string{"OBJECT", "SERVED", "REASON", "WHY"}, lines); err != nil {
		return err
	}
	return andMore(w, all.MoreObjects, "")
}
