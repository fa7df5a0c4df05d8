package owner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

const host = "a.example.com."

// who returns a contender for the host: a kind, namespace/name, and words. "static" is for Records, "addresses" those with addresses,
// "missing" what only the guard keeps, "alias" a hostname; "c2" is another cluster.
func who(t *testing.T, text string) *endpoint.Contender {
	t.Helper()
	words := strings.Fields(text)
	kind, ok := api.ParseKind(words[0])
	if !ok {
		t.Fatalf("%s is no kind", words[0])
	}
	m := &api.Meta{Name: words[1], Cluster: "c1", UID: "u-" + words[1]}
	c := &endpoint.Contender{Kind: kind, By: m, Host: host, Targets: &endpoint.Targets{Leaves: make([]endpoint.Member, 1)}}
	for _, w := range words[2:] {
		switch w {
		case "static":
			c.Static = true
		case "addresses":
			c.Static, c.Addresses = true, true
		case "missing":
			m.Missing = true
		case "delegates":
			c.Policy = &api.DNSPolicy{Delegate: true}
		case "unread":
			c.Unread, c.Registered = true, true
		case "c2":
			m.Cluster = w
		default:
			t.Fatalf("%s?", w)
		}
	}
	return c
}

func names(all []*endpoint.Contender) string {
	var texts []string
	for _, c := range all {
		text := c.By.Name
		if c.Reserved() {
			text = "reserved for " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func contenders(t *testing.T, texts string) (all []*endpoint.Contender) {
	t.Helper()
	for _, text := range strings.Split(texts, ",") {
		all = append(all, who(t, text))
	}
	return all
}

// TestOrder: the registered owner comes first, its namespace follows, then age counts, in which the contenders are given (rule 5.4).
func TestOrder(t *testing.T) {
	for _, c := range []struct{ line, of, want string }{
		{"", "DNSPolicy a/p, DNSPolicy b/p", "a/p, b/p"},
		{"DNSPolicy b/p", "DNSPolicy a/p, DNSPolicy b/p", "b/p, a/p"},
		{"DNSPolicy b/gone", "DNSPolicy a/p, DNSPolicy b/p", "b/p, a/p"},
		{"DNSPolicy b/q", "DNSPolicy b/p, DNSPolicy a/p, DNSPolicy b/q", "b/q, b/p, a/p"},
		{"DNSPolicy c/gone", "DNSPolicy a/p, DNSPolicy b/p", "reserved for c/gone, a/p, b/p"},
		{"", "DNSPolicy a/p delegates, DNSRecord a/r, DNSPolicy b/p", "a/r, a/p, b/p"},
		{"", "DNSPolicy a/p delegates, DNSRecord b/r", "a/p, b/r"},
		{"", "DNSPolicy a/p missing, DNSPolicy a/q, DNSPolicy b/p", "a/q, a/p, b/p"},
		{"", "DNSPolicy a/p missing, DNSPolicy b/p", "a/p, b/p"},
	} {
		lines := tree.Map[api.Owner]{}.Edit()
		if kind, name, ok := strings.Cut(c.line, " "); ok {
			k, _ := api.ParseKind(kind)
			lines.Set(host, api.Owner{Cluster: "c1", Kind: k, Name: name, UID: "u-" + name})
		}
		r := &Registry{In: &api.Objects{Acquired: lines.Map()}, RecordOf: func(string, string) *endpoint.Record { return nil }}
		if got := names(r.Order(contenders(t, c.of))); got != c.want {
			t.Errorf("with the line %q, %s: %s, want %s", c.line, c.of, got, c.want)
		}
	}
}

// TestResolve: the first contender's namespace has the host, and what it may share (rules 5.3 to 5.6).
func TestResolve(t *testing.T) {
	for _, c := range []struct{ of, won, lost string }{
		{"DNSPolicy a/p, DNSPolicy b/p", "a/p", "b/p to a/p"},
		{"DNSPolicy a/p, DNSPolicy a/q", "a/p, a/q", ""},              // their addresses unite
		{"DNSPolicy a/p, DNSPolicy a/p c2", "a/p, a/p", ""},           // one object in two clusters
		{"DNSPolicy a/p, DNSRecord a/r", "a/p", "a/r to a/p"},         // of two kinds
		{"DNSPolicy a/p, DNSPolicy a/q missing", "a/p", "a/q to a/p"}, // what only the guard keeps
		{"Record a/r static, DNSPolicy a/p", "a/p", ""},
		{"Record a/r addresses, DNSPolicy a/p", "", "a/p to a/r"},
		{"Record b/r static, DNSPolicy a/p", "", "a/p to b/r"},
	} {
		won, lost := Resolve(contenders(t, c.of), nil)
		var texts []string
		for _, l := range lost {
			texts = append(texts, l.Contender.By.Name+" to "+l.Owner.By.Name)
		}
		if got := strings.Join(texts, ", "); names(won) != c.won || got != c.lost {
			t.Errorf("%s: %s won, %s lost, want %s and %s", c.of, names(won), got, c.won, c.lost)
		}
	}
}

func TestTooManyShare(t *testing.T) {
	var all []*endpoint.Contender
	for i := range maxSharing + 1 {
		all = append(all, who(t, fmt.Sprint("DNSPolicy a/p", i)))
	}
	won, lost := Resolve(all, nil)
	if len(won) != maxSharing || len(lost) != 1 || !lost[0].Crowded {
		t.Errorf("%d won, and %v lost", len(won), lost)
	}
}

// TestRefuses: who is kept out of a name by whose claim (rules 5.1, 5.3 and 5.9).
func TestRefuses(t *testing.T) {
	by := who(t, "DNSPolicy a/p")
	for _, c := range []struct {
		claim Claim
		who   string
		since int64
		free  bool // the namespace needs no permission
		want  bool
	}{
		{Claim{}, "b/p", 0, false, false},
		{Claim{Kind: Delegation, By: by}, "a/q", 0, false, false},
		{Claim{Kind: Delegation, By: by}, "b/p", 0, true, true},
		{Claim{Kind: Above, By: by}, "b/p", 0, false, true},
		{Claim{Kind: Above, By: by}, "b/p", 0, true, false},
		{Claim{Kind: Wildcard, By: by, Since: 5}, "b/p", 4, false, false},
		{Claim{Kind: Wildcard, By: by, Since: 5}, "b/p", 6, false, true},
		{Claim{Kind: Wildcard, By: by, Since: 5, Strict: true}, "b/p", 4, false, true},
		{Claim{Kind: Data, By: by}, "b/p", 0, true, true},
	} {
		w := Claimant{By: &api.Meta{Name: c.who, Cluster: "c1"}, Bound: !c.free, Since: c.since}
		if got := c.claim.Refuses(&w); got != c.want {
			t.Errorf("claim %d of a, since %d: %s, since %d, is kept out: %v", c.claim.Kind, c.claim.Since, c.who, c.since, got)
		}
		if w.Administrative = true; c.claim.Refuses(&w) {
			t.Errorf("claim %d keeps out the administering namespace", c.claim.Kind)
		}
	}
}
