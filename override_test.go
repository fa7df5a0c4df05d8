package kuadrant

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestOverride edits an override file while two clusters are answered from: its
// words go before all else, a version that cannot be understood changes nothing, and
// without the file nothing is overridden.
func TestOverride(t *testing.T) {
	dir := t.TempDir()
	const geo = "  loadBalancing: {weight: 1, geo: GEO-EU, defaultGeo: true}"
	for cluster, address := range map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"} {
		if err := os.Mkdir(filepath.Join(dir, cluster), 0o755); err != nil {
			t.Fatal(err)
		}
		objects := checkedGateway("g", "g.example.com", 80, geo, address) + "---\n" + checkedGateway("s", "s.example.com", 80, "", address, "192.0.2.9")
		objects = strings.ReplaceAll(objects, "  healthCheck:", "  unchecked:")
		writeFile(t, filepath.Join(dir, cluster, "all.yaml"), objects)
	}
	file := filepath.Join(dir, "override")
	log := listen(t)
	inst, addr := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %[1]s/a\nmanifests %[1]s/b\noverride %[2]s\n}\n}\n", dir, file))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	logged := func(level, line string) {
		t.Helper()
		waitFor(t, "log line "+line, func() bool { return log.has(level, line) })
	}
	// answers asks often enough to see every member that answers.
	answers := func(name string) string {
		seen := make(map[string]bool)
		for range 40 {
			seen[answersOf(t, addr, name+".example.com.")] = true
		}
		var all []string
		for _, s := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.9", "192.0.2.1 192.0.2.2", "192.0.2.1 192.0.2.2 192.0.2.9", "192.0.2.1 192.0.2.9", "192.0.2.2 192.0.2.9", "192.0.2.1 192.0.2.2 192.0.2.9"} {
			if seen[s] {
				all = append(all, s)
				delete(seen, s)
			}
		}
		return strings.Join(all, " | ")
	}
	const both, all = "192.0.2.1 | 192.0.2.2", "192.0.2.1 192.0.2.2 192.0.2.9"
	logged("warning", "Override file \""+file+"\" does not exist")
	waitFor(t, "both clusters", func() bool { return answers("g") == both && answers("s") == all })
	for _, step := range []struct{ text, steered, simple, line string }{
		{"cluster b down\n", "192.0.2.1", "192.0.2.1 192.0.2.9", "in force: cluster b down"},
		{"# over\n", both, all, "nothing is overridden"},
		{"gateway ns/g drain # both of them\n", both, all, "in force: gateway ns/g drain"},
		{"gateway b/ns/g drain\n", "192.0.2.1", all, "in force: gateway b/ns/g drain"},
		{"cluster a down\ngateway a/ns/s up\n", "192.0.2.2", all, "in force: cluster a down, gateway a/ns/s up"},
		{"target 192.0.2.1 down\ntarget 192.0.2.9 down\n", "192.0.2.2", "192.0.2.2", "in force: target 192.0.2.1 down, target 192.0.2.9 down"},
		{"cluster a down\ncluster b down\n", both, all, "in force: cluster a down, cluster b down"},
	} {
		writeFile(t, file, step.text)
		logged("info", step.line)
		waitFor(t, fmt.Sprintf("%q: %s and %s", step.text, step.steered, step.simple), func() bool {
			return answers("g") == step.steered && answers("s") == step.simple
		})
	}
	writeFile(t, file, "cluster b down\n")
	waitFor(t, "one cluster", func() bool { return answers("g") == "192.0.2.1" })
	writeFile(t, file, "cluster b off\n")
	logged("warning", "What was overridden before stays so: "+file+":1: \"off\": write up or down or drain")
	if got := answers("g"); got != "192.0.2.1" {
		t.Errorf("with a broken file: %s, want what the one before said", got)
	}
	writeFile(t, file, "cluster c down\ngateway ns/q up\ntarget 192.0.2.7 up\ntarget 192.0.2.2 down\ngateway ns/g up")
	waitFor(t, "new words", func() bool { return answers("s") == "192.0.2.1 192.0.2.9" })
	for _, line := range []string{`"cluster c down" in line 1`, `"gateway ns/q up" in line 2`, `"target 192.0.2.7 up" in line 3`} {
		logged("warning", "Override "+line+" concerns nothing that is known")
	}
	if log.has("warning", "in line 4") || log.has("warning", "in line 5") {
		t.Errorf("what concerns something is warned of: %q", log.all())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	logged("warning", "is gone: nothing is overridden any more")
	waitFor(t, "no words", func() bool { return answers("g") == both && answers("s") == all })
}

// TestOverrideAtStart: a file that is there counts from the first answer on.
func TestOverrideAtStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "override")
	writeFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1}, {value: 192.0.2.2"))
	corefile := fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\noverride %s\n}\n}\n", dir, file)
	writeFile(t, file, "target 192.0.2.1 down\n")
	inst, addr := boot(t, corefile)
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	waitFor(t, "first answer", func() bool { return allA(exchange(t, addr, "a.example.com.", dns.TypeA)) != "SERVFAIL" })
	if got := allA(exchange(t, addr, "a.example.com.", dns.TypeA)); got != "192.0.2.2" {
		t.Errorf("first answer %s", got)
	}
}

// TestOverrideWithoutAPIServer: the file works while the API server is away.
func TestOverrideWithoutAPIServer(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1}, {value: 192.0.2.2"))
	file := filepath.Join(t.TempDir(), "override")
	addr := bootKube(t, server.Kubeconfig, "example.com", "override "+file)
	await := func(want string) {
		t.Helper()
		waitFor(t, "answer "+want, func() bool { return allA(exchange(t, addr, "a.example.com.", dns.TypeA)) == want })
	}
	await("192.0.2.1 192.0.2.2")
	server.Kill()
	writeFile(t, file, "target 192.0.2.1 down\n")
	await("192.0.2.2")
	writeFile(t, file, "")
	await("192.0.2.1 192.0.2.2")
	server.Restart(t) // for the clean-up of its objects
}
