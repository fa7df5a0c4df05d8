package inspect

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// TestCheck: each mistake is found, with the object and the name that it is about, and what is right is not.
func TestCheck(t *testing.T) {
	good := someMember{cluster: "a", name: "n/good", host: "good.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.1"}}
	with := func(change func(*someMember)) someMember {
		m := good
		m.name, m.host = "n/bad", "bad.example.com"
		change(&m)
		return m
	}
	space := &geo.Space{V4: 1, Places: []geo.Place{{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, V4: 1}}}
	for name, c := range map[string]struct {
		bad  someMember
		want string // severity, reason, object, name and a part of the text
	}{
		"elsewhere":     {with(func(m *someMember) { m.host = "bad.example.org" }), "error Unknown DNSPolicy n/bad of cluster a  outside the zones"},
		"conflict":      {with(func(m *someMember) { m.name, m.host, m.created, m.simple = "m/bad", "good.example.com", 9, true }), "error Unknown DNSPolicy m/bad of cluster a  belongs to DNSPolicy n/good"},
		"no host":       {with(func(m *someMember) { m.host = "" }), "warning ServedInPart DNSPolicy n/bad of cluster a  no listener with a hostname"},
		"no address":    {with(func(m *someMember) { m.addresses = nil }), "warning NoAddresses DNSPolicy n/bad of cluster a bad.example.com answered with no data"},
		"no default":    {with(func(m *someMember) { m.geo = "IE" }), "warning NoDefaultGeo DNSPolicy n/bad of cluster a bad.example.com match none of IE"},
		"unknown code":  {with(func(m *someMember) { m.geo = "UK" }), "warning UnknownGeoCode DNSPolicy n/bad of cluster a  GB"},
		"no such place": {with(func(m *someMember) { m.geo = "US-CA" }), "warning UnreachableGeo DNSPolicy n/bad of cluster a bad.example.com is in US-CA"},
		"all drained":   {with(func(m *someMember) { m.weight = 0 }), "warning AllDrained DNSPolicy n/bad of cluster a bad.example.com weight 0"},
	} {
		v := View{Snapshot: compiled(good, c.bad)}
		found := v.Check(space)
		ok := false
		var lines []string
		for _, f := range found {
			line := strings.Join([]string{string(f.Severity), f.Reason, objectOf(&f), f.Name}, " ")
			lines = append(lines, line+" "+f.Text)
			ok = ok || strings.HasPrefix(c.want, line+" ") && strings.Contains(f.Text, strings.TrimPrefix(c.want, line+" "))
			if strings.Contains(line, "n/good") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if !ok {
			t.Errorf("%s: found\n%s\nwant %s", name, strings.Join(lines, "\n"), c.want)
		}
	}
	v := View{Snapshot: compiled(good)}
	if found := v.Check(space); len(found) > 0 {
		t.Errorf("in what is right, it finds %+v", found)
	}
}

// TestParseName: a name is read however it is spelled, and what is none is refused.
func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"App.Example.com": "app.example.com.", "app.example.com.": "app.example.com.", " a.example ": "a.example.", ".": ".",
		"0/25.2.0.192.in-addr.arpa": "0/25.2.0.192.in-addr.arpa.", `a\ b.example`: `a\ b.example.`, `a\032b.example`: `a\ b.example.`, `\097.example`: "a.example.",
		`dot\.ted.example`: `dot\.ted.example.`, "*.example": "*.example.", "_sip._tcp.example": "_sip._tcp.example.",
		"": "", "a..b": "", "https://a.example": "", "a b.example": "", "münchen.example": "", strings.Repeat("a", 64) + ".example": "", strings.Repeat("a.", 128): "", `a\`: "",
	} {
		got, err := ParseName(text)
		if _, is := IsRequest(err); got != want || (want == "") != is {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}
