package main

import (
	"fmt"
	"strings"
	"testing"
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
