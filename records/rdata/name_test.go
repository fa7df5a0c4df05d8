package rdata

import (
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestHost(t *testing.T) {
	long := strings.Repeat("a", 63)
	for in, want := range map[string]string{
		"a.example.com":                         "a.example.com.",
		"A.Example.COM.":                        "a.example.com.",
		"*.example.com":                         "*.example.com.",
		"*.com":                                 "*.com.",
		"a-b.c-d":                               "a-b.c-d.",
		long + ".x":                             long + ".x.",
		"1.2":                                   "1.2.",
		"":                                      "",
		".":                                     "",
		"cat":                                   "",
		"*":                                     "",
		"*.":                                    "",
		"a..b":                                  "",
		".a.b":                                  "",
		"a.b..":                                 "",
		"*my.host":                              "",
		"**my.host":                             "",
		"my.*.host":                             "",
		"*.*.host":                              "",
		"-a.b":                                  "",
		"a-.b":                                  "",
		"a.b-":                                  "",
		"a_b.c":                                 "",
		"a b.c":                                 "",
		`a\.b.c`:                                "",
		"é.example":                             "",
		"a.b\x00":                               "",
		long + "a.x":                            "",
		strings.Repeat(long+".", 3) + long[:61]: strings.Repeat(long+".", 3) + long[:61] + ".",
		strings.Repeat(long+".", 3) + long[:62]: "",
		"*." + strings.Repeat(long+".", 3) + long[:59]: "*." + strings.Repeat(long+".", 3) + long[:59] + ".",
		"*." + strings.Repeat(long+".", 3) + long[:60]: "",
	} {
		got, err := Host(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Host(%q) is %q, %v; want %q", in, got, err, want)
		}
		if err == nil {
			buf := make([]byte, 255) // RFC 1035 §2.3.4
			if _, err := dns.PackDomainName(got, buf, 0, nil, false); err != nil {
				t.Errorf("%q cannot be packed: %v", got, err)
			}
		}
	}
}

// TestLastBackslash: one that escapes nothing made the dot behind it part of the label.
func TestLastBackslash(t *testing.T) {
	for _, c := range []struct{ in, name, below string }{
		{`a\`, "", ""},
		{`a\\\`, "", ""},
		{`a\\`, `a\\.`, `a\\.c.`},
		{`a\.`, `a\..`, `a\..c.`},
		{`A.b\046`, `a.b\..`, `a.b\..c.`},
	} {
		name, err := Canonical(c.in)
		below, belowErr := Below("c.", c.in)
		if name != c.name || below != c.below || (err == nil) != (name != "") || (belowErr == nil) != (below != "") {
			t.Errorf("Canonical(%q) is %q, %v, and below c. it is %q, %v", c.in, name, err, below, belowErr)
		}
	}
}

func TestIsSubdomain(t *testing.T) {
	for _, c := range []struct {
		zone, name string
		want       bool
	}{
		{"example.com.", "example.com.", true},
		{"example.com.", "a.b.example.com.", true},
		{"example.com.", "badexample.com.", false},
		{"example.com.", "com.", false},
		{".", "com.", true},
		{".", ".", true},
		{"example.com.", ".", false},
		{"example.com.", `a\.example.com.`, false},
		{"example.com.", `a\\.example.com.`, true},
		{"example.com.", `\.example.com.`, false},
	} {
		if got := IsSubdomain(c.zone, c.name); got != c.want || got != dns.IsSubDomain(c.zone, c.name) {
			t.Errorf("IsSubdomain(%q, %q) is %v, want %v", c.zone, c.name, got, c.want)
		}
	}
}

func TestAncestors(t *testing.T) {
	for name, want := range map[string][]string{
		".":          {"."},
		"a.":         {"a.", "."},
		"a.b.":       {"a.b.", "b.", "."},
		`a\.b.c.`:    {`a\.b.c.`, "c.", "."},
		`*.a\\.b.c.`: {`*.a\\.b.c.`, `a\\.b.c.`, "b.c.", "c.", "."},
	} {
		if got := slices.Collect(Ancestors(name)); !slices.Equal(got, want) {
			t.Errorf("above %q are %q, want %q", name, got, want)
		}
	}
	for name := range Ancestors("a.b.c.") {
		if name == "b.c." {
			return
		}
	}
	t.Error("the names above a.b.c. lack b.c.")
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.b", "*.a.b", "klb.klb.a", strings.Repeat("a.", 127)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, err := Host(s)
		if err != nil {
			return
		}
		again, err := Host(host)
		if err != nil || again != host {
			t.Fatalf("%q: %q, then %q, %v", s, host, again, err)
		}
	})
}
