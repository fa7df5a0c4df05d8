package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/console"
	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// show asks what the flags say is to be looked at, and writes what comes of it; table writes it for people.
func show[T any](c *cobra.Command, o *options, ask func(context.Context, reader) (T, error), table func(io.Writer, T) error) error {
	p := newProgress(c.ErrOrStderr())
	found, lacks, err := answer(c, o, ask, p)
	p.end()
	if err != nil {
		return err
	}
	if err := o.write(c.OutOrStdout(), found, func(w io.Writer) error { return table(w, found) }); err != nil {
		return err
	}
	return lacks
}

// answer asks what the flags say is to be looked at. lacks says what the answer lacks, nil for nothing.
func answer[T any](c *cobra.Command, o *options, ask func(context.Context, reader) (T, error), p *progress) (found T, lacks, err error) {
	ctx := c.Context()
	var r reader
	if o.server != "" {
		if r, err = o.client(); err != nil {
			return found, nil, err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
		p.begin("asking " + o.server)
	} else {
		w, err := o.load(c.InOrStdin(), p)
		if err != nil {
			return found, nil, err
		}
		w.tell(p)
		lacks, r = w.lacks(), &local{inspect.View{Snapshot: w.snap, Locator: w.locator, Random: rand.Uint64}}
	}
	found, err = ask(ctx, r)
	return found, lacks, failed(err)
}

// client returns what asks the server of --server.
func (o *options) client() (*console.Client, error) {
	if len(o.filenames)+len(o.zones)+len(o.geoip) > 0 || o.corefile != "" || o.nets != "" {
		return nil, errors.New("--server says what is looked at, and so do -f, --corefile, --zone, --geoip and --nets: leave one or the others out")
	}
	return clientOf(o.server, o.tokenFile)
}

// clientOf returns what asks a server, with the token in a file, which may be "".
func clientOf(server, tokenFile string) (*console.Client, error) {
	token := ""
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, failed(fmt.Errorf("read token: %w", err))
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return nil, failed(fmt.Errorf("the token file %s is empty", tokenFile))
		}
	}
	client, err := console.NewClient(server, token)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	return client, nil
}

// lacks returns an error where manifests could not be read in full; tell has said which.
func (w *world) lacks() error {
	if n := len(w.unread); n > 0 {
		return failed(fmt.Errorf("%d %s could not be read in full: what is said lacks the rest", n, inspect.Plural(n, "file")))
	}
	if slices.ContainsFunc(w.said, source.IsSkipped) {
		return failed(errors.New("there are objects that could not be understood: what is said lacks them"))
	}
	return nil
}

// tell says what of the manifests does not count.
func (w *world) tell(out io.Writer) {
	out = printable{out}
	for _, err := range w.unread {
		_, _ = fmt.Fprintf(out, "warning: %v: nothing of it, or a part, counts, and names that are not known cannot be denied\n", err)
	}
	for _, line := range slices.Concat(w.mixed, w.said) {
		_, _ = fmt.Fprintln(out, "warning: "+line)
	}
}
