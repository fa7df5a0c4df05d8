package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Text returns a preview as terminal output.
func (p *Preview) Text() string {
	if p.Same() {
		return "nothing changes\n"
	}
	t := newTextWriter()
	for i := range p.Names {
		t.nameChange(&p.Names[i])
	}
	if p.More > 0 {
		t.line("and %d more names", p.More)
	}
	t.checks(p)
	t.begun("would be contended", "would not be served in full", &p.Troubles)
	t.begun("would no longer be contended", "would no longer have this problem", &p.Mended)
	t.line("%s", p.Summary())
	return t.String()
}

// signs mark what is added, removed and changed.
var signs = map[string]string{ChangeAdded: "+", ChangeRemoved: "-", ChangeChanged: "~"}

func (t *textWriter) nameChange(n *NameChange) {
	moved := ""
	if n.Moved != nil {
		moved = ": " + n.Moved.Text()
	}
	t.line("%s %s%s", signs[n.Change], n.Name, moved)
	for _, m := range n.Minus {
		t.line("    - %s", m)
	}
	for _, p := range n.Plus {
		t.line("    + %s", p)
	}
	for i := range n.Members {
		m := &n.Members[i]
		t.line("    %s member %s (%s, %s)  %s", signs[m.Change], m.Member, m.Geo, m.Cluster, joined(m.WeightText(), m.StateText()))
		for _, a := range m.Minus {
			t.line("        - %s", a)
		}
		for _, a := range m.Plus {
			t.line("        + %s", a)
		}
	}
	t.line("")
}

// joined joins non-empty texts.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// begun writes troubles that begin or end.
func (t *textWriter) begun(contended, impaired string, all *Troubles) {
	for _, c := range all.Conflicts {
		t.line("%s %s: %s: %s", c.Name, contended, ObjectText(c.Loser), c.Why)
	}
	for _, o := range all.Objects {
		t.line("%s %s: %s", ObjectText(o.Object), impaired, o.Why)
	}
	if more := all.MoreConflicts + all.MoreObjects; more > 0 {
		t.line("and %d more", more)
	}
	if len(all.Conflicts)+len(all.Objects) > 0 {
		t.line("")
	}
}

// Text says which part of the clients moves.
func (m *Moved) Text() string {
	if m.Of == "countries" {
		return fmt.Sprintf("%s of the countries get other addresses (without a geo database, countries are not weighted)", percent(m.IPv4))
	}
	return fmt.Sprintf("%s of the IPv4 and %s of the IPv6 address space get other addresses", percent(m.IPv4), percent(m.IPv6))
}

// Summary sums up a preview in one line.
func (p *Preview) Summary() string {
	var parts []string
	for _, of := range []struct {
		n    int
		what string
	}{{p.Added, "added"}, {p.Changed, "changed"}, {p.Removed, "removed"}} {
		if of.n > 0 {
			parts = append(parts, counted(of.n, "name")+" "+of.what)
		}
	}
	if len(parts) == 0 {
		parts = []string{"no name changes"}
	}
	if n := len(p.Checks) + p.MoreChecks; n > 0 {
		verb := "begin, end or change"
		if n == 1 {
			verb = "begins, ends or changes"
		}
		parts = append(parts, counted(n, "check")+" "+verb)
	}
	if p.Moving > 0 {
		parts = append(parts, fmt.Sprintf("clients of %s move, at most %s", counted(p.Moving, "name"), p.Most.Text()))
	}
	return strings.Join(parts, "; ")
}

// CheckChange is one check that differs.
type CheckChange struct {
	// Target is a URL. Host is the name that the check sends. Change is added, removed, or changed if only headers differ.
	Target string `json:"target"`
	Host   string `json:"host,omitempty"`
	Change string `json:"change"`
	// Headers is cluster/namespace/name of the Secret with headers. Insecure reports whether any certificate is accepted.
	Headers  string `json:"headers,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
	// Terms are its interval and thresholds.
	Terms string `json:"terms"`
}

// checks compares the checks, whatever objects they are for.
func (c *comparison) checks() {
	before, after := c.before.Checks(), c.after.Checks()
	for key, was := range before.All() {
		if _, has := after.Get(key); !has {
			c.addCheck(was, ChangeRemoved)
		}
	}
	for key, is := range after.All() {
		if was, had := before.Get(key); !had {
			c.addCheck(is, ChangeAdded)
		} else if was != is && !was.SameHeaders(is) {
			c.addCheck(is, ChangeChanged)
		}
	}
}

func (c *comparison) addCheck(t *health.Target, change string) {
	r := c.result
	if len(r.Checks) == MaxPage {
		r.MoreChecks++
		return
	}
	r.Checks = append(r.Checks, CheckChange{
		Target: t.URL(), Host: t.Host, Change: change, Headers: t.Headers,
		Insecure: t.Insecure, Terms: t.Terms.Text(),
	})
}

// checks writes the targets that differ.
func (t *textWriter) checks(p *Preview) {
	for _, c := range p.Checks {
		host, how, other := "", "", ""
		if c.Host != "" {
			host = ", host " + c.Host
		}
		if c.Insecure {
			how = ", any certificate"
		}
		if c.Headers != "" {
			how += ", headers of Secret " + c.Headers
		}
		if c.Change == ChangeChanged {
			other = ", with other headers"
		}
		t.line("%s check %s%s%s, %s%s", signs[c.Change], c.Target, host, how, c.Terms, other)
	}
	if p.MoreChecks > 0 {
		t.line("and %d more checks", p.MoreChecks)
	}
	if len(p.Checks) > 0 {
		t.line("")
	}
}
