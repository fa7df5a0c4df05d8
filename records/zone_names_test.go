package records

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestServedZonesInMessagesAreFew: what lies outside all zones is told which these are; where they are many that is no list of all,
// and not one for each endpoint (rule 8.4; a condition's message has 32,768 characters at the most in Kubernetes).
func TestServedZonesInMessagesAreFew(t *testing.T) {
	opt := &Options{}
	for i := range 2000 {
		opt.Zones = append(opt.Zones, ZoneOptions{Origin: fmt.Sprintf("zone-%d.example.", i), TTL: 60, LoadBalancedTTL: 300})
	}
	w := newWorld("c")
	w.record("a/r", "elsewhere.org.", "A", "192.0.2.1", 1)
	var all []api.Endpoint
	for i := range 1000 {
		all = append(all, apiEndpoint(fmt.Sprintf("x%d.elsewhere.org", i), "A", "192.0.2.1"))
	}
	w.endpoints("a/e", 1, all...)
	in := w.objects()
	Compile(nil, newWorld("c").objects(), opt, testTime)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	s := Compile(nil, in, opt, testTime)
	took := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("one DNSEndpoint took %v", took)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("a snapshot of two objects and %d zones has %d MB", len(opt.Zones), grown>>20)
	}
	for kind, name := range map[api.Kind]string{api.KindRecord: "a/r", api.KindDNSEndpoint: "a/e"} {
		if n := len(verdictText(s, kind, name)); n > 4096 {
			t.Errorf("%s: its verdict has %d octets", kind, n)
		}
	}
	runtime.KeepAlive(s)
}
