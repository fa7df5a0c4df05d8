//go:build linux

package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// restTime is how long the writer is watched once it rests.
const restTime = time.Minute

// BenchmarkWriting measures how the elected writer brings 10,000 policies to rest, whose
// status and DNSRecords do not stand yet. Like BenchmarkKubernetes, it is to be run once:
//
//	rest-s       seconds from the start of the process until nothing is left to be written
//	writes       requests that changed something until then, those for the Lease apart
//	cpu-s        CPU seconds of the process until then
//	writes-after requests that changed something in the minute after that
//	reads-after  lists and gets of what is watched in that minute
//	reads-beyond those of them beyond one for each watch of that kind which ended then
//	rss-MiB      memory of the process at the end
func BenchmarkWriting(b *testing.B) {
	binary := os.Getenv("KUADRANT_COREDNS")
	if binary == "" {
		b.Skip("KUADRANT_COREDNS does not name a server to measure")
	}
	server := kubetest.Start(b)
	server.InstallCRDs(b)
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		b.Fatal(err)
	}
	w := &writer{client: client}
	w.write(b, 0, count)
	counters := &requests{b: b, config: server.Config}
	before := counters.read()
	metrics := freeAddress(b)
	began := time.Now()
	s := w.start(b, binary, fmt.Sprintf("prometheus %s\n    kuadrant {\n        kubeconfig %s\n        write-rate 150 300\n    }", metrics, server.Kubeconfig))
	s.await(b, count)
	// At rest is where the writer has nothing to do, and has changed nothing, for five looks.
	var last answered
	for rests, tick := 0, time.NewTicker(time.Second); rests < 5; rests++ {
		<-tick.C
		now := counters.read()
		if gauge(metrics, "coredns_kuadrant_leader") != 1 || gauge(metrics, "coredns_kuadrant_write_backlog") != 0 || now.writes != last.writes {
			rests = -1
		}
		if last = now; time.Since(began) > 30*time.Minute {
			b.Fatal("the writer does not come to rest")
		}
	}
	b.ReportMetric(time.Since(began).Seconds(), "rest-s")
	b.ReportMetric(s.cpu(b), "cpu-s")
	after := counters.read()
	b.ReportMetric(after.writes-before.writes, "writes")
	time.Sleep(restTime)
	end := counters.read()
	b.ReportMetric(end.writes-after.writes, "writes-after")
	reads, beyond := end.readsSince(after)
	b.ReportMetric(reads, "reads-after")
	b.ReportMetric(beyond, "reads-beyond")
	now, _, err := s.Memory()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(now>>20), "rss-MiB")
	b.ReportMetric(0, "ns/op")
}

func freeAddress(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// gauge reads a gauge of a server; -1 where it has none.
func gauge(address, name string) float64 {
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return -1
	}
	defer response.Body.Close()
	value := -1.0
	each(response.Body, func(metric string, v float64) {
		if strings.HasPrefix(metric, name+"{") {
			value = v
		}
	})
	return value
}

// each calls f with the metrics of a text in the form of Prometheus.
func each(text io.Reader, f func(metric string, value float64)) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); at > 0 && err == nil && lines.Text()[0] != '#' {
			f(lines.Text()[:at], value)
		}
	}
}

// requests reads how many requests an API server has answered.
type requests struct {
	b      *testing.B
	config *rest.Config
}

// answered are requests: those that change objects, and, by resource, lists and gets of what is
// watched, and watches that have ended.
type answered struct {
	writes      float64
	reads, ends map[string]float64
}

// readsSince returns how many lists and gets there are since before, and how many of them are
// beyond one for each watch that ended.
func (a answered) readsSince(before answered) (reads, beyond float64) {
	for resource, n := range a.reads {
		n -= before.reads[resource]
		reads += n
		beyond += max(0, n-(a.ends[resource]-before.ends[resource]))
	}
	return reads, beyond
}

func (r *requests) read() answered {
	n := answered{reads: make(map[string]float64), ends: make(map[string]float64)}
	client, err := rest.HTTPClientFor(r.config)
	if err != nil {
		r.b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.b.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.config.Host+"/metrics", nil)
	if err != nil {
		r.b.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		r.b.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		r.b.Fatalf("the API server's metrics: %s", response.Status)
	}
	each(response.Body, func(metric string, value float64) {
		if !strings.HasPrefix(metric, "apiserver_request_total{") || strings.Contains(metric, `resource="leases"`) || !strings.Contains(metric, `group="`) {
			return
		}
		resource := label(metric, "resource")
		switch verb := label(metric, "verb"); {
		case slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE"}, verb):
			n.writes += value
		case !slices.Contains([]string{"gateways", "dnspolicies", "dnsrecords", "dnshealthcheckprobes", "zones", "records", "secrets", "configmaps"}, resource):
		case verb == "LIST" || verb == "GET":
			n.reads[resource] += value
		case verb == "WATCH":
			n.ends[resource] += value
		}
	})
	return n
}

// label returns the value of a metric's label.
func label(metric, name string) string {
	_, rest, _ := strings.Cut(metric, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
