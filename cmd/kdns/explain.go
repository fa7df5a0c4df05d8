package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newExplain returns the command explain.
func newExplain(o *options) *cobra.Command {
	var q inspect.Question
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain the answer that a client gets",
		Long: `Explain the answer that a client gets: where the client is, which members the name
has, which one is taken, and why each other one is not.

The answer is the one that the server would give, for one draw. If several members share the
clients of a place, explain shows the share of each.

The exit code is 1 if the answer is NXDOMAIN or another error.`,
		Example: `  kdns explain shop.k.example.com --from 198.51.100.7 --corefile Corefile.example
  kdns explain shop.k.example.com --type AAAA --from FR --server http://localhost:8090`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Name = args[0]
			return o.tell(c, func(p *progress) (*outcome, error) { return o.explain(c, q, p) })
		},
	}
	c.Flags().StringVarP(&q.Type, "type", "t", "A", "record type to ask for")
	c.Flags().StringVar(&q.From, "from", "",
		"where the client is: an address, a network, or a geo code such as FR, which stands for one of its networks (default: "+
			"unknown)")
	return c
}

// explain asks a question, and suggests similar names if the name does not exist.
func (o *options) explain(c *cobra.Command, q inspect.Question, p *progress) (*outcome, error) {
	r, _, lacks, err := o.look(c, p)
	if err != nil {
		return nil, err
	}
	x, err := r.Explain(c.Context(), q)
	if of, ok := inspect.IsRequest(err); ok && of.NotFound {
		return nil, fmt.Errorf("%w%s", err, nearNames(c.Context(), r, q.Name))
	}
	if err != nil {
		return nil, failed(err)
	}
	if last := &x.Steps[len(x.Steps)-1]; last.Found == records.FoundNothing {
		if near := nearNames(c.Context(), r, last.Name); near != "" {
			p.warn("%s does not exist%s", last.Name, near)
		}
	}
	return &outcome{x, func() string { return inspect.ExplanationText(x) }, x.Rcode != "NOERROR"}, lacks
}

// nearNames returns a clause with names similar to one that does not exist; "" for none.
func nearNames(ctx context.Context, r reader, name string) string {
	page, err := r.Names(ctx, inspect.Filter{Near: name, Limit: mostNear})
	if err != nil || len(page.Names) == 0 {
		return "" // an older server may not know Near
	}
	var names []string
	for i := range page.Names {
		names = append(names, page.Names[i].Name)
	}
	return "; near it: " + strings.Join(names, ", ")
}
