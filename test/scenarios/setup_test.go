package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/dnssec"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/geoip"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/transfer"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// TestSetupErrors: mistakes that only show in the whole Corefile are set-up errors too, with the
// line (rule 8.3).
func TestSetupErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		boottest.WriteFile(t, file, string(content))
		return file
	}
	city, err := geotest.Encode(geotest.City, geotest.Places())
	if err != nil {
		t.Fatal(err)
	}
	html, cut, empty := write("html.mmdb", []byte("<html>")), write("cut.mmdb", city[:len(city)-100]), write("empty", nil)
	away := boottest.Unreachable(t)
	nets := write("nets", []byte("\n192.0.2.0/24 UK\n"))
	words := write("override", []byte("\ntarget 192.0.2.1 gone\n"))
	const notComplete = ": not a complete MaxMind DB file: " // followed by the reader's own message
	for _, c := range []struct {
		server, more string // lines before the directive, and within its block
		line         int
		want         string
	}{
		{"cache", "manifests " + dir, 4, "a server block for the root zone with cache must name the zones, as in `kuadrant example.com` or `kuadrant .`; the cache is bypassed for them"},
		{"", "", 4, "no objects to read: not in a cluster, and none of kubeconfig, manifests and the variable KUBECONFIG is set"},
		{"", "ttl 5\nkubeconfig " + dir + "/none\nttl 6", 7, "ttl appears twice in one block"},
		{"", "ttl 5\nkubeconfig " + dir + "/none", 6, "kubeconfig: stat " + dir + "/none: no such file or directory"},
		{"", "kubeconfig " + away + "\ncluster a " + away + "\ncluster b " + dir + "/none", 7, "cluster b: stat " + dir + "/none: no such file or directory"},
		{"", "kubeconfig " + away + "\ncluster a " + away + " nobody {\nwrite-back off\n}", 6, `cluster a: no context "nobody" in ` + away + "; want one of c"},
		{"", "manifests " + dir + "\ngeoip /none.mmdb\nttl 5", 6, `geoip: open geo database "/none.mmdb": no such file or directory`},
		{"", "manifests " + dir + "\n\ngeoip " + dir, 7, `geoip: open geo database "` + dir + `": not a regular file`},
		{"", "manifests " + dir + "\ngeoip " + html, 6, `geoip: open geo database "` + html + `"` + notComplete},
		{"", "geoip " + cut + "\nmanifests " + dir, 5, `geoip: open geo database "` + cut + `"` + notComplete},
		{"", "manifests " + dir + "\ngeoip " + empty, 6, `geoip: open geo database "` + empty + `": the file is empty`},
		{"", "manifests " + dir + "\nnets " + dir + "/none", 6, `nets: open networks file "` + dir + `/none": no such file or directory`},
		{"", "manifests " + dir + "\nnets " + nets, 6, `nets: open networks file "` + nets + `": ` + nets + `:2: `},
		{"", "manifests " + dir + "\nstate " + empty + "/state\nttl 5", 6, "state: make directory: mkdir " + empty + ": not a directory"},
		{"", "manifests " + dir + "\nstate " + empty, 6, "state: make directory: mkdir " + empty + ": not a directory"},
		{"", "manifests " + dir + "\noverride " + dir, 6, `override: read ` + dir + `: not a regular file`},
		{"", "override " + words + "\nmanifests " + dir, 5, `override: ` + words + `:2: "gone": write up or down`},
	} {
		corefile := fmt.Sprintf(".:0 {\nbind 127.0.0.1\n%s\nkuadrant {\n%s\n}\n}", c.server, c.more)
		inst, err := caddy.Start(boottest.Corefile(corefile))
		if err == nil {
			_ = inst.Stop()
			inst.ShutdownCallbacks()
		}
		want := fmt.Sprintf("plugin/kuadrant: Corefile:%d - Error during parsing: %s", c.line, c.want)
		if err == nil || err.Error() != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant\n%s", corefile, err, want)
		}
	}
}

// TestSetupWarnings: a doubtful Corefile that could be intended starts, and a log line says what to
// check, and where.
func TestSetupWarnings(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	const nobody = "Corefile:4: the geoip plugin cannot locate clients without the metadata plugin; add `metadata` to this server block"
	const noEmail = `Corefile:5: rname "admin.example.com" is not an e-mail address`
	for _, c := range []struct {
		server, more string
		says, not    string
	}{
		{"geoip " + files.City, "ttl 5", nobody, "rname"},
		{"geoip " + files.City + " { \nedns-subnet\n}\nmetadata", "ttl 5", "", "geoip"},
		{"geoip " + files.City, "geoip " + files.City, "", "metadata"},
		{"", "rname admin.example.com", noEmail, "geoip"},
		{"", "rname admin@example.com", "", "rname"},
		{"", "publish exmple.com dns", "Corefile:5: publish exmple.com: no zone of the Corefile has this name", "geoip"},
		{"", "publish com dns\npublish example.com dns\npublish a.example.com dns", "", "publish"},
	} {
		log := boottest.Listen(t)
		inst, _ := boottest.Start(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\n%s\nkuadrant {\n%s\nmanifests %s\n}\n}", c.server, c.more, t.TempDir()))
		_ = inst.Stop()
		inst.ShutdownCallbacks()
		if c.says != "" && !log.Has("warning", c.says) || log.Has("warning", c.not) {
			t.Errorf("%s, %s: logged %q, want %q and nothing of %s", c.server, c.more, log.All(), c.says, c.not)
		}
	}
}

// TestSetupGeoLog: a reloaded database is good news, a failed reload a warning.
func TestSetupGeoLog(t *testing.T) {
	dir := t.TempDir()
	files := geotest.Write(t, dir)
	log := boottest.Listen(t)
	boottest.Serve(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\ngeoip %s\n}\n}", t.TempDir(), files.City))
	country, err := os.ReadFile(files.Country)
	if err != nil {
		t.Fatal(err)
	}
	boottest.WriteFile(t, files.City, string(country))
	boottest.WaitFor(t, "reload", func() bool { return log.Has("info", `geo database "`+files.City+`": reloaded`) })
	boottest.WriteFile(t, files.City, "<html>")
	boottest.WaitFor(t, "warning", func() bool { return log.Has("warning", "keeping the previous one") })
	if log.Has("warning", "reloaded") {
		t.Error("the good news is a warning")
	}
}

// warningsOf starts CoreDNS with a Corefile and returns this plugin's warnings up to the start of
// all plugins.
func warningsOf(t *testing.T, corefile string) []string {
	t.Helper()
	log := boottest.Listen(t)
	inst, _ := boottest.Start(t, corefile)
	_ = inst.Stop()
	inst.ShutdownCallbacks()
	return slices.DeleteFunc(log.All(), func(line string) bool {
		later := strings.Contains(line, "no `nameserver` is set") || strings.Contains(line, "no object was read") // once all objects are listed
		return later || !strings.HasPrefix(line, "warning ")
	})
}

// TestMisgivings: a likely mistake starts, and a log line says so and where; what only resembles
// one is not logged (rule 8.3).
func TestMisgivings(t *testing.T) {
	_, key := boottest.NewKey(t, t.TempDir(), "example.com.", 257)
	db := filepath.Join(t.TempDir(), "db")
	boottest.WriteFile(t, db, "@ 60 IN SOA ns. root. 1 2 3 4 5\n@ 60 IN NS ns.\n")
	const outside = "Corefile:4: zone \"example.org.\" is outside this server block, which is for example.com.; it gets no queries here"
	const untransferred = "Corefile:4: transfer lists none of kuadrant's zones in this server block, example.com.; they are not transferred"
	for _, c := range []struct {
		zones, server, args, block string
		want                       string
	}{
		{"example.com", "", "", "nameserver ns1", "Corefile:5: nameserver ns1: names in the Corefile are absolute, so this is the top-level name ns1.; write ns1.example.com if you mean that, or ns1. to keep it"},
		{"example.com", "", "", "nameserver ns1.", ""},
		{".", "", ".", "nameserver ns1 192.0.2.1", ""},
		{"example.com", "", "", "nameserver ns1.example.org 192.0.2.1", "Corefile:5: nameserver ns1.example.org: no zone of the Corefile contains this name, so its addresses are not served"},
		{"example.com", "", "", "nameserver ns1.example.org", ""},
		{"example.com example.org", "", "example.com example.org", "nameserver ns1.example.org 192.0.2.1", ""},
		{"example.com", "", "example.org", "", outside},
		{"example.com", "rewrite name suffix .example.com .example.org", "example.org", "", ""},
		{"example.com", "", "sub.example.com", "", ""},
		{"example.com", "", "", "fallthrough", "Corefile:4: fallthrough: no plugin follows kuadrant"},
		{"example.com", "erratic", "", "fallthrough a.example.com", ""},
		{"example.com", "erratic", "", "fallthrough other.test", "Corefile:4: fallthrough: \"other.test.\" has no name in common with the zones example.com."},
		{"sub.example.com", "", "example.com", "", ""},
		{".", "", "example.com", "", ""},
		{"192.0.2.0/24", "", "2.0.192.in-addr.arpa", "", ""},
		{"example.com", "transfer example.org {\nto *\n}", "", "", strings.Replace(untransferred, ":4", ":6", 1)},
		{"example.com", "transfer {\nto 192.0.2.1\n}", "", "", ""},
		{"example.com", "transfer {\nto *\n}", "", "", ""},
		{"example.com", "transfer com {\nto *\n}", "", "", ""},
		{"example.com", "transfer example.org {\nto *\n}\nfile " + db + " example.com", "", "", ""},
		{"example.com example.org", "transfer example.org {\nto 192.0.2.1\n}", "example.com example.org", "", ""},
		{"example.com", "dnssec {\ncache_capacity 100\n}", "", "", "Corefile:6: dnssec has no key; nothing is signed. Add `key file FILE...` to it"},
		{"example.com", "dnssec {\nkey file " + key + "\n}", "", "", ""},
	} {
		zones := strings.ReplaceAll(c.zones, " ", ":0 ") + ":0"
		got := warningsOf(t, fmt.Sprintf("%s {\nbind 127.0.0.1\n%s\nkuadrant %s {\n%s\nmanifests %s\n}\n}", zones, c.server, c.args, c.block, t.TempDir()))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "warning "+c.want)) {
			t.Errorf("%+v: logged %q", c, got)
		}
	}
}

// TestMisgivingsOfTexts: no Corefile in the texts or the examples causes a warning.
func TestMisgivingsOfTexts(t *testing.T) {
	t.Setenv("KUBECONFIG", boottest.Unreachable(t))
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
			continue // it concerns another plugin
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
			warnings = slices.Concat(warnings, block.Outside(), block.Warnings)
		}
		if warnings = append(warnings, corefile.Warnings(cfg)...); len(warnings) > 0 {
			t.Errorf("%s: %q", name, warnings)
		}
	}
	if parsed < 15 {
		t.Errorf("found %d directives in %d Corefiles", parsed, len(corefiles))
	}
}
