package corefile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// read parses directives, each in its own server block.
func read(t *testing.T, directives ...string) *engine.Options {
	t.Helper()
	opt := new(engine.Options)
	for _, d := range directives {
		if _, err := Parse(caddy.NewTestController("dns", d), opt); err != nil {
			t.Fatalf("%q: %v", d, err)
		}
	}
	return opt
}

// TestPublish: valid publish lines.
func TestPublish(t *testing.T) {
	opt := read(t, "kuadrant a.test {\npublish a.test b a b\npublish *.B.a.test *\npublish a.test c types ns TYPE65280 type43 A\npublish _acme-challenge.*.A.test certs types TXT\n}", "kuadrant b.test {\npublish a.test a b\n}")
	want := []records.Publish{
		{Domain: "_acme-challenge.*.a.test.", Namespaces: []string{"certs"}, Types: []string{"TXT"}},
		{Domain: "a.test.", Namespaces: []string{"a", "b"}},
		{Domain: "a.test.", Namespaces: []string{"c"}, Types: []string{"A", "DS", "NS", "TYPE65280"}},
		{Domain: "b.a.test.", Namespaces: []string{"*"}},
	}
	if got := opt.Publish; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCheckPublish (bug A7): a publish line for a part of a zone requires one for the zone (rule 5.1).
func TestCheckPublish(t *testing.T) {
	const says = "Testfile:2 - Error during parsing: publish: api.open.test is only a part of zone \"open.test\"; say who may publish in the rest: " +
		"`publish open.test *` for every namespace, or `publish open.test NAMESPACE...`"
	for _, c := range []struct{ zones, lines, want string }{
		{"open.test", "publish api.open.test api", says},
		{"open.test", "publish api.open.test api\npublish x.api.open.test *", says},
		{"open.test", "publish _x.open.test *\npublish api.open.test api", strings.ReplaceAll(says, "api.open.test", "_x.open.test")},
		{"open.test", "publish api.open.test api\npublish other.test shop", says},
		{"open.test sub.open.test", "publish api.open.test api\npublish sub.open.test sub", says},
		{".", "publish test api", strings.NewReplacer("api.open.test", "test", "open.test", ".").Replace(says)},
		{"open.test", "", ""},
		{"open.test", "publish api.open.test api\npublish open.test *", ""},
		{"open.test", "publish api.open.test api\npublish test shop", ""},
		{"open.test", "publish _acme-challenge.*.open.test certs", strings.ReplaceAll(says, "api.open.test", "_acme-challenge.*.open.test")},
		{"open.test", "publish _acme-challenge.*.open.test certs\npublish open.test *", ""},
		{"_msdcs.open.test", "publish _msdcs.open.test ad", ""},
		{"open.test sub.open.test", "publish sub.open.test sub", strings.ReplaceAll(says, "api.open.test", "sub.open.test")},
		{"open.test sub.open.test", "publish open.test shop", ""},
		{"sub.open.test", "publish open.test shop", ""},
		{"open.test", "publish opne.test api", ""}, // a warning
	} {
		err := Check(read(t, "kuadrant "+c.zones+" {\n"+c.lines+"\n}"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %q: %v\nwant %s", c.zones, c.lines, err, c.want)
		}
	}
	// The line for the zone may be in another block.
	if err := Check(read(t, "kuadrant open.test {\npublish api.open.test api\n}", "kuadrant other.test {\npublish open.test shop\n}")); err != nil {
		t.Error(err)
	}
}

// TestPublishErrors: invalid publish lines.
func TestPublishErrors(t *testing.T) {
	const form, domain = "want DOMAIN NAMESPACE... [types TYPE...], found ", "want a domain name without wildcards, or one that begins with _, which may have * labels, found "
	for line, want := range map[string]string{
		"a.test":                       form + `"a.test"`,
		"a.test X":                     `want a namespace name (up to 63 of a-z, 0-9 and -), found "X"`,
		"a.*.test x":                   domain + `"a.*.test"`,
		"a.test x types":               `want types such as A, AAAA or NS, found nothing`,
		"a.test x types A X":           `want a type such as A, AAAA or NS, found "X"`,
		"a.test x types ANY":           `want a type such as A, AAAA or NS, found "ANY"`,
		"_a.b*.test x":                 domain + `"_a.b*.test"`,
		"a..test x":                    domain + `"a..test"`,
		"_a.*.bücher.test x":           `"_a.*.bücher.test" has non-ASCII characters: write _a.*.xn--bcher-kva.test, its ASCII form (RFC 5891)`,
		"a.test x\npublish *.a.test y": "*.a.test appears twice in one block; write all its namespaces on one line",
	} {
		_, err := Parse(caddy.NewTestController("dns", "kuadrant a.test {\npublish "+line+"\n}"), new(engine.Options))
		if err == nil || !strings.HasSuffix(err.Error(), " - Error during parsing: publish: "+want) {
			t.Errorf("%q: %v\nwant %s", line, err, want)
		}
	}
	opt := read(t, "kuadrant a.test {\npublish a.test x\n}")
	_, err := Parse(caddy.NewTestController("dns", "kuadrant b.test {\npublish a.test y\n}"), opt)
	if err == nil || !strings.Contains(err.Error(), errDiffers.Error()) {
		t.Errorf("two blocks that differ: %v", err)
	}
}
