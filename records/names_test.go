package records_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records"
)

func TestRname(t *testing.T) {
	for in, want := range map[string]string{
		"admin@example.com":          "admin.example.com.",
		"  admin@example.com  ":      "admin.example.com.",
		"hostmaster@sub.example.com": "hostmaster.sub.example.com.",
		"dns.admin@example.com":      `dns\.admin.example.com.`,
		"my.dns.admin@example.com":   `my\.dns\.admin.example.com.`,
		"":                           "",
		"admin":                      "",
		"@example.com":               "",
		"admin@":                     "",
		"a b@example.com":            "",
		"a@b@c":                      "",
		"a@b..c":                     "",
	} {
		if got := records.Rname(in); got != want {
			t.Errorf("Rname(%q) is %q, want %q", in, got, want)
		}
	}
}
