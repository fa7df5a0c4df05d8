package records

import (
	"testing"
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
		if got := Rname(in, "zone."); got != want {
			t.Errorf("Rname(%q) is %q, want %q", in, got, want)
		}
	}
	if got := Rname("", "."); got != "hostmaster." {
		t.Errorf("Rname of the root is %q", got)
	}
}
