package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/inspect"
)

// ask calls f with what the flags say is to be looked at.
func (o *options) ask(c *cobra.Command, f func(reader) error) error {
	if o.server != "" {
		return errors.New("--server: not yet")
	}
	p := newProgress(c.ErrOrStderr())
	w, err := o.load(c.InOrStdin(), p)
	p.end()
	if err != nil {
		return err
	}
	w.tell(c.ErrOrStderr())
	return f(&local{inspect.View{Snapshot: w.snap, Locator: w.locator, Random: rand.Uint64}})
}

// tell says what of the manifests does not count.
func (w *world) tell(out io.Writer) {
	for _, err := range w.unread {
		_, _ = fmt.Fprintf(out, "warning: %v: nothing of it, or a part, counts, and names that are not known cannot be denied\n", err)
	}
	for _, line := range w.said {
		_, _ = fmt.Fprintln(out, "warning: "+line)
	}
}
