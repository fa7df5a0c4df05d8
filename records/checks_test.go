package records_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// asked is a Locator that notes what is asked of it.
type asked struct{ need geo.Need }

// Locate implements geo.Locator.
func (a *asked) Locate(_ netip.Addr, need geo.Need) (*geo.Codes, int) {
	a.need |= need
	return new(geo.Codes), 24
}

// TestNeeds: the answer depends on the client where a group other than the default can match one, and on no more of it than that (rule 3.6).
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		members string // codes; ! is the default, 6 has no IPv4 address
		want    geo.Need
	}{
		{"- -", 0},
		{"IE! IE", 0},
		{"IE", 0},
		{"IE! US", geo.NeedPlace},
		{"IE US", geo.NeedPlace},
		{"IE! UK", 0},
		{"UK! IE", geo.NeedPlace},
		{"IE! AS1", geo.NeedAS},
		{"AS1! US", geo.NeedAS | geo.NeedPlace},
		{"AS1! UK", 0},
		{"- AS1 US-CA", geo.NeedAS | geo.NeedPlace},
		{"IE! US6", 0},
	} {
		text := ""
		for i, code := range strings.Fields(c.members) {
			name, words, address := "n/g"+string(rune('a'+i)), "", "192.0.2.1"
			code, six := strings.CutSuffix(code, "6")
			if six {
				address = "2001:db8::1"
			}
			if code, deflt := strings.CutSuffix(code, "!"); code != "-" {
				if words = " geo=" + code; deflt {
					words += " default"
				}
			}
			text += "gateway " + name + " host=h.example.com addr=" + address + "\npolicy " + name + " weight=1" + words + "\n"
		}
		s := recordstest.New(t, recordstest.Zones("example.com.:flatten"), text).Step(t)
		var at asked
		q := records.Query{Name: "h.example.com.", Owner: "h.example.com.", Type: dns.TypeA, Locator: &at, Client: netip.MustParseAddr("192.0.2.77")}
		var a records.Answer
		if s.Lookup(s.Zone(q.Name), &q, &a); at.need != c.want || (a.Scope > 0) != (c.want > 0) {
			t.Errorf("%s: needs %v, want %v; scope %d", c.members, at.need, c.want, a.Scope)
		}
	}
}

// TestRenewedByProbe: a probe that comes, changes or goes has the hosts of its namespace made anew that publish its address, a controller's the one
// that it is about, and a status that says nothing new has none (rule 4.10).
func TestRenewedByProbe(t *testing.T) {
	const probe = "probe n/p 192.0.2.1 "
	tcp := func(words string) string { return probe + words + " check=TCP:443" }
	for _, c := range []struct {
		name, before, after string
		on, off             string // with probes on and off
	}{
		{"comes", "", tcp("healthy=false"), "a b d w", "a b d w"},
		{"goes", tcp("host=internal.test healthy=false"), "delete probe n/p", "a b d w", "a b d w"},
		{"another status", tcp("host=b.example.com healthy=true"), tcp("host=b.example.com healthy=false"), "", "a b d w"},
		{"another status that says the same", tcp("host=b.example.com healthy=true"), tcp("host=b.example.com"), "", ""},
		{"other terms", tcp("host=b.example.com"), tcp("host=b.example.com") + ",interval=1m", "a b d w", ""},
		{"written by a controller", tcp("owner=DNSRecord/r/u host=b.example.com healthy=true"), tcp("owner=DNSRecord/r/u host=b.example.com healthy=false"), "", "b"},
		{"written about a host that is not checked", tcp("owner=DNSRecord/r/u host=a.example.com healthy=true"), tcp("owner=DNSRecord/r/u host=a.example.com healthy=false"), "", ""},
		{"no longer written by a controller", tcp("owner=DNSRecord/r/u host=b.example.com healthy=false"), tcp("host=b.example.com healthy=false"), "a b d w", "a b d w"},
		{"written about what a check asks for", "", tcp("owner=DNSRecord/r/u host=asked.example.com healthy=false"), "", "d"},
	} {
		for off, want := range map[bool]string{false: c.on, true: c.off} {
			opt := recordstest.Zones("example.com.")
			opt.ProbesOff = off
			w := recordstest.New(t, opt, `gateway n/a host=a.example.com addr=192.0.2.1
policy n/a
gateway n/b host=b.example.com addr=192.0.2.1
policy n/b check=HTTP:80/up
gateway n/d host=d.example.com addr=192.0.2.1
policy n/d check=HTTP:80/up,host=asked.example.com
gateway n/w host=*.w.example.com addr=192.0.2.1
policy n/w
gateway n/elsewhere host=b.example.org addr=192.0.2.1
policy n/elsewhere check=HTTP:80/up`, c.before)
			w.Step(t)
			w.Apply(t, c.after)
			var hosts []string
			for _, group := range w.Step(t).Renewed() {
				hosts = append(hosts, strings.TrimPrefix(group, "*.")[:1])
			}
			if got := strings.Join(hosts, " "); got != want {
				t.Errorf("%s, probes off %v: %q made anew, want %q", c.name, off, got, want)
			}
		}
	}
}

// TestHealthFromBefore: a target begins with what was known of it before the start, until checks decide otherwise, and only a target with the
// same key (rule 4.7).
func TestHealthFromBefore(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/g host=a.example.com addr=192.0.2.1,192.0.2.2\npolicy n/g check=TCP:80,failures=2,successes=2")
	known := make(map[string]health.State)
	for key, target := range w.Step(t).Checks().All() {
		if target.Address == "192.0.2.1" {
			known[key] = health.Down
		}
	}
	opt := *w.Options
	opt.Health = known
	s := records.Compile(nil, w.Objects(), &opt, w.Now)
	for key, target := range s.Checks().All() {
		word := target.Cell.Load()
		if _, ok := known[key]; word.Checked() || word.Known() != ok || (word.State() == health.Down) != ok {
			t.Errorf("%s: checked %v, known %v, %v", key, word.Checked(), word.Known(), word.State())
		}
		if known[key] == health.Down {
			for i, want := range []health.State{health.Down, health.Up} {
				if _, after := target.Cell.Observe(health.Outcome{Reason: health.Good}, target.Terms); after.State() != want || !after.Checked() {
					t.Errorf("after %d checks: %v", i+1, after.State())
				}
			}
		}
	}
	w.Apply(t, "policy n/g check=TCP:443,failures=2,successes=2")
	for key, target := range records.Compile(s, w.Objects(), &opt, w.Now).Checks().All() {
		if target.Cell.Load().State() != health.Up {
			t.Errorf("another check begins as it was before: %s", key)
		}
	}
}

// TestHeadersAreSecret: what is printed of a target tells nothing of the headers that it sends (rule 4.10).
func TestHeadersAreSecret(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/g host=a.example.com addr=192.0.2.1\npolicy n/g check=HTTP:80/up,headers=key\nsecret n/key X-Key=the-value labels=kuadrant.io/probe-headers:true")
	for key, target := range w.Step(t).Checks().All() {
		if text := fmt.Sprintf("%s %v %+v %#v", key, target.Values, target.Values, *target); target.Values[0].Value != "the-value" || strings.Contains(text, "the-value") {
			t.Errorf("printed is %s", text)
		}
	}
}
