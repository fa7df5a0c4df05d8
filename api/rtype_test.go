package api_test

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestParseType: a type has one number however it is written, and one name, which is what is granted.
func TestParseType(t *testing.T) {
	for text, want := range map[string]struct {
		rtype         uint16
		name, granted string
	}{
		"A":         {dns.TypeA, "A", "A"},
		"aaaa":      {dns.TypeAAAA, "AAAA", "AAAA"},
		"TYPE43":    {dns.TypeDS, "DS", "DS"},
		"type00043": {dns.TypeDS, "DS", "DS"},
		"TYPE65280": {65280, "TYPE65280", "TYPE65280"},
		"CAA":       {dns.TypeCAA, "CAA", "CAA"},
		"ANY":       {dns.TypeANY, "ANY", ""},
		"TYPE128":   {128, "NXNAME", ""},
		"TYPE0":     {0, "None", ""},
	} {
		rtype, ok := api.ParseType(text)
		granted, grants := api.GrantedType(text)
		if name := api.TypeName(text); !ok || rtype != want.rtype || name != want.name || granted != want.granted || grants != (granted != "") {
			t.Errorf("%s is %d %q, and grants %q", text, rtype, name, granted)
		}
	}
	for _, text := range []string{"", "X", "TYPE", "TYPE-1", "TYPE65536", "TYPE+1", "TYPE1 ", "TYPE1_0", "TYPE000000000000000000001x"} {
		if rtype, ok := api.ParseType(text); ok || api.TypeName(text) != strings.ToUpper(text) {
			t.Errorf("%q is the type %d", text, rtype)
		}
	}
}
