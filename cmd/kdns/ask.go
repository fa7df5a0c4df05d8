package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// outcome is the result of a command.
type outcome struct {
	found any
	text  func() string // for people
	look  bool          // the command exits with exitFound
}

// tell runs work and writes its outcome. With an error, the outcome holds what was found before it, or is nil.
func (o *options) tell(c *cobra.Command, work func(*progress) (*outcome, error)) error {
	p := newProgress(c.ErrOrStderr())
	r, err := work(p)
	p.end()
	if err != nil && o.byDefault {
		_, _ = fmt.Fprintf(p, "reading ./%s, as no flag names anything else\n", defaultCorefile)
	}
	if r == nil {
		return err
	}
	err = cmp.Or(err, o.write(c.OutOrStdout(), r.found, r.text))
	if err == nil && r.look {
		return errFound
	}
	return err
}

// show asks the reader that the flags select, and writes the answer; text renders it for people.
func show[T any](c *cobra.Command, o *options, ask func(context.Context, reader) (T, error), text func(T) string) error {
	return o.tell(c, func(p *progress) (*outcome, error) {
		r, _, lacks, err := o.look(c, p)
		if err != nil {
			return nil, err
		}
		found, err := ask(c.Context(), r)
		if err != nil {
			return nil, failed(err)
		}
		return &outcome{found: found, text: func() string { return text(found) }}, lacks
	})
}

// look returns the reader that the flags select: a server, or manifests with their world w. lacks is the error to
// report at the end if either was read only in part, or nil.
func (o *options) look(c *cobra.Command, p *progress) (r reader, w *world, lacks, err error) {
	if o.server != "" {
		client, err := o.client()
		if err != nil {
			return nil, nil, nil, err
		}
		p.begin("asking " + o.server)
		lacks, err = serverLacks(c.Context(), client, p)
		return client, nil, lacks, err
	}
	if w, err = o.load(c.InOrStdin(), p); err != nil {
		return nil, nil, nil, err
	}
	w.tell(p)
	return &local{w.view()}, w, w.lacks(), nil
}

// client returns a client for --server.
func (o *options) client() (*console.Client, error) {
	if len(o.filenames)+len(o.zones)+len(o.geoip) > 0 || o.corefile != "" || o.nets != "" {
		return nil, errors.New("a server has its own objects and Corefile; remove --server, or remove -f, --corefile, " +
			"--zone, --geoip and --nets")
	}
	return o.clientOf(o.server)
}

// clientOf returns a client for server, with the token from --token-file.
func (o *options) clientOf(server string) (*console.Client, error) {
	token := ""
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, failed(fmt.Errorf("read token: %w", err))
		}
		switch token = strings.TrimSpace(string(text)); {
		case token == "":
			return nil, failed(fmt.Errorf("token file %s is empty", o.tokenFile))
		case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, failed(fmt.Errorf("token file %s must be one line of printable ASCII characters, without spaces", o.tokenFile))
		}
	}
	client, err := console.NewClient(server, token, o.timeout)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	return client, nil
}

// serverLacks warns of each cluster that the server has not read in full. lacks is non-nil if there is one; err is
// non-nil if the server could not be asked.
func serverLacks(ctx context.Context, client *console.Client, p *progress) (lacks, err error) {
	s, err := client.Server(ctx)
	if err != nil {
		return nil, failed(err)
	}
	for _, c := range s.Clusters {
		if c.Synced {
			continue
		}
		lacks = failed(errors.New("the server has not read everything; the rest is missing here"))
		why := ""
		if c.Problem != "" {
			why = ": " + c.Problem
		}
		p.warn("the server has not read all of cluster %q%s", c.Name, why)
	}
	return lacks, nil
}

// lacks returns an error if some manifests could not be read in full. world.tell has named them.
func (w *world) lacks() error {
	files := make(map[string]bool)
	for _, err := range w.unread {
		if of := (*source.ManifestError)(nil); errors.As(err, &of) {
			files[of.Path] = true
		}
	}
	if n := len(files); n > 0 {
		return failed(fmt.Errorf("%d %s could not be read in full; the rest is missing here", n, inspect.Plural(n, "file")))
	}
	if slices.ContainsFunc(w.said, source.IsSkipped) {
		return failed(errors.New("some objects could not be understood; they are missing here"))
	}
	return nil
}

// whole joins the errors for everything that could not be read or understood; nil if there are none.
func (w *world) whole() error {
	all := slices.Clone(w.unread)
	for _, line := range w.said {
		if source.IsSkipped(line) {
			all = append(all, errors.New(line))
		}
	}
	return errors.Join(all...)
}

// tell warns of everything in the manifests that is skipped or may be a mistake.
func (w *world) tell(p *progress) {
	for _, err := range w.unread {
		p.warn("%v; skipping it, or a part of it. Names that are not found get SERVFAIL", err)
	}
	for _, line := range slices.Concat(w.mixed, w.said) {
		p.warn("%s", line)
	}
}
