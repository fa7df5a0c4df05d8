package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// called runs the program by another name.
func called(t *testing.T, name string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{name}, args...), strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// TestPlugin: as a plugin of kubectl it says so, leaves kubectl's own completion alone, and completes its command lines for it.
func TestPlugin(t *testing.T) {
	inRoot(t)
	const plugin = "/usr/bin/kubectl-kuadrant"
	const completes = "/usr/bin/kubectl_complete-kuadrant"
	if got := called(t, plugin, "completion", "bash"); strings.Contains(got.out, "__start_kubectl kubectl\n") {
		t.Error(got.out)
	}
	for _, c := range []struct {
		program, args string
		code          int
		want          string
	}{
		{plugin, "completion bash", 0, "__start_kubectl-kuadrant kubectl-kuadrant\n"},
		{plugin, "completion bash --help", 0, "source <(kubectl-kuadrant completion bash)"},
		{plugin, "list --help", 0, "  kubectl kuadrant list [command]"},
		{plugin, "--version", 0, "kubectl kuadrant version"},
		{plugin, "nix", 2, `!kubectl kuadrant: unknown command "nix" for "kubectl kuadrant"`},
		{plugin, "list", 2, "!kubectl kuadrant: say what to list: see kubectl kuadrant list --help\n"},
		{completes, "list ta", 0, "targets\tList what is checked, the worst first\n:4\n"},
		{completes, "explain " + example + " stat", 0, "status.k.example.com\n:4\n"},
	} {
		called(t, c.program, strings.Fields(c.args)...).expect(t, c.args, c.code, c.want)
	}
}

// TestCompleteValues: values that are known are offered, and no files but where a file is meant.
func TestCompleteValues(t *testing.T) {
	inRoot(t)
	w := exampleWorld(t)
	server := httptest.NewServer(console.New(console.Options{Source: &shown{t: t, view: inspect.View{Snapshot: w.snap, Locator: w.db}}}))
	defer server.Close()
	dir := t.TempDir()
	large, err := os.ReadFile("examples/eu/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/a.yaml", string(large)+strings.Repeat("#", completionSize))
	const noFiles, files, types = ":4", ":0", "A AAAA CNAME TXT NS SOA MX SRV CAA HTTPS "
	at := "--server=" + server.URL
	for _, c := range []struct {
		args string // the last word is completed; _ is an empty one
		want string // what is offered, and the directive
	}{
		{"list zones -o _", "table json yaml " + noFiles},
		{"list zones --output _", "table json yaml " + noFiles},
		{"explain a --type _", types + noFiles},
		{"compare a --types _", types + noFiles},
		{"list names --state _", "failing impaired contended " + noFiles},
		{"list targets --state _", "up unknown down pending " + noFiles},
		{"list names " + example + " --in k", "k.example.com " + noFiles},
		{"check " + example + " --live _", "dev.zone.example.org k.example.com zone.example.org " + noFiles},
		{"check " + at + " --live z", "zone.example.org " + noFiles},
		{"list names --in _", noFiles},
		{"explain " + example + " shop.k", "shop.k.example.com " + noFiles},
		{"explain " + example + " shop.k.example.com s", noFiles},
		{"explain " + at + " shop.k", "shop.k.example.com " + noFiles},
		{"explain --server=http://127.0.0.1:1 shop", noFiles},
		{"explain --filename=nowhere --zone=k.example.com shop", noFiles},
		{"explain --filename=- --zone=k.example.com shop", noFiles},
		{"explain --filename=" + dir + " --zone=k.example.com _", noFiles},
		{"compare " + example + " sh", noFiles},
		{"compare " + example + " 192.0.2.1 shop.k.example.com sta", "status.k.example.com " + noFiles},
		{"list names " + example + " sh", noFiles},
		{"list zones _", noFiles},
		{"explain --from _", noFiles},
		{"preview -f _", files},
		{"preview --against _", files},
		{"list zones --corefile _", files},
		{"compare 192.0.2.1 --names _", files},
		{"help comp", "compare completion " + noFiles},
	} {
		words := strings.Fields(strings.TrimSuffix(c.args, "_"))
		if strings.HasSuffix(c.args, "_") {
			words = append(words, "")
		}
		got := kuadrantctl(t, "", append([]string{"__completeNoDesc"}, words...)...)
		if said := strings.Join(strings.Fields(got.out), " "); got.code != 0 || said != c.want {
			t.Errorf("%s: code %d: %q, want %q", c.args, got.code, said, c.want)
		}
	}
}
