package inspect

import (
	"github.com/coredns-kuadrant/kuadrant/health"
)

// CheckChange is one target that is checked, and was not, or was and is not, or with other headers.
type CheckChange struct {
	// Target is what is asked, as a URL, and Host is who is meant. Change is added, removed or changed: what is otherwise
	// is another check, and what changes is the values of headers, which are not shown.
	Target string `json:"target"`
	Host   string `json:"host,omitempty"`
	Change string `json:"change"`
	// Headers is the cluster/namespace/name of the Secret with its headers, "" for none; Insecure reports whether any certificate is taken.
	Headers  string `json:"headers,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
	// Terms say how often it is checked, and when it is down.
	Terms string `json:"terms"`
}

// checks compares what is checked, by whatever object.
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
