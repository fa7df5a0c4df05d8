package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestZonesCountNames: the name count of each zone is the number of names listed.
func TestZonesCountNames(t *testing.T) {
	inRoot(t)
	zones := kdns(t, "", "list", "zones", example)
	lines := strings.Split(strings.TrimSpace(zones.out), "\n")[1:]
	if len(lines) != 3 {
		t.Fatal(zones.out)
	}
	for _, line := range lines {
		zone, count := strings.Fields(line)[0], strings.Fields(line)[2]
		names := kdns(t, "", "list", "names", "--in", zone, example)
		if n := strings.Count(names.out, "\n") - 1; fmt.Sprint(n) != count || n == 0 {
			t.Errorf("%s: %s names are counted, and listed\n%s", zone, count, names.out)
		}
	}
}

// TestMoreConflicts: conflicts and objects each say how many entries are left out.
func TestMoreConflicts(t *testing.T) {
	const names, objects = "NAME           WANTED BY      WHY NOT\na.example.com  DNSPolicy n/a  w\n",
		"\nOBJECT         SERVED   REASON  WHY\nDNSPolicy n/a  in part  R       w\n"
	of := records.Object{Kind: "DNSPolicy", Name: "n/a"}
	for _, c := range []struct {
		conflicts, objects bool
		want               string
	}{
		{true, false, names + "and 4 more\n"},
		{true, true, names + "and 4 more\n" + objects + "and 5 more\n"},
		{false, true, "no conflicts\n" + objects + "and 5 more\n"},
	} {
		all := new(inspect.Troubles)
		if c.conflicts {
			all.Conflicts, all.MoreConflicts = []records.Conflict{{Name: "a.example.com", Loser: of, Why: "w"}}, 4
		}
		if c.objects {
			all.Objects, all.MoreObjects = []records.Trouble{{Object: of, Reason: "R", Why: "w"}}, 5
		}
		if got := troubleRows(all); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// TestGeoFlags: --geoip and --nets take precedence over the Corefile; their help says so, and docs/kdns.md says which
// list has which flag.
func TestGeoFlags(t *testing.T) {
	inRoot(t)
	dir := t.TempDir()
	eu, na := writeFile(t, dir+"/eu.nets", "198.51.100.0/24 GEO-EU\n"), writeFile(t, dir+"/na.nets", "203.0.113.0/24 GEO-NA\n")
	db, err := filepath.Abs("examples/geo.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	corefile := writeFile(t, dir+"/Corefile", "k.example.com {\n  kuadrant {\n    geoip "+db+"\n    nets "+na+"\n  }\n}\n")
	explain := func(ip string, args ...string) string {
		got := kdns(t, "", append([]string{
			"explain", "shop.k.example.com", "-f", "examples/eu", "-f", "examples/na",
			"--corefile", corefile, "--from", ip,
		}, args...)...)
		first, _, _ := strings.Cut(got.out, "\n")
		return first + got.errs
	}
	for _, c := range []struct{ ip, flag, want string }{
		{"198.51.100.7", "", "in US, GEO-NA"},
		{"198.51.100.7", "--nets=" + eu, "in GEO-EU"},
		{"203.0.113.7", "", "in GEO-NA"},
		{"203.0.113.7", "--nets=" + eu, "in DE, GEO-EU"},
	} {
		if got := explain(c.ip, strings.Fields(c.flag)...); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.ip, c.flag, got, c.want)
		}
	}
	help := regexp.MustCompile(`\s+`).ReplaceAllString(kdns(t, "", "explain", "--help").out, " ")
	for _, want := range []string{"instead of those of the Corefile", "before any database, instead of that of the Corefile"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %q", want)
		}
	}
	text, err := os.ReadFile("docs/kdns.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
	for _, c := range newList(new(options)).Commands() {
		in, state := c.Flags().Lookup("in") != nil, c.Flags().Lookup("state") != nil
		want := map[[2]bool]string{
			{true, true}: " takes `--in ZONE` and `--state`", {false, true}: " takes `--state`",
			{}: "the other two take neither",
		}[[2]bool{in, state}]
		if in || state {
			want = "`list " + c.Name() + "`" + want
		}
		if want == "" || !strings.Contains(said, want) {
			t.Errorf("docs/kdns.md lacks %q", want)
		}
	}
}
