package main

import (
	"bytes"
	"strings"
	"testing"
)

// called runs the program under another name.
func called(t *testing.T, name string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{name}, args...), strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// TestPlugin: as a kubectl plugin, the program uses that name in its help, leaves completion scripts to kubectl and
// completes its own command lines.
func TestPlugin(t *testing.T) {
	inRoot(t)
	const plugin = "/usr/bin/kubectl-kdns"
	const completes = "/usr/bin/kubectl_complete-kdns"
	if got := called(t, plugin, "completion", "bash"); strings.Contains(got.out, "__start_kubectl kubectl\n") {
		t.Error(got.out)
	}
	for _, c := range []struct {
		program, args string
		code          int
		want          string
	}{
		{plugin, "completion bash", 0, "__start_kubectl-kdns kubectl-kdns\n"},
		{plugin, "completion bash --help", 0, "source <(kubectl-kdns completion bash)"},
		{plugin, "list --help", 0, "  kubectl kdns list [command]"},
		{plugin, "--version", 0, "kubectl kdns version"},
		{plugin, "nix", 2, `!kubectl kdns: unknown command "nix" for "kubectl kdns"`},
		{plugin, "list", 2, "!kubectl kdns: name what to list: zones, names, targets or conflicts; see kubectl kdns list --help\n"},
		{completes, "list ta", 0, "targets\tList the targets of health checks, the worst first\n:4\n"},
	} {
		called(t, c.program, strings.Fields(c.args)...).expect(t, c.args, c.code, c.want)
	}
}

// TestCompleteValues: known values are offered, and files only for path flags.
func TestCompleteValues(t *testing.T) {
	const noFiles, files, types = ":4", ":0", "A AAAA CNAME TXT NS SOA MX SRV CAA HTTPS "
	for _, c := range []struct {
		args string // the last word is completed; _ is an empty one
		want string // offered values, and the directive
	}{
		{"list zones -o _", "table json yaml " + noFiles},
		{"list zones --output _", "table json yaml " + noFiles},
		{"explain a --type _", types + noFiles},
		{"compare a --types _", types + noFiles},
		{"list names --state _", "failing impaired contended unserved " + noFiles},
		{"list targets --state _", "up unknown down pending " + noFiles},
		{"list names --in _", noFiles},
		{"explain _", noFiles},
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
		got := kdns(t, "", append([]string{"__completeNoDesc"}, words...)...)
		if said := strings.Join(strings.Fields(got.out), " "); got.code != 0 || said != c.want {
			t.Errorf("%s: code %d: %q, want %q", c.args, got.code, said, c.want)
		}
	}
}
