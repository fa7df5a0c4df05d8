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

// BenchmarkKubernetesRecords measures the first list of a Zone and 100,000 Records from a real API
// server, up to the publish: CPU time of this process. KUADRANT_BENCH_RECORDS sets the number of
// Records.
func BenchmarkKubernetesRecords(b *testing.B) {
	n := 100_000
	if text := os.Getenv("KUADRANT_BENCH_RECORDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s := kubetest.Start(b)
	s.InstallCRDs(b, kubetest.GatewayAPI, kubetest.Kuadrant)
	create(b, s, func(yield func(string) bool) {
		if !yield("{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {namespace: default, name: zone}, spec: {domainName: " +
			"example.org., delegations: [{records: [{pattern: '*'}]}]}}") {
			return
		}
		for i := range n {
			if !yield(fmt.Sprintf("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: default, name: r%06d}, spec: "+
				"{domainName: h%06d, zoneRef: {name: zone}, type: A, rdata: 10.1.%d.%d}}", i, i, i>>8&255, i&255)) {
				return
			}
		}
	})
	var cpu time.Duration
	var heap int64
	for b.Loop() {
		c, h := load(b, s.Config, false, func(c *api.Cluster) {
			if c.Records.Len() != n {
				b.Fatalf("%d Records", c.Records.Len())
			}
		})
		cpu, heap = cpu+c, heap+h
	}
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(heap)/float64(n*b.N), "heap-B/object")
}

// load runs a source until its first publish, and passes that to check.
func load(b *testing.B, config *rest.Config, chunked bool, check func(*api.Cluster)) (cpu time.Duration, heap int64) {
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
	check(c)
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	heap = heapInUse() - before
	runtime.KeepAlive(c)
	runtime.KeepAlive(src)
	return cpu, heap
}

// heapInUse returns the size of the live heap, in bytes.
func heapInUse() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
