package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestZonesCountNames: of each zone as many names are counted as are listed.
func TestZonesCountNames(t *testing.T) {
	inRoot(t)
	zones := kuadrantctl(t, "", "list", "zones", example)
	lines := strings.Split(strings.TrimSpace(zones.out), "\n")[1:]
	if len(lines) != 3 {
		t.Fatal(zones.out)
	}
	for _, line := range lines {
		zone, count := strings.Fields(line)[0], strings.Fields(line)[2]
		names := kuadrantctl(t, "", "list", "names", "--in", zone, example)
		if n := strings.Count(names.out, "\n") - 1; fmt.Sprint(n) != count || n == 0 {
			t.Errorf("%s: %s names are counted, and listed\n%s", zone, count, names.out)
		}
	}
}

// TestMoreConflicts: what a list has besides is told of conflicts and of objects, each by itself.
func TestMoreConflicts(t *testing.T) {
	const names, objects = "NAME           WANTED BY      WHY NOT\na.example.com  DNSPolicy n/a  w\n", "\nOBJECT         SERVED   REASON  WHY\nDNSPolicy n/a  in part  R       w\n"
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
		var out strings.Builder
		if err := troubleRows(&out, all); err != nil || out.String() != c.want {
			t.Errorf("%v\n%s\nwant\n%s", err, &out, c.want)
		}
	}
}
