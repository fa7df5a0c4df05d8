package geo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpace adds up a file of networks, one inside of the other, and compares with what the file says.
func TestSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nets")
	text := "10.0.0.0/8 IE\n10.1.0.0/16 US\n192.0.2.0/24 AS64500\n2001:db8::/32 IE\n2001:db8:1::/48 US-CA\nfd00::/8 IE\n2001:db8:2:3::/80 DE\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(nil, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := 0.0
	s := db.Space(func(done float64) { told = done })
	want := map[string][2]float64{
		" IE GEO-EU": {1<<24 - 1<<16, 1<<32 - 1<<16 - 1}, " US GEO-NA": {1 << 16, 0}, "AS64500": {1 << 8, 0},
		"US-CA US GEO-NA": {0, 1 << 16}, " DE GEO-EU": {0, 1},
	}
	if len(s.Places) != len(want) {
		t.Errorf("there are %d places: %+v", len(s.Places), s.Places)
	}
	for _, p := range s.Places {
		name := strings.TrimRight(strings.Join(p.Codes[CodeAS:CodeAS+1], "")+strings.Join(p.Codes[CodeSubdivision:], " "), " ")
		if w, ok := want[name]; !ok || w != [2]float64{p.V4, p.V6} {
			t.Errorf("%q has %v and %v, want %v", name, p.V4, p.V6, w)
		}
	}
	networks := map[string]string{
		" IE": "10.128.0.0/9", " US": "10.1.0.0/16", "": "192.0.2.0/24", "US-CA US": "2001:db8:1::/48",
		" DE": "2001:db8:2:3::/64",
	}
	for _, p := range s.Places {
		if name := strings.Join(p.Codes[CodeSubdivision:CodeContinent], " "); p.Network.String() != networks[strings.TrimSuffix(name, " ")] {
			t.Errorf("the largest network of %q is %v", name, p.Network)
		}
	}
	for code, want := range map[string]string{
		"IE": "10.0.0.0/16", "GEO-EU": "10.0.0.0/16", "US": "10.1.0.0/16", "US-CA": "2001:db8:1::/48", "AS64500": "192.0.2.0/24", "FR": "",
	} {
		if network, ok := db.Find(code); ok != (want != "") || ok && network.String() != want {
			t.Errorf("the first network of %s is %v, want %s", code, network, want)
		}
	}
	if s.V4 != 1<<24+1<<8 || s.V6 != 1<<32 {
		t.Errorf("%v and %v in all", s.V4, s.V6)
	}
	if told < 0 || told > 1 {
		t.Errorf("progress is %v", told)
	}
}
