package kuadrant

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// TestHealth switches real targets off and on, and asks for what they serve: dead
// addresses leave the answers, a dead member is replaced by another, and where
// all are dead all are answered.
func TestHealth(t *testing.T) {
	up := newTargets(t, "127.0.4.1", "127.0.4.2", "127.0.4.3")
	dir, port := t.TempDir(), up[0].Port
	writeFile(t, filepath.Join(dir, "simple.yaml"), checkedGateway("simple", "simple.example.com", port, "", "127.0.4.1", "127.0.4.2"))
	const geo = "  loadBalancing: {weight: %d, geo: %s, defaultGeo: %v}"
	writeFile(t, filepath.Join(dir, "eu.yaml"), checkedGateway("eu", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-EU", true), "127.0.4.1"))
	writeFile(t, filepath.Join(dir, "na.yaml"), checkedGateway("na", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-NA", false), "127.0.4.3"))
	log := listen(t)
	inst, addr := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.4.0/24\n}\n}\n", dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	await := func(name, want string) {
		t.Helper()
		waitFor(t, name+" at "+want, func() bool { return answersOf(t, addr, name+".example.com.") == want })
	}
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")
	engine := answering.Load().engine
	waitFor(t, "first round of checks", engine.Prober().Settled)

	up[0].Off.Store(true)
	await("simple", "127.0.4.2")
	await("geo", "127.0.4.3")
	if serial := exchange(t, addr, "example.com.", dns.TypeSOA); len(serial.Answer) != 1 {
		t.Error("no SOA")
	}
	up[0].Off.Store(false)
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")

	for _, target := range up {
		target.Off.Store(true)
	}
	waitFor(t, "all down", func() bool {
		for _, checked := range engine.Snapshot().Checks().All() {
			if checked.Cell.Load().Failures() < 2 {
				return false
			}
		}
		return true
	})
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")
	if !log.has("warning", "target http://127.0.4.3:"+fmt.Sprint(port)+"/healthz host=geo.example.com is down: unexpected status code 503") {
		t.Errorf("the log does not tell of the target that is down: %q", log.all())
	}

	for _, host := range []string{"simple", "geo"} {
		line := "Host " + host + ".example.com has no target that is up for all clients: answers hold those that are down (fail-open)"
		waitFor(t, "log line about "+host, func() bool { return log.has("warning", line) })
	}

	// The operator's word goes first.
	manifest := strings.Replace(checkedGateway("eu", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-EU", true), "127.0.4.1"),
		"name: eu}\nspec:\n  gatewayClassName", "name: eu, annotations: {kuadrant.io/health-override: down}}\nspec:\n  gatewayClassName", 1)
	writeFile(t, filepath.Join(dir, "eu.yaml"), manifest)
	await("geo", "127.0.4.3")
	up[2].Off.Store(false)
	waitFor(t, "log line about the end", func() bool { return log.has("info", "Host geo.example.com fails open no longer") })
}

// TestHealthSurvivesReload: what is known of targets stays through a reload, and
// the new engine checks them.
func TestHealthSurvivesReload(t *testing.T) {
	up := newTargets(t, "127.0.5.1", "127.0.5.2")
	r := startReloaded(t, "", "probe-allow 127.0.5.0/24", checkedGateway("a", "a.example.com", up[0].Port, "", "127.0.5.1", "127.0.5.2"))
	up[0].Off.Store(true)
	r.await("127.0.5.2")
	for ttl := range 3 {
		var err error
		if r.inst, err = r.inst.Restart(r.corefile(ttl)); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if got := answersOf(t, r.addr, "a.example.com."); got != "127.0.5.2" {
				t.Fatalf("%s right after the reload", got)
			}
		}
	}
	up[0].Off.Store(false)
	r.await("127.0.5.1 127.0.5.2")
}
