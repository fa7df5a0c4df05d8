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
		"":                           "hostmaster.zone.",
		"admin":                      "hostmaster.zone.",
		"@example.com":               "hostmaster.zone.",
		"admin@":                     "hostmaster.zone.",
		"a b@example.com":            "hostmaster.zone.",
		"a@b@c":                      "hostmaster.zone.",
		"a@b..c":                     "hostmaster.zone.",
	} {
		if got := records.Rname(in, "zone."); got != want {
			t.Errorf("Rname(%q) is %q, want %q", in, got, want)
		}
	}
	if got := records.Rname("", "."); got != "hostmaster." {
		t.Errorf("Rname of the root is %q", got)
	}
}
