package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

func zonesDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("docs/zones.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestZonesDoc starts the first Corefile of docs/zones.md with all its objects, and runs its
// commands.
func TestZonesDoc(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	text := zonesDoc(t)
	dir := t.TempDir()
	var objects []string
	for _, b := range doctest.YAML.FindAllStringSubmatch(text, -1) {
		objects = append(objects, b[1])
	}
	if len(objects) < 2 {
		t.Fatalf("found %d blocks of objects", len(objects))
	}
	if err := os.Mkdir(filepath.Join(dir, "zones"), 0o755); err != nil {
		t.Fatal(err)
	}
	boottest.WriteFile(t, filepath.Join(dir, "zones", "all.yaml"), strings.Join(objects, "---\n"))
	first := doctest.Corefiles.FindStringSubmatch(text)
	if first == nil {
		t.Fatal("no Corefile")
	}
	port, corefile := fmt.Sprint(peertest.FreePort(t)), filepath.Join(dir, "Corefile")
	boottest.WriteFile(t, corefile, strings.NewReplacer(":1053", ":"+port, "manifests zones", "manifests "+filepath.Join(dir, "zones")).Replace(first[1]))
	boottest.RunCoreDNS(t, boottest.CoreDNS(t), corefile)
	boottest.WaitFor(t, "snapshot", func() bool {
		return boottest.FirstA(boottest.Exchange(t, "127.0.0.1:"+port, "www.example.org.", 1)) == "192.0.2.1"
	})
	commands := 0
	for _, b := range doctest.Console.FindAllStringSubmatch(text, -1) {
		for _, c := range doctest.ShownIn(b[1]) {
			commands++
			if got, err := c.Run(port); err != nil || got != c.Want {
				t.Errorf("%s: %v\n%s\nwant\n%s", c.Line, err, got, c.Want)
			}
		}
	}
	if commands < 6 {
		t.Errorf("found %d commands", commands)
	}
}

// TestZonesDocCorefiles boots all other Corefiles of docs/zones.md.
func TestZonesDocCorefiles(t *testing.T) {
	blocks := doctest.Corefiles.FindAllStringSubmatch(zonesDoc(t), -1)
	if len(blocks) < 2 {
		t.Fatalf("found %d Corefiles", len(blocks))
	}
	binary, config := boottest.CoreDNS(t), boottest.Unreachable(t)
	for _, b := range blocks[1:] {
		file := filepath.Join(t.TempDir(), "Corefile")
		boottest.WriteFile(t, file, b[1])
		boottest.RunCoreDNS(t, binary, file, "KUBECONFIG="+config)
	}
}

// TestZonesDocReasons: docs/zones.md lists all existing reasons that concern zones, and no others.
func TestZonesDocReasons(t *testing.T) {
	zones, all := map[string]bool{"ServedInPart": true}, make(map[string]bool)
	files, err := filepath.Glob("records/*.go")
	rooms, roomsErr := filepath.Glob("records/*/*.go")
	if err != nil || roomsErr != nil {
		t.Fatal(err, roomsErr)
	}
	for _, file := range append(files, rooms...) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile(`(?s)\n(// [^\n]*\n)?const \(.*?\n\)`).FindAllString(string(source), -1) {
			for _, m := range regexp.MustCompile(`(?m)^\t[rR]eason\w+ += "(\w+)"`).FindAllStringSubmatch(block, -1) {
				all[m[1]] = true
				if strings.Contains(block, "// The reasons that concern Zones") {
					zones[m[1]] = true
				}
			}
		}
	}
	if len(zones) < 15 || len(all) < 40 {
		t.Fatalf("found %d reasons of %d", len(zones), len(all))
	}
	documented := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|").FindAllStringSubmatch(zonesDoc(t), -1) {
		documented[m[1]] = true
		if !zones[m[1]] && !all[m[1]] {
			t.Errorf("docs/zones.md has the reason %s, which does not exist", m[1])
		}
	}
	for reason := range zones {
		if !documented[reason] {
			t.Errorf("docs/zones.md lacks the reason %s", reason)
		}
	}
}
