package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestClassicBuild builds CoreDNS the classic way: from its own source in the module cache, with
// the commands in the README.
func TestClassicBuild(t *testing.T) {
	peertest.NeedBuilds(t)
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := strings.TrimSpace(run(t, root, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/coredns/coredns"))
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "chmod", "-R", "u+w", ".")
	all := regexp.MustCompile("(?s)~~~ sh\n(.*?)~~~").FindAllStringSubmatch(boottest.ReadFile(t, "README.md"), -1)
	at := slices.IndexFunc(all, func(block []string) bool { return strings.Contains(block[1], "go generate") })
	if at < 0 {
		t.Fatal("the README has no commands to build with")
	}
	// CoreDNS names older versions of some modules than this checkout: their requirements must be
	// in the cache too.
	run(t, dir, "go", "list", "-m", "all")
	// `go get` would fetch the last release, if there is one. The test uses this checkout instead,
	// with its requirements, which are in the cache.
	run(t, dir, "go", "mod", "edit", "-replace=github.com/coredns-kuadrant/kuadrant="+root)
	appendFile(t, filepath.Join(dir, "go.sum"), filepath.Join(root, "go.sum"))
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-trimpath") // as in the Makefile: reuses the build cache
	t.Setenv("CGO_ENABLED", "0")
	for line := range strings.Lines(all[at][1]) {
		run(t, dir, "bash", "-c", line)
	}
	out := run(t, dir, "./coredns", "-plugins")
	if !slices.Contains(strings.Fields(out), "kuadrant") {
		t.Fatalf("the plugin is not in it:\n%s", out)
	}
	order := run(t, dir, "grep", "-A1", `"transfer",`, "core/dnsserver/zdirectives.go")
	if !strings.Contains(order, `"kuadrant",`) {
		t.Errorf("kuadrant does not follow transfer:\n%s", order)
	}
}

// run runs a command in dir and returns its standard output; go reports downloads on standard
// error.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	var told strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, &told
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, told.String())
	}
	return string(out)
}

// appendFile appends the content of from to the file to.
func appendFile(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(to, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
}
