package kuadrant

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestOverrideLeavesTheMetric: what the operator says of a target changes the answers, and not the metric of what checks find: alerts
// go by that.
func TestOverrideLeavesTheMetric(t *testing.T) {
	targets := newTargets(t, "127.0.4.1", "127.0.4.2")
	targets[1].Off.Store(true)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "override")
	writeFile(t, filepath.Join(dir, "gateway.yaml"), checkedGateway("g", "g.example.com", targets[0].Port, "", "127.0.4.1", "127.0.4.2"))
	writeFile(t, file, "\n")
	inst, addr := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.4.0/24\noverride %s\n}\n}\n", dir, file))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	series := func(address string) string {
		return fmt.Sprintf("target_health{g.example.com,http://%s:%d/healthz}", address, targets[0].Port)
	}
	await := func(when, want string) {
		t.Helper()
		waitFor(t, when+": "+want, func() bool { return answersOf(t, addr, "g.example.com.") == want })
		now := scraped(t, answering.Load().engine)
		for address, want := range map[string]float64{"127.0.4.1": 1, "127.0.4.2": 0} {
			if got, ok := now[series(address)]; !ok || got != want {
				t.Errorf("%s: %s is %v (there: %v), want %v", when, series(address), got, ok, want)
			}
		}
	}
	waitFor(t, "one up, one down", func() bool {
		now := scraped(t, answering.Load().engine)
		down, known := now[series("127.0.4.2")]
		return now[series("127.0.4.1")] == 1 && known && down == 0
	})
	await("nothing is said", "127.0.4.1")
	writeFile(t, file, "target 127.0.4.1 down\ntarget 127.0.4.2 up\n")
	await("of both the contrary", "127.0.4.2")
	writeFile(t, file, "gateway ns/g up\n")
	await("all are up", "127.0.4.1 127.0.4.2")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await("the file is gone", "127.0.4.1")
}
