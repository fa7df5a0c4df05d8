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
)

// ask calls f with what the flags say is to be looked at.
func (o *options) ask(c *cobra.Command, f func(context.Context, reader) error) error {
	p := newProgress(c.ErrOrStderr())
	if o.server != "" {
		r, err := o.client()
		if err != nil {
			p.end()
			return err
		}
		ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
		defer cancel()
		p.begin("asking " + o.server)
		err = f(ctx, r)
		p.end()
		return err
	}
	w, err := o.load(c.InOrStdin(), p)
	p.end()
	if err != nil {
		return err
	}
	w.tell(c.ErrOrStderr())
	return f(c.Context(), &local{inspect.View{Snapshot: w.snap, Locator: w.locator, Random: rand.Uint64}})
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
