package kuadrant

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeaders: a check sends the headers of the Secret that its policy names, also
// after the Secret has changed; without them it is not started, and the log says
// why. No value is logged (rules 4.8 and 4.10, cases G8 and G9).
func TestHeaders(t *testing.T) {
	up := newTargets(t, "127.0.6.1", "127.0.6.2")
	for _, target := range up {
		target.Key.Store("first-value")
	}
	dir := t.TempDir()
	manifest := checkedGateway("a", "a.example.com", up[0].Port, "", "127.0.6.1", "127.0.6.2")
	manifest = strings.Replace(manifest, "path: /healthz", "path: /healthz, additionalHeadersRef: {name: probe-headers}", 1)
	writeFile(t, filepath.Join(dir, "a.yaml"), manifest)
	secret := func(label, key, value string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "secret.yaml"), fmt.Sprintf(
			"apiVersion: v1\nkind: Secret\nmetadata: {namespace: ns, name: probe-headers, labels: {kuadrant.io/probe-headers: %q}}\nstringData: {%q: %s}\n", label, key, value))
	}
	log := listen(t)
	inst, addr := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.6.0/24\n}\n}\n", dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	await := func(want string) {
		t.Helper()
		waitFor(t, "answer "+want, func() bool { return answersOf(t, addr, "a.example.com.") == want })
	}
	logged := func(text string) {
		t.Helper()
		waitFor(t, "log line with "+text, func() bool { return log.has("warning", text) })
	}
	const both = "127.0.6.1 127.0.6.2"
	await(both)
	logged("Secret ns/probe-headers, which the health check takes headers from, is not there")
	secret("false", "X-Key", "first-value")
	await(both)
	if n := up[0].Asked.Load(); n > 0 {
		t.Errorf("the target was asked %d times without the headers", n)
	}
	secret("true", "X-Key", "first-value")
	waitFor(t, "checks with the header", func() bool { return up[0].Asked.Load() > 1 && up[1].Asked.Load() > 1 })
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
	if got := answersOf(t, addr, "a.example.com."); got != "127.0.6.2" {
		t.Errorf("what was known is forgotten with the headers: %s", got)
	}
	for _, line := range log.all() {
		if strings.Contains(line, "-value") {
			t.Errorf("a value is logged: %s", line)
		}
	}
}
