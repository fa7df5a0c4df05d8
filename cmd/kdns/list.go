package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newList returns the command list.
func newList(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List zones, names, targets or conflicts",
		Args:  cobra.NoArgs,
		RunE:  needsCommand("name what to list: zones, names, targets or conflicts"),
	}
	c.AddCommand(listZones(o), listNames(o), listTargets(o), listConflicts(o))
	return c
}

func listZones(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "zones", Short: "List the served zones", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return show(c, o, func(ctx context.Context, r reader) ([]inspect.Zone, error) { return r.Zones(ctx) }, zoneRows)
		},
	}
}

func zoneRows(all []inspect.Zone) string {
	return rows("no zones\n", "ZONE\tSERIAL\tNAMES\tCONFLICTS\tHELD\tMAY PUBLISH", all, func(z *inspect.Zone) string {
		who := "listed namespaces"
		if z.Open {
			who = "every namespace"
		}
		return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%s", z.Name, z.Serial, z.Names, z.Conflicts, z.Held, who)
	})
}

func listNames(o *options) *cobra.Command {
	var f inspect.Filter
	c := &cobra.Command{
		Use: "names [PART]", Short: "List the names that have data", Args: cobra.MaximumNArgs(1),
		Long: "List the names that have data, or those with PART in them. Names at and below klb of a host are not listed.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.Contains = args[0]
			}
			near := ""
			return show(c, o, func(ctx context.Context, r reader) (all []records.NameState, err error) {
				if all, err = allNames(ctx, r, f); err == nil && len(all) == 0 && f.State == "" && f.Contains != "" {
					near = nearNames(ctx, r, f.Contains)
				}
				return all, err
			}, func(all []records.NameState) string { return nameRows(all, near) })
		},
	}
	c.Flags().StringVar(&f.Zone, "in", "", "only names of this zone")
	c.Flags().StringVar(&f.State, "state", "", "only names that are failing, impaired, contended or unserved")
	return c
}

// allNames reads all pages.
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

func nameRows(all []records.NameState, near string) string {
	return rows("no names"+near+"\n", "NAME\tTYPES\tANSWER\tHEALTH\tOWNER", all, func(n *records.NameState) string {
		owner := "-"
		if n.Owner != nil {
			owner = inspect.ObjectText(*n.Owner)
		}
		types, answer := strings.Join(n.Types, ","), cmp.Or(n.Answer, "records")
		if types == "" { // not served
			types, answer = "-", "-"
		}
		return strings.Join([]string{n.Name, types, answer, inspect.HealthText(n), owner}, "\t")
	})
}

func listTargets(o *options) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use: "targets [PART]", Short: "List the targets of health checks, the worst first", Args: cobra.MaximumNArgs(1),
		Long: "List the targets of health checks, the worst first, or those with PART in them. Those of manifests are not checked, and count as up.",
		RunE: func(c *cobra.Command, args []string) error {
			part := strings.Join(args, "")
			return show(c, o, func(ctx context.Context, r reader) (*inspect.TargetPage, error) {
				return r.Targets(ctx, state, part, inspect.MaxPage)
			}, targetRows)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only targets that are up, unknown, down, or pending, which is not checked")
	return c
}

func targetRows(page *inspect.TargetPage) string {
	return rows("no targets\n", "TARGET\tHOST\tSTATE\tFAILURES\tDOWN AFTER\tREASON\tINTERVAL", page.Targets, func(t *inspect.Target) string {
		state := t.State
		if t.Pending {
			state = "not checked"
		}
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%s\t%s", t.Target, t.Host, state, t.Failures, t.FailureThreshold, cmp.Or(t.Reason, "-"),
			t.Interval)
	}) + andMore(page.More, ": limit the list with --state or PART")
}

// andMore returns how many entries a list leaves out; "" for 0.
func andMore(more int, what string) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("and %d more%s\n", more, what)
}

func listConflicts(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "conflicts", Short: "List objects that want a name of another object, and objects that are not served in full", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return show(c, o, func(ctx context.Context, r reader) (*inspect.Troubles, error) {
				return r.Troubles(ctx, inspect.TroubleFilter{Limit: inspect.MaxPage})
			}, troubleRows)
		},
	}
}

func troubleRows(all *inspect.Troubles) string {
	text := rows("no conflicts\n", "NAME\tWANTED BY\tWHY NOT", all.Conflicts, func(c *records.Conflict) string {
		return c.Name + "\t" + inspect.ObjectText(c.Loser) + "\t" + c.Why
	}) + andMore(all.MoreConflicts, "")
	return text + rows("", "\nOBJECT\tSERVED\tREASON\tWHY", all.Objects, func(o *records.Trouble) string {
		served := "in part"
		if o.Refused {
			served = "no"
		}
		return inspect.ObjectText(o.Object) + "\t" + served + "\t" + o.Reason + "\t" + o.Why
	}) + andMore(all.MoreObjects, "")
}
