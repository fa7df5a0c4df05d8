package records_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// ends returns the last records of the answers that a name gets, with their class, each once.
func ends(w *recordstest.World, name string) string {
	seen := make(map[string]bool)
	for random := range uint64(64) {
		var last []string
		a := lookup(w.Snapshot, name, dns.TypeA, random<<58)
		for _, rr := range a.Answer {
			if text := strings.TrimPrefix(rr.String(), rr.Header().String()); rr.Header().Rrtype != dns.TypeCNAME || !strings.Contains(text,
				"klb.") {
				last = append(last, text)
			}
		}
		seen[strings.Join(last, " ")+" "+a.Class.String()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), " | ")
}

// TestPrecedence: the words on a target, on its Gateway and on its cluster, the annotations, Programmed and checks, in this order (rule
// 4.5), for simple and for weightedGeo hosts alike.
func TestPrecedence(t *testing.T) {
	const one, two, three, both = "192.0.2.1", "192.0.2.2", "192.0.2.3 up", "192.0.2.1 192.0.2.2 up"
	for _, c := range []struct {
		name, overrides string
		words           string // of the Gateway with .1 and .2
		down            string // what checks find
		simple          string // of .1 and .2 alone
		steered         string // beside .3, which is up
	}{
		{"nothing", "", "", "", both, both + " | " + three},
		{"a check", "", "", two, one + " up", one + " up | " + three},
		{"Programmed before checks", "", "programmed=False", "", one + " " + two + " down", three},
		{"an annotation before Programmed", "", "programmed=False override=up", "", both, both + " | " + three},
		{"an annotation before checks", "", "override=up", two, both, both + " | " + three},
		{"the file before an annotation", "gateway n/a up", "override=down", "", both, both + " | " + three},
		{"the file's down before an annotation", "gateway n/a down", "override=up", "", one + " " + two + " forced-down", three},
		{"a Gateway before its cluster", "cluster c1 down;gateway n/a up", "", "", both, both},
		{"a target before Programmed", "target 192.0.2.1 up", "programmed=False", "", one + " up", one + " up | " + three},
		{"a target before an annotation", "target 192.0.2.1 up", "override=down", "", one + " up", one + " up | " + three},
		{"a target before its Gateway", "target 192.0.2.1 down;gateway n/a up", "", "", two + " up", two + " up | " + three},
		{"a target before its check", "target 192.0.2.2 up", "", two, both, both + " | " + three},
		{"a drain stays with targets that are up", "target 192.0.2.1 up", "override=drain", "", one + " " + two + " drained", three},
		{"all of a member's targets forced down", "target 192.0.2.1 down;target 192.0.2.2 down", "", "192.0.2.3", one + " " + two +
			" forced-down", "192.0.2.3 down"},
		{"a target forced down behind one that is down", "target 192.0.2.1 down", "", two + " 192.0.2.3", two + " down", two +
			" down | 192.0.2.3 down"},
	} {
		const check = " check=TCP:80,interval=1s"
		w := recordstest.New(t, recordstest.Zones("example.com."), "overrides "+c.overrides,
			"gateway n/a host=l:g.example.com,s:s.example.com addr=192.0.2.1,192.0.2.2 "+c.words,
			"policy n/a weight=1"+check, "policy n/s gateway=a section=s"+check,
			"gateway n/b host=g.example.com addr=192.0.2.3\npolicy n/b weight=1"+check)
		w.Step(t)
		if unmet := w.Snapshot.Unmet(); len(unmet) > 0 {
			t.Errorf("%s: %v concern nothing", c.name, unmet)
		}
		for _, address := range []string{one, two, "192.0.2.3"} {
			w.Apply(t, "find "+address+" "+map[bool]string{true: "down", false: "up"}[strings.Contains(c.down, address)])
		}
		if got := ends(w, "s.example.com."); got != c.simple {
			t.Errorf("%s, simple: %s, want %s", c.name, got, c.simple)
		}
		if got := ends(w, "g.example.com."); got != c.steered {
			t.Errorf("%s, weightedGeo: %s, want %s", c.name, got, c.steered)
		}
	}
	w := recordstest.New(t, recordstest.Zones("example.com."), "overrides cluster c2 up;gateway n/b up;target 192.0.2.9 up",
		"gateway n/a host=a.example.com addr=192.0.2.1\npolicy n/a")
	if w.Step(t); len(w.Snapshot.Unmet()) != 3 {
		t.Errorf("of three that concern nothing: %v", w.Snapshot.Unmet())
	}
}

// TestTwoClustersOneAddress: an address or a hostname that two clusters publish is as good as the better Gateway, and all checks of it
// count (rules 1.3 and 4.5).
func TestTwoClustersOneAddress(t *testing.T) {
	for _, c := range []struct{ what, overrides, words, ofA, ofB, down, want string }{
		{"an address that the other cluster checks", "", "", "192.0.2.1,192.0.2.2", "192.0.2.2,192.0.2.3", "192.0.2.2", "192.0.2.1 192.0.2.3 up"},
		{"an address of which one cluster is forced down", "cluster c1 down", "", "192.0.2.1,192.0.2.2", "192.0.2.2", "", "192.0.2.2 up"},
		{
			"a hostname of which one cluster is forced down", "cluster c1 down", "weight=1", "lb2.example.net", "lb2.example.net", "",
			"lb2.example.net. up",
		},
		{
			"a hostname that the other cluster checks", "", "weight=1", "lb1.example.net,lb2.example.net", "lb2.example.net", "lb2.example.net",
			"lb1.example.net. up",
		},
		{"one hostname, which is down", "", "", "", "lb2.example.net", "lb2.example.net", "lb2.example.net. down"},
	} {
		w := recordstest.New(t, recordstest.Zones("example.com."), "overrides "+c.overrides)
		for i, addr := range []string{c.ofA, c.ofB} {
			text := "gateway n/g host=h.example.com"
			if addr != "" {
				text += " addr=" + addr
			}
			w.Apply(t, fmt.Sprintf("cluster c%d", i+1), text, "policy n/g "+c.words+[]string{"", " check=TCP:80,interval=1s"}[i])
		}
		w.Step(t)
		w.Apply(t, "find "+cmp.Or(c.down, "nothing")+" down")
		if got := ends(w, "h.example.com."); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if got := w.Snapshot.Fails("h.example.com").Whom; (got != "") != strings.HasSuffix(c.want, "down") {
			t.Errorf("%s: it fails open for %q", c.what, got)
		}
	}
}

// TestDrainedByWeight: members that the operator has drained are chosen by weight (rule 4.6).
func TestDrainedByWeight(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."),
		"gateway n/a host=g.example.com addr=192.0.2.10\npolicy n/a weight=10 override=drain",
		"gateway n/b host=g.example.com addr=192.0.2.90\npolicy n/b weight=90 override=drain")
	w.Step(t)
	got := w.Ask(t, "g.example.com A times=2000")
	if lines := strings.Split(got, "\n"); len(lines) != 2 || !strings.Contains(got, " 10% klb.") || !strings.Contains(got, " 90% klb.") {
		t.Errorf("shares are\n%s", got)
	}
}

// TestTTLWhereAProbeChecks: the upper CNAMEs of a chain live no longer than failover may take where a probe alone checks (rule 2.3).
func TestTTLWhereAProbeChecks(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/a host=g.example.com addr=192.0.2.1\npolicy n/a weight=1")
	for _, want := range []string{"300", "60"} {
		w.Step(t)
		if got := w.Ask(t, "g.example.com CNAME"); !strings.HasSuffix(got, "g.example.com. "+want+" CNAME klb.g.example.com.") {
			t.Errorf("want TTL %s: %s", want, got)
		}
		w.Apply(t, "probe n/p 192.0.2.1 check=TCP:80,interval=1s")
	}
}
