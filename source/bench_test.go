package source

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// cpuTime is the CPU time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkKubernetesLoad measures one first list of 5,000 Gateways and 5,000
// policies from a real API server, up to the publish: CPU time of this process,
// and what stays on the heap for each object. KUADRANT_BENCH_OBJECTS changes
// the number of each.
func BenchmarkKubernetesLoad(b *testing.B) {
	n := 5000
	if text := os.Getenv("KUADRANT_BENCH_OBJECTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s := kubetest.Start(b)
	s.InstallCRDs(b, kubetest.GatewayAPI)
	installPolicies(b, s, "v1", "v1alpha2")
	fill(b, s, "default", n, n)
	for _, mode := range modes {
		b.Run(fmt.Sprintf("%s/objects=%d", mode.name, 2*n), func(b *testing.B) {
			var cpu time.Duration
			var heap int64
			for b.Loop() {
				c, h := load(b, s.Config, n, mode.chunked)
				cpu, heap = cpu+c, heap+h
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(heap)/float64(2*n*b.N), "heap-B/object")
		})
	}
}

// load runs a source until its first publish, which holds n objects of each
// kind.
func load(b *testing.B, config *rest.Config, n int, chunked bool) (cpu time.Duration, heap int64) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	src := Kubernetes(KubernetesOptions{Cluster: "c", Config: config, Logf: b.Logf}).(*kubernetes)
	src.chunked = chunked
	first, done := make(chan *api.Cluster, 1), make(chan error, 1)
	before, start := heapInUse(), cpuTime(b)
	go func() {
		done <- src.Run(ctx, func(c *api.Cluster) {
			select {
			case first <- c:
			default:
			}
		})
	}()
	c := <-first
	cpu = cpuTime(b) - start
	if c.Gateways.Len() != n || c.Policies.Len() != n {
		b.Fatalf("%d gateways, %d policies", c.Gateways.Len(), c.Policies.Len())
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	heap = heapInUse() - before
	runtime.KeepAlive(c)
	runtime.KeepAlive(src)
	return cpu, heap
}

// heapInUse is what lives on the heap.
func heapInUse() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
