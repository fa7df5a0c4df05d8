package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func parseOverrides(t *testing.T, lines ...string) *api.Overrides {
	t.Helper()
	o, err := api.ParseOverrides("f", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOverrides(t *testing.T) {
	o := parseOverrides(
		t, "# what is down", "", "cluster b down", "  gateway\tshop/prod drain # until Monday", "gateway b/shop/prod up",
		"target ::ffff:192.0.2.1 down\r", "target LB.Example.com. up", "target 2001:DB8::1 up", "cluster b down",
	)
	for _, c := range []struct{ cluster, gateway, want string }{
		{"a", "shop/prod", "drain"}, {"b", "shop/prod", "up"}, {"b", "shop/test", "down"}, {"a", "shop/test", ""},
	} {
		if got := o.Gateway(c.cluster, c.gateway); got != c.want {
			t.Errorf("%s/%s is %q, want %q", c.cluster, c.gateway, got, c.want)
		}
	}
	for target, want := range map[string]string{"192.0.2.1": "down", "lb.example.com": "up", "2001:db8::1": "up", "192.0.2.2": "", "b": ""} {
		if got := o.Target(target); got != want {
			t.Errorf("%s is %q, want %q", target, got, want)
		}
	}
	var lines []string
	for line := range o.All() {
		lines = append(lines, line.String())
	}
	want := []string{
		"gateway shop/prod drain", "gateway b/shop/prod up", "target 192.0.2.1 down", "target lb.example.com up",
		"target 2001:db8::1 up", "cluster b down",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("all are %q, want %q", lines, want)
	}
	var none *api.Overrides
	if none.Gateway("b", "shop/prod")+none.Target("192.0.2.1") != "" || len(slices.Collect(none.All())) > 0 {
		t.Error("nothing says something")
	}
}

func TestOverrideErrors(t *testing.T) {
	for line, want := range map[string]string{
		"cluster b":              `f:2: "cluster b": write "cluster NAME up|down|drain"`,
		"cluster b down now":     `f:2: "cluster b down now": write "cluster NAME`,
		"zone b down":            `f:2: "zone b down": write "cluster NAME`,
		"cluster b off":          `f:2: "off": write up, down or drain`,
		"gateway prod down":      `f:2: "prod" is not a Gateway; write NAMESPACE/NAME`,
		"gateway a/b/c/d down":   `f:2: "a/b/c/d" is not a Gateway`,
		"gateway /prod down":     `f:2: "/prod" is not a Gateway`,
		"target 192.0.2.1 drain": `f:2: "drain": write up or down`,
		"target 192.0.2.0/24 up": `f:2: "192.0.2.0/24" is not a target; write an IP address`,
		"target fe80::1%eth0 up": `f:2: "fe80::1%eth0" is not a target`,
		"cluster a up":           `f:2: line 1 says "down" for the same; remove one`,
	} {
		_, err := api.ParseOverrides("f", []byte("cluster a down\n"+line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestOverridesChanged(t *testing.T) {
	before := parseOverrides(t, "cluster a down", "gateway n/g drain", "target 192.0.2.1 up")
	after := parseOverrides(t, "# moved", "gateway n/g drain", "target 192.0.2.1 down", "cluster b up")
	for _, c := range []struct {
		from, to *api.Overrides
		want     string
	}{
		{before, after, "cluster a down, cluster b up, target 192.0.2.1 down"},
		{after, before, "cluster a down, cluster b up, target 192.0.2.1 up"},
		{before, before, ""},
		{nil, before, "cluster a down, gateway n/g drain, target 192.0.2.1 up"},
		{before, nil, "cluster a down, gateway n/g drain, target 192.0.2.1 up"},
		{nil, nil, ""},
	} {
		seen := make(map[string]bool)
		for line := range c.to.Changed(c.from) {
			seen[line.String()] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(seen)), ", "); got != c.want {
			t.Errorf("changed: %s, want %s", got, c.want)
		}
	}
}

// FuzzOverrides: no text makes the parser panic, and what it takes can be written
// and read again.
func FuzzOverrides(f *testing.F) {
	f.Add("cluster b down\ngateway shop/prod drain\ngateway b/shop/prod up # x\ntarget 192.0.2.1 down\n")
	f.Add("target ::ffff:1.2.3.4 up\ntarget a.example. down")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := api.ParseOverrides("f", []byte(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for line := range o.All() {
			again.WriteString(line.String() + "\n")
		}
		p, err := api.ParseOverrides("f", []byte(again.String()))
		if err != nil {
			t.Fatalf("%q: %v", again.String(), err)
		}
		for line := range p.Changed(o) {
			t.Errorf("%s has changed by writing", line.String())
		}
	})
}
