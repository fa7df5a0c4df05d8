package kuadrant

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/rewrite"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/engine"
)

// warningsOf starts CoreDNS over a Corefile and returns what this plugin has logged as a
// warning until all plugins had started.
func warningsOf(t *testing.T, corefile string) []string {
	t.Helper()
	log := listen(t)
	inst, _ := boot(t, corefile)
	_ = inst.Stop()
	inst.ShutdownCallbacks()
	return slices.DeleteFunc(log.all(), func(line string) bool { return !strings.HasPrefix(line, "warning ") })
}

// TestMisgivings: what most likely is a mistake starts, and a line of the log says so and
// where it stands; what only looks like it has none (rule 8.3).
func TestMisgivings(t *testing.T) {
	_, key := newKey(t, t.TempDir(), "example.com.", 257)
	db := filepath.Join(t.TempDir(), "db")
	writeFile(t, db, "@ 60 IN SOA ns. root. 1 2 3 4 5\n@ 60 IN NS ns.\n")
	const outside = "Corefile:4: the zone example.org. lies outside of this server block, which is for example.com.: nobody asks here for its names"
	const untransferred = "Corefile:4: transfer names other zones than those of kuadrant in this server block, example.com.: these are not transferred"
	for _, c := range []struct {
		zones, server, args, block string
		want                       string
	}{
		{"example.com", "", "", "nameserver ns1", "Corefile:5: nameserver ns1: names in the Corefile are complete, and this one is ns1. at the top level: write ns1.example.com if that is meant, or ns1. if this is"},
		{"example.com", "", "", "nameserver ns1.", ""},
		{".", "", ".", "nameserver ns1 192.0.2.1", ""},
		{"example.com", "", "", "nameserver ns1.example.org 192.0.2.1", "Corefile:5: nameserver ns1.example.org: no zone served here now contains this name, so its addresses are not served"},
		{"example.com", "", "", "nameserver ns1.example.org", ""},
		{"example.com example.org", "", "example.com example.org", "nameserver ns1.example.org 192.0.2.1", ""},
		{"example.com", "", "example.org", "", outside},
		{"example.com", "rewrite name suffix .example.com .example.org", "example.org", "", ""},
		{"example.com", "", "sub.example.com", "", ""},
		{"sub.example.com", "", "example.com", "", ""},
		{".", "", "example.com", "", ""},
		{"192.0.2.0/24", "", "2.0.192.in-addr.arpa", "", ""},
		{"example.com", "transfer example.org {\nto *\n}", "", "", strings.Replace(untransferred, ":4", ":6", 1)},
		{"example.com", "transfer {\nto 192.0.2.1\n}", "", "", ""},
		{"example.com", "transfer {\nto *\n}", "", "", ""},
		{"example.com", "transfer com {\nto *\n}", "", "", ""},
		{"example.com", "transfer example.org {\nto *\n}\nfile " + db + " example.com", "", "", ""},
		{"example.com example.org", "transfer example.org {\nto 192.0.2.1\n}", "example.com example.org", "", ""},
		{"example.com", "dnssec {\ncache_capacity 100\n}", "", "", "Corefile:6: dnssec has no key: nothing is signed, and who asks for DNSSEC gets NOERROR in place of NXDOMAIN"},
		{"example.com", "dnssec {\nkey file " + key + "\n}", "", "", ""},
	} {
		zones := strings.ReplaceAll(c.zones, " ", ":0 ") + ":0"
		got := warningsOf(t, fmt.Sprintf("%s {\nbind 127.0.0.1\n%s\nkuadrant %s {\n%s\nmanifests %s\n}\n}", zones, c.server, c.args, c.block, t.TempDir()))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "warning "+c.want)) {
			t.Errorf("%+v: logged %q", c, got)
		}
	}
}

// TestMisgivingsOfTexts: no Corefile that the texts or the examples show has a warning.
func TestMisgivingsOfTexts(t *testing.T) {
	t.Setenv("KUBECONFIG", unreachable(t))
	corefiles := make(map[string]string)
	for _, pattern := range []string{"Corefile.example", "examples/Corefile.*", "examples/*/Corefile", "README.md", "docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, ".md") {
				corefiles[file] = string(text)
				continue
			}
			for i, b := range regexp.MustCompile("(?s)~~~ (?:corefile|txt)\n([^~]*?kuadrant[^~]*?)~~~").FindAllStringSubmatch(string(text), -1) {
				if strings.Contains(b[1], "{\n") {
					corefiles[fmt.Sprintf("%s, %d", file, i+1)] = b[1]
				}
			}
		}
	}
	parsed := 0
	for name, text := range corefiles {
		if strings.HasSuffix(name, ".secondary") {
			continue // it is about another plugin
		}
		blocks := regexp.MustCompile(`(?ms)^(\S[^{\n]*)\{\n(.*?)^\}`).FindAllStringSubmatch(text, -1)
		cfg := new(engine.Options)
		var warnings []string
		for _, b := range blocks {
			directive := regexp.MustCompile(`(?ms)^    kuadrant.*?(?:\n    \}|$)`).FindString(b[2])
			if directive == "" {
				continue
			}
			c := caddy.NewTestController("dns", directive)
			c.ServerBlockKeys = strings.Fields(b[1])
			block, err := corefile.Parse(c, cfg)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			parsed++
			for _, zone := range block.Outside() {
				warnings = append(warnings, zone+" lies outside")
			}
			warnings = append(warnings, block.Warnings...)
		}
		if warnings = append(warnings, corefile.Warnings(cfg)...); len(warnings) > 0 {
			t.Errorf("%s: %q", name, warnings)
		}
	}
	if parsed < 15 {
		t.Errorf("found %d directives in %d Corefiles", parsed, len(corefiles))
	}
}
