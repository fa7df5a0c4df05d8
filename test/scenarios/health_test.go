package scenarios

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestHeaders: a check sends the headers of the Secret that its policy names, also after the Secret
// has changed. Without them it is not started, and the log says why. No value is logged (rules 4.8
// and 4.10).
func TestHeaders(t *testing.T) {
	up := boottest.NewTargets(t, "127.0.6.1", "127.0.6.2")
	for _, target := range up {
		target.Key.Store("first-value")
	}
	dir := t.TempDir()
	manifest := boottest.CheckedGateway("a", "a.example.com", up[0].Port, "", "127.0.6.1", "127.0.6.2")
	manifest = strings.Replace(manifest, "path: /healthz", "path: /healthz, additionalHeadersRef: {name: probe-headers}", 1)
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), manifest)
	secret := func(label, key, value string) {
		t.Helper()
		boottest.WriteFile(t, filepath.Join(dir, "secret.yaml"), fmt.Sprintf(
			"apiVersion: v1\nkind: Secret\nmetadata: {namespace: ns, name: probe-headers, labels: {kuadrant.io/probe-headers: %q}}\nstringData: {%q: %s}\n", label, key, value))
	}
	log := boottest.Listen(t)
	addr := boottest.Serve(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.6.0/24\n}\n}\n", dir))
	await := func(want string) {
		t.Helper()
		boottest.WaitFor(t, "answer "+want, func() bool { return boottest.Answers(t, addr, "a.example.com.") == want })
	}
	logged := func(text string) {
		t.Helper()
		boottest.WaitFor(t, "log line with "+text, func() bool { return log.Has("warning", text) })
	}
	const both = "127.0.6.1 127.0.6.2"
	await(both)
	logged("headers of the health check are in Secret ns/probe-headers, which does not exist")
	secret("false", "X-Key", "first-value")
	await(both)
	if n := up[0].Asked.Load(); n > 0 {
		t.Errorf("the target was asked %d times without the headers", n)
	}
	secret("true", "X-Key", "first-value")
	boottest.WaitFor(t, "checks with the header", func() bool { return up[0].Asked.Load() > 1 && up[1].Asked.Load() > 1 })
	await(both)
	up[0].Key.Store("second-value")
	await("127.0.6.2")
	up[1].Key.Store("second-value")
	secret("true", "X-Key", "second-value")
	await(both)
	up[0].Off.Store(true)
	await("127.0.6.2")
	secret("true", "X Key", "third-value")
	logged("Secret ns/probe-headers: ")
	if got := boottest.Answers(t, addr, "a.example.com."); got != "127.0.6.2" {
		t.Errorf("what was known is forgotten with the headers: %s", got)
	}
	for _, line := range log.All() {
		if strings.Contains(line, "-value") {
			t.Errorf("a value is logged: %s", line)
		}
	}
}

// TestOverride edits an override file while two clusters are served. Its lines take precedence, an
// invalid version changes nothing, and without the file nothing is overridden.
func TestOverride(t *testing.T) {
	dir := t.TempDir()
	const geo = "  loadBalancing: {weight: 1, geo: GEO-EU, defaultGeo: true}"
	for cluster, address := range map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"} {
		if err := os.Mkdir(filepath.Join(dir, cluster), 0o755); err != nil {
			t.Fatal(err)
		}
		objects := boottest.CheckedGateway("g", "g.example.com", 80, geo, address) + "---\n" + boottest.CheckedGateway("s", "s.example.com", 80, "", address, "192.0.2.9")
		objects = strings.ReplaceAll(objects, "  healthCheck:", "  unchecked:")
		boottest.WriteFile(t, filepath.Join(dir, cluster, "all.yaml"), objects)
	}
	file := filepath.Join(dir, "override")
	log := boottest.Listen(t)
	addr := boottest.Serve(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %[1]s/a\nmanifests %[1]s/b\noverride %[2]s\n}\n}\n", dir, file))
	logged := func(level, line string) {
		t.Helper()
		boottest.WaitFor(t, "log line "+line, func() bool { return log.Has(level, line) })
	}
	// answers queries often enough to see every member that is served.
	answers := func(name string) string {
		seen := make(map[string]bool)
		for range 40 {
			seen[boottest.Answers(t, addr, name+".example.com.")] = true
		}
		return strings.Join(slices.Sorted(maps.Keys(seen)), " | ")
	}
	const both, all = "192.0.2.1 | 192.0.2.2", "192.0.2.1 192.0.2.2 192.0.2.9"
	logged("warning", "override file \""+file+"\" does not exist")
	boottest.WaitFor(t, "both clusters", func() bool { return answers("g") == both && answers("s") == all })
	for _, step := range []struct{ text, steered, simple, line string }{
		{"cluster b down\n", "192.0.2.1", "192.0.2.1 192.0.2.9", "active: cluster b down"},
		{"# over\n", both, all, "active: no overrides"},
		{"gateway ns/g drain # both of them\n", both, all, "active: gateway ns/g drain"},
		{"gateway b/ns/g drain\n", "192.0.2.1", all, "active: gateway b/ns/g drain"},
		{"cluster a down\ngateway a/ns/s up\n", "192.0.2.2", all, "active: cluster a down, gateway a/ns/s up"},
		{"target 192.0.2.1 down\ntarget 192.0.2.9 down\n", "192.0.2.2", "192.0.2.2", "active: target 192.0.2.1 down, target 192.0.2.9 down"},
		{"cluster a down\ncluster b down\n", both, all, "active: cluster a down, cluster b down"},
	} {
		boottest.WriteFile(t, file, step.text)
		logged("info", step.line)
		boottest.WaitFor(t, fmt.Sprintf("%q: %s and %s", step.text, step.steered, step.simple), func() bool {
			return answers("g") == step.steered && answers("s") == step.simple
		})
	}
	logged("warning", "host \"g.example.com\": all targets for all clients are down; they are answered all the same (fail: open)")
	boottest.WriteFile(t, file, "cluster b down\n")
	logged("info", "host \"g.example.com\": recovered: a target is up")
	boottest.WaitFor(t, "one cluster", func() bool { return answers("g") == "192.0.2.1" })
	boottest.WriteFile(t, file, "cluster b off\n")
	logged("warning", "override file: keeping the previous overrides: "+file+":1: \"off\": write up, down or drain")
	if got := answers("g"); got != "192.0.2.1" {
		t.Errorf("with a broken file: %s, want what the one before said", got)
	}
	boottest.WriteFile(t, file, "cluster c down\ngateway ns/q up\ntarget 192.0.2.7 up\ntarget 192.0.2.2 down\ngateway ns/g up")
	boottest.WaitFor(t, "new words", func() bool { return answers("s") == "192.0.2.1 192.0.2.9" })
	for _, line := range []string{`"cluster c down" in line 1`, `"gateway ns/q up" in line 2`, `"target 192.0.2.7 up" in line 3`} {
		logged("warning", "override "+line+" matches nothing")
	}
	if log.Has("warning", "in line 4") || log.Has("warning", "in line 5") {
		t.Errorf("what concerns something is warned of: %q", log.All())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	logged("warning", "is gone; no overrides are active")
	boottest.WaitFor(t, "no words", func() bool { return answers("g") == both && answers("s") == all })
}

// TestOverrideAtStart: an existing override file applies from the first answer.
func TestOverrideAtStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "override")
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1}, {value: 192.0.2.2"))
	corefile := fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\noverride %s\n}\n}\n", dir, file)
	boottest.WriteFile(t, file, "target 192.0.2.1 down\n")
	addr := boottest.Serve(t, corefile)
	boottest.WaitFor(t, "first answer", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) != "SERVFAIL"
	})
	if got := boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)); got != "192.0.2.2" {
		t.Errorf("first answer %s", got)
	}
}

// TestOverrideLeavesTheMetric: an override of a target changes the answers, but not the metric of
// check results, which alerts use.
func TestOverrideLeavesTheMetric(t *testing.T) {
	targets := boottest.NewTargets(t, "127.0.4.1", "127.0.4.2")
	targets[1].Off.Store(true)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "override")
	boottest.WriteFile(t, filepath.Join(dir, "gateway.yaml"), boottest.CheckedGateway("g", "g.example.com", targets[0].Port, "", "127.0.4.1", "127.0.4.2"))
	boottest.WriteFile(t, file, "\n")
	log := boottest.Listen(t)
	addr := boottest.Serve(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.4.0/24\noverride %s\n}\n}\n", dir, file))
	series := func(address string) string {
		return fmt.Sprintf("target_health{g.example.com,http://%s:%d/healthz}", address, targets[0].Port)
	}
	await := func(when, want string) {
		t.Helper()
		boottest.WaitFor(t, when+": "+want, func() bool { return boottest.Answers(t, addr, "g.example.com.") == want })
		now := boottest.Metrics(t)
		for address, want := range map[string]float64{"127.0.4.1": 1, "127.0.4.2": 0} {
			if got, ok := now[series(address)]; !ok || got != want {
				t.Errorf("%s: %s is %v (there: %v), want %v", when, series(address), got, ok, want)
			}
		}
	}
	boottest.WaitFor(t, "one up, one down", func() bool {
		now := boottest.Metrics(t)
		down, known := now[series("127.0.4.2")]
		return now[series("127.0.4.1")] == 1 && known && down == 0
	})
	if line := fmt.Sprintf("target http://127.0.4.2:%d/healthz host=g.example.com is down: unexpected status code 503", targets[0].Port); !log.Has("warning", line) {
		t.Errorf("logged %q, want %s", log.All(), line)
	}
	await("nothing is said", "127.0.4.1")
	boottest.WriteFile(t, file, "target 127.0.4.1 down\ntarget 127.0.4.2 up\n")
	await("of both the contrary", "127.0.4.2")
	boottest.WriteFile(t, file, "gateway ns/g up\n")
	await("all are up", "127.0.4.1 127.0.4.2")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await("the file is gone", "127.0.4.1")
}
