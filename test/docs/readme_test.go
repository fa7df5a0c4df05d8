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

// TestReadmeCorefiles boots every Corefile in the README, in docs/transfer.md and in
// docs/clusters.md.
func TestReadmeCorefiles(t *testing.T) {
	transfers, err := os.ReadFile("docs/transfer.md")
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := os.ReadFile("docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)~~~ corefile\n(.*?)~~~").FindAllStringSubmatch(boottest.ReadFile(t, "README.md")+string(transfers)+string(clusters), -1)
	if len(blocks) < 7 {
		t.Fatalf("found %d Corefiles", len(blocks))
	}
	binary := boottest.CoreDNS(t)
	config := boottest.Unreachable(t)
	for i, b := range blocks {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			file, keys := filepath.Join(t.TempDir(), "Corefile"), t.TempDir()
			boottest.WriteFile(t, file, regexp.MustCompile(`key file \S*/K(\S+)\+013\+\d+`).ReplaceAllStringFunc(b[1], func(line string) string {
				zone := line[strings.Index(line, "/K")+2 : strings.Index(line, "+013")]
				_, base := boottest.NewKey(t, keys, zone, 257)
				return "key file " + base
			}))
			boottest.ReplaceKubeconfigs(t, file, config)
			boottest.RunCoreDNS(t, binary, file, "KUBECONFIG="+config)
		})
	}
}

// TestReadmeDig runs the README's dig commands and compares their output. It needs dig.
func TestReadmeDig(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	port := startExample(t, "8082") // nobody listens there
	var commands []doctest.Shown
	for _, block := range doctest.Console.FindAllStringSubmatch(boottest.ReadFile(t, "README.md"), -1) {
		commands = append(commands, doctest.ShownIn(block[1])...)
	}
	if len(commands) < 4 {
		t.Fatalf("found %d commands", len(commands))
	}
	kdns := peertest.Kdns(t, ".")
	for _, c := range commands {
		if got, err := c.Run(port, "bin/kdns", kdns); err != nil || got != c.Want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.Line, err, got, c.Want)
		}
	}
}

// startExample starts Corefile.example, with its targets on another port, and returns the server's
// port.
func startExample(t *testing.T, targets string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	checked, err := filepath.Glob(filepath.Join(dir, "examples", "*", "checked.yaml"))
	if err != nil || len(checked) == 0 {
		t.Fatalf("no objects with checks: %v", err)
	}
	for _, file := range checked {
		boottest.ReplaceIn(t, file, file, "port: "+examplePort, "port: "+targets)
	}
	port := fmt.Sprint(peertest.FreePort(t))
	corefile := filepath.Join(dir, "Corefile")
	boottest.ReplaceIn(t, "Corefile.example", corefile, ":1053", ":"+port, " examples/", " "+dir+"/examples/", ":8090", fmt.Sprint(":", peertest.FreePort(t)))
	boottest.RunCoreDNS(t, boottest.CoreDNS(t), corefile)
	addr := "127.0.0.1:" + port
	for name, address := range map[string]string{"status.k.example.com.": "192.0.2.10", "wiki.apps.zone.example.org.": "192.0.2.60"} {
		boottest.WaitFor(t, name, func() bool { return boottest.FirstA(boottest.Exchange(t, addr, name, 1)) == address })
	}
	return port
}
