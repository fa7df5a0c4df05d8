package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// newExplain returns the command explain.
func newExplain(o *options) *cobra.Command {
	var q inspect.Question
	c := &cobra.Command{
		Use:   "explain NAME",
		Short: "Say why a client gets the answer that it gets",
		Long: `Say why a client gets the answer that it gets: where the client is, which members of the name
there are, which one is taken, and why each other one is not.

The answer is the one that the server would give, for one draw. Where several members share the
clients of a place, each one's share is shown.`,
		Example: `  kdns explain shop.k.example.com --from 198.51.100.7 --corefile Corefile.example
  kdns explain shop.k.example.com --type AAAA --server http://localhost:8090`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Name = args[0]
			return show(c, o, func(ctx context.Context, r reader) (*records.Explanation, error) { return r.Explain(ctx, q) },
				inspect.ExplanationText)
		},
	}
	c.Flags().StringVarP(&q.Type, "type", "t", "A", "the type that is asked for")
	c.Flags().StringVar(&q.From, "from", "", "the client's address or network; without it nothing is known of the client")
	return c
}
