package kuadrant

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClassicBuild builds CoreDNS the classic way: from its own source in the
// module cache, with one line more in plugin.cfg.
func TestClassicBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a whole CoreDNS: not with -short")
	}
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
	config := filepath.Join(dir, "plugin.cfg")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	line := "transfer:transfer\n"
	if !strings.Contains(string(text), line) {
		t.Fatalf("plugin.cfg has no line %q", line)
	}
	writeFile(t, config, strings.Replace(string(text), line, line+"kuadrant:github.com/coredns-kuadrant/kuadrant\n", 1))
	// Until a release is published the module is this checkout.
	run(t, dir, "go", "mod", "edit", "-require=github.com/coredns-kuadrant/kuadrant@v0.0.0", "-replace=github.com/coredns-kuadrant/kuadrant="+root)
	run(t, dir, "go", "generate", "coredns.go")
	appendFile(t, filepath.Join(dir, "go.sum"), filepath.Join(root, "go.sum"))
	// Everything that both modules need is in the cache: ask nobody.
	t.Setenv("GOPROXY", "off")
	run(t, dir, "go", "build", "-mod=mod", "-o", "coredns", ".")
	out := run(t, dir, "./coredns", "-plugins")
	if !slices.Contains(strings.Fields(out), "kuadrant") {
		t.Fatalf("the plugin is not in it:\n%s", out)
	}
	order := run(t, dir, "grep", "-A1", `"transfer",`, "core/dnsserver/zdirectives.go")
	if !strings.Contains(order, `"kuadrant",`) {
		t.Errorf("kuadrant does not follow transfer:\n%s", order)
	}
}

// run runs a command in dir and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
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
