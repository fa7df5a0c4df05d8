package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// newCheck returns the command check.
func newCheck(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check -f PATH",
		Short: "Find what is wrong with manifests, before they are applied",
		Long: `Find what is wrong with manifests, before they are applied: files that cannot be read, objects that are not
served, or not in full, and what is served otherwise than people expect: hosts without addresses, names without a
default geography, geographies that no client of the databases is in, members that are all drained.

The exit code is 1 where anything is found.`,
		Example: `  kuadrantctl check -f manifests/ --corefile Corefile`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.server != "" {
				return errors.New("check is for manifests: ask a server with list conflicts")
			}
			p := newProgress(c.ErrOrStderr())
			found, err := o.checkManifests(c.InOrStdin(), p)
			p.end()
			if err != nil {
				return err
			}
			if err := o.write(c.OutOrStdout(), found, func(w io.Writer) error { return writeFindings(w, found) }); err != nil {
				return err
			}
			if len(found) > 0 {
				return foundError("")
			}
			return nil
		},
	}
}

// checkManifests returns what is found.
func (o *options) checkManifests(in io.Reader, p *progress) ([]inspect.Finding, error) {
	w, err := o.load(in, p)
	if err != nil {
		return nil, err
	}
	found := []inspect.Finding{}
	for _, err := range w.unread {
		f := inspect.Finding{Severity: inspect.SeverityError, Reason: inspect.ReasonUnread, Text: err.Error()}
		if of := (*source.ManifestError)(nil); errors.As(err, &of) {
			f.File, f.Text = of.Path, of.Text
		}
		found = append(found, f)
	}
	var space *geo.Space
	if w.db != nil {
		space = w.db.Space(func(done float64) { p.begin(fmt.Sprintf("adding up the geo databases, %.0f %%", 100*done)) })
	}
	p.begin("checking")
	view := inspect.View{Snapshot: w.snap, Locator: w.locator}
	checked := view.Check(space)
	first := slices.IndexFunc(checked, func(f inspect.Finding) bool { return f.Severity != inspect.SeverityError })
	if first < 0 {
		first = len(checked)
	}
	found = append(found, checked[:first]...)
	for _, line := range w.said {
		found = append(found, inspect.Finding{Severity: inspect.SeverityWarning, Reason: inspect.ReasonLeftOut, Text: line})
	}
	return append(found, checked[first:]...), nil
}

// writeFindings writes a line for each finding.
func writeFindings(w io.Writer, found []inspect.Finding) error {
	errs := 0
	for _, f := range found {
		where := f.File
		if f.Object != nil {
			where = inspect.ObjectText(*f.Object)
		}
		if f.Name != "" {
			where += ", " + f.Name
		}
		if where != "" {
			where += ": "
		}
		if f.Severity == inspect.SeverityError {
			errs++
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s (%s)\n", f.Severity, where, f.Text, f.Reason); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "nothing is wrong")
		return err
	}
	_, err := fmt.Fprintf(w, "%d %s, %d %s\n", errs, inspect.Plural(errs, "error"), len(found)-errs, inspect.Plural(len(found)-errs, "warning"))
	return err
}
