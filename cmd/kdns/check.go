package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// newCheck returns the command check.
func newCheck(o *options) *cobra.Command {
	var l living
	c := &cobra.Command{
		Use:   "check -f PATH [--live ZONE]",
		Short: "Find what is wrong with manifests before they are applied",
		Long: `Find what is wrong with manifests before they are applied: files that cannot be read, objects that are not
served in full, and likely mistakes in what is served: hosts without addresses, aliases that lead
nowhere, health checks that never start, members that are all drained or down, names without a default geography or
with two, geographies that no client in the databases is in.

With --corefile, also lines of the Corefile that a server does not start with or warns of, problems that a line may
solve, such as geo codes without a database, and, without -f, lines that match nothing.

With --live, check compares the zone's NS, glue and DS records at its parent with what is served here, and
asks each of its name servers. That works with a server (--server) too.

Notes list hosts that several objects of one namespace have together. The exit code is 1 if there is an error or a
warning.`,
		Example: `  kdns check -f manifests/ --corefile Corefile
  kdns check --live k.example.com --server http://localhost:8090`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.tell(c, func(p *progress) (*outcome, error) {
				found, err := o.findings(c, &l, p)
				if found == nil {
					return nil, err
				}
				wrong := slices.ContainsFunc(found, func(f inspect.Finding) bool { return f.Severity != inspect.SeverityNote })
				return &outcome{found, func() string { return findingsText(found) }, wrong}, err
			})
		},
	}
	c.Flags().StringVar(&l.zone, "live", "", "compare a zone with its delegation at the parent")
	c.Flags().StringArrayVar(&l.parents, "parent", nil,
		"ask this server of the parent, ADDRESS[:PORT]; repeatable (default: those that the resolver finds)")
	c.Flags().StringVar(&l.resolver, "resolver", "", "use this resolver, ADDRESS[:PORT], instead of the system's")
	c.Flags().Uint16Var(&l.port, "port", 53, "port of the zone's name servers")
	return c
}

// findings checks manifests, and with --live the zone's delegation. With an error it returns what was found before
// it, or nil.
func (o *options) findings(c *cobra.Command, l *living, p *progress) ([]inspect.Finding, error) {
	if l.zone == "" && c.Flags().Changed("live") {
		return nil, errors.New("--live needs the name of a zone")
	}
	if l.zone == "" && (len(l.parents) > 0 || l.resolver != "" || c.Flags().Changed("port")) {
		return nil, errors.New("--parent, --resolver and --port need --live ZONE")
	}
	if l.port == 0 {
		return nil, errors.New("--port 0 is not a port")
	}
	if o.server != "" {
		if l.zone == "" {
			return nil, errors.New("check reads manifests; for a server use list conflicts, or name a zone with --live")
		}
		client, err := o.client()
		if err != nil {
			return nil, err
		}
		return l.findings(c.Context(), client, p)
	}
	w, err := o.load(c.InOrStdin(), p)
	if err != nil {
		return nil, err
	}
	for _, line := range w.mixed {
		p.warn("%s", line)
	}
	found := w.findings(o.corefile != "", p)
	if len(o.filenames) == 0 && len(w.unread) == 0 && !w.empty() { // with -f, other objects may exist
		found = append(found, w.idleLines()...)
	}
	if l.zone == "" {
		if len(found) == 0 && w.empty() {
			found = append(found, inspect.Finding{Severity: inspect.SeverityWarning, Reason: inspect.ReasonLeftOut, Text: nothingRead})
		}
		return found, nil
	}
	live, err := l.findings(c.Context(), &local{w.view()}, p)
	if found = append(found, live...); err != nil && len(found) == 0 {
		return nil, err // unchecked is not the same as clean
	}
	return found, err
}

const nothingRead = "no objects to check: the manifests have none, or namespaces, kinds, policies and secrets " +
	"of the Corefile exclude all of them"

// findings returns the faults in the manifests. Faults that a line in the Corefile can fix are included only with a
// Corefile: --zone alone says nothing about the server's other settings.
func (w *world) findings(corefile bool, p *progress) []inspect.Finding {
	found := []inspect.Finding{}
	for _, err := range w.unread {
		f := inspect.Finding{Severity: inspect.SeverityError, Reason: inspect.ReasonUnread, Text: err.Error()}
		if of := (*source.ManifestError)(nil); errors.As(err, &of) {
			f.File, f.Text = of.Path, of.Text
		}
		found = append(found, f)
	}
	for _, line := range w.said {
		f := inspect.Finding{Severity: inspect.SeverityWarning, Reason: inspect.ReasonLeftOut, Text: line}
		if source.IsSkipped(line) {
			f.Severity, f.Reason = inspect.SeverityError, inspect.ReasonUnread
		}
		found = append(found, f)
	}
	with := inspect.Setup{Space: w.space(p)}
	if corefile {
		with.Guard, with.Unlocated = &w.settings.Guard, w.db == nil
		found = append(found, corefileFindings(w.settings)...)
	}
	p.begin("checking")
	view := w.view()
	found = append(found, view.Check(with)...)
	slices.SortStableFunc(found, func(a, b inspect.Finding) int { return a.Severity.Compare(b.Severity) })
	return found
}

// corefileFindings returns what would stop a server with this Corefile from starting, and what it would warn about.
func corefileFindings(s *corefile.Settings) (found []inspect.Finding) {
	add := func(severity inspect.Severity, text string) {
		found = append(found, inspect.Finding{Severity: severity, Reason: inspect.ReasonCorefile, Text: text})
	}
	cfg := s.Corefile
	if file := cfg.Console.TokenFile; file != "" {
		if _, err := console.OpenToken(file); err != nil {
			add(inspect.SeverityError, fmt.Sprintf("%s: console: read token: %v", cfg.At("console"), err))
		}
	}
	if cfg.State != "" { // the server makes the directory
		info, err := os.Stat(cfg.State)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", cfg.State)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			add(inspect.SeverityError, fmt.Sprintf("%s: state: %v", cfg.At("state"), err))
		}
	}
	for _, line := range s.Warnings {
		add(inspect.SeverityWarning, line)
	}
	return found
}

// idleLines returns the lines of the Corefile and of its override file that match nothing in the manifests.
func (w *world) idleLines() (found []inspect.Finding) {
	cfg := w.settings.Corefile
	lines := cfg.Idle(w.clusters)
	for _, o := range w.snap.Unmet() {
		lines = append(lines, fmt.Sprintf("%s:%d: override %q matches nothing; check the name", cfg.Override, o.Line, o.String()))
	}
	for _, line := range lines {
		found = append(found, inspect.Finding{Severity: inspect.SeverityWarning, Reason: inspect.ReasonCorefile, Text: line})
	}
	return found
}

// findingsText writes one line per finding.
func findingsText(found []inspect.Finding) string {
	if len(found) == 0 {
		return "nothing is wrong\n"
	}
	var b strings.Builder
	counts := make(map[inspect.Severity]int)
	for _, f := range found {
		where := f.File
		if f.Object != nil {
			where = inspect.ObjectText(*f.Object)
		}
		if where != "" && f.Name != "" {
			where += ", "
		}
		if where += f.Name; where != "" {
			where += ": "
		}
		counts[f.Severity]++
		text := f.Text
		if reason := "(" + f.Reason + ")"; !strings.Contains(text, reason) { // the text of a condition includes its reason
			text += " " + reason
		}
		fmt.Fprintf(&b, "%s: %s%s\n", f.Severity, where, text)
	}
	errs, warnings, notes := counts[inspect.SeverityError], counts[inspect.SeverityWarning], counts[inspect.SeverityNote]
	fmt.Fprintf(&b, "%d %s, %d %s", errs, inspect.Plural(errs, "error"), warnings, inspect.Plural(warnings, "warning"))
	if notes > 0 {
		fmt.Fprintf(&b, ", %d %s", notes, inspect.Plural(notes, "note"))
	}
	b.WriteByte('\n')
	return b.String()
}
