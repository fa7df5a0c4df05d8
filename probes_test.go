package kuadrant

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestUselessProbes: a probe that counts for nothing is named in the log with the
// reason, once, and one that counts is not.
func TestUselessProbes(t *testing.T) {
	dir := t.TempDir()
	probe := func(name, spec string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, name+".yaml"), fmt.Sprintf(
			"apiVersion: kuadrant.io/v1alpha1\nkind: DNSHealthCheckProbe\nmetadata: {namespace: ns, name: %s}\nspec: {%s}\n", name, spec))
	}
	writeFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	probe("good", "address: 192.0.2.1, port: 8080")
	probe("allowed", "address: 127.0.7.1, port: 8080")
	probe("typo", "address: 192.0.2.11, port: 8080")
	probe("port", "address: 192.0.2.1, port: 22")
	log := listen(t)
	inst, _ := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s c\nprobe-allow 127.0.7.0/24\n}\n}\n", dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	logged := func(line string) {
		t.Helper()
		waitFor(t, "log line "+line, func() bool { return log.has("warning", line) })
	}
	logged("DNSHealthCheckProbe ns/typo of cluster c: no name of its namespace publishes 192.0.2.11, and probe-allow does not cover it: it counts for nothing")
	logged("DNSHealthCheckProbe ns/port of cluster c: spec.port 22: Only ports 80, 443, 1024-49151 are allowed")
	probe("port", "address: 192.0.2.1, port: 1023")
	logged("DNSHealthCheckProbe ns/port of cluster c: spec.port 1023: Only ports")
	for _, name := range []string{"good", "allowed"} {
		if log.has("warning", "DNSHealthCheckProbe ns/"+name) {
			t.Errorf("%s is reported: %q", name, log.all())
		}
	}
}
