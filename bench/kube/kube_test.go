//go:build linux

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const (
	count  = 10_000 // Gateways
	delays = 50     // how many changes are measured
	// writers is how many requests to the API server are under way at a time.
	writers = 16
)

// BenchmarkKubernetes measures the whole process against a real API server. The
// variable KUADRANT_COREDNS names the binary to measure. It is to be run once,
// with -benchtime 1x:
//
//	load-cpu-s   CPU seconds of the process, from its start until each of 10,000 hosts answers
//	start-cpu-s  CPU seconds that the same binary takes to answer without the plugin
//	delay-ms     milliseconds from a patch of a Gateway's status to the changed answer, among 10,000
//	rss-MiB      memory of the process with 10,000
func BenchmarkKubernetes(b *testing.B) {
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

	b.ReportMetric(w.startAlone(b, binary), "start-cpu-s")
	s := w.start(b, binary, fmt.Sprintf("kuadrant {\n        kubeconfig %s\n        write-back off\n    }", server.Kubeconfig))
	s.await(b, count)
	b.ReportMetric(s.cpu(b), "load-cpu-s")

	delay := w.delays(b, s)
	b.ReportMetric(delay.Median, "delay-ms")
	b.ReportMetric(delay.Min, "delay-ms-min")
	b.ReportMetric(delay.Max, "delay-ms-max")
	now, _, err := s.Memory()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(now>>20), "rss-MiB")
	b.ReportMetric(0, "ns/op") // the time of all this says nothing
}

// writer writes objects to the API server.
type writer struct {
	client dynamic.Interface
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	gateways   = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	policies   = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "dnspolicies"}
)

// write makes the objects of the hosts from begin to end-1.
func (w *writer) write(b *testing.B, begin, end int) {
	b.Helper()
	known := make(map[string]bool)
	for i := begin; i < end; i++ {
		o := objects.Simple(i)
		if ns := o.Namespace(); !known[ns] {
			known[ns] = true
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}
			if _, err := w.client.Resource(namespaces).Create(b.Context(), obj, metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			provider, _, err := created(o.Provider())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := w.client.Resource(secrets).Namespace(ns).Create(b.Context(), provider, metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	group, ctx := errgroup.WithContext(b.Context())
	var next atomic.Int64
	next.Store(int64(begin))
	for range writers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < end; i = int(next.Add(1)) - 1 {
				if err := w.writeOne(ctx, objects.Simple(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

func (w *writer) writeOne(ctx context.Context, o objects.Object) error {
	gateway, status, err := created(o.Gateway())
	if err != nil {
		return err
	}
	policy, _, err := created(o.Policy())
	if err != nil {
		return err
	}
	if _, err := w.client.Resource(policies).Namespace(o.Namespace()).Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := w.client.Resource(gateways).Namespace(o.Namespace()).Create(ctx, gateway, metav1.CreateOptions{}); err != nil {
		return err
	}
	return w.patchStatus(ctx, o, status)
}

func (w *writer) patchStatus(ctx context.Context, o objects.Object, status any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = w.client.Resource(gateways).Namespace(o.Namespace()).Patch(ctx, o.GatewayName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// created returns an object as it is sent to an API server to make it, and its
// status for later.
func created(text []byte) (obj *unstructured.Unstructured, status any, err error) {
	obj = new(unstructured.Unstructured)
	if err := json.Unmarshal(text, &obj.Object); err != nil {
		return nil, nil, err
	}
	status = obj.Object["status"]
	delete(obj.Object, "status")
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	return obj, status, nil
}

// served is a running server.
type served struct {
	*process.Process
	address string
	conn    *dns.Conn
}

// start starts the server with one plugin for the zone, and waits until it
// answers anything.
func (w *writer) start(b *testing.B, binary, plugin string) *served {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	dir := b.TempDir()
	corefile := filepath.Join(dir, "Corefile")
	text := fmt.Sprintf("%s:%s {\n    bind 127.0.0.1\n    %s\n}\n", strings.TrimSuffix(objects.Zone, "."), port, plugin)
	if err := os.WriteFile(corefile, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	p, err := process.Start(-1, filepath.Join(dir, "log"), binary, "-conf", corefile)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Stop)
	conn, err := dns.Dial("udp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &served{p, address, conn}
}

// startAlone returns the CPU seconds that the server takes to start without the
// plugin.
func (w *writer) startAlone(b *testing.B, binary string) float64 {
	s := w.start(b, binary, "whoami")
	err := s.Process.Await("answer of whoami", time.Minute, func() error {
		_, err := s.ask(objects.Host(0, objects.Zone))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	used := s.cpu(b)
	s.Stop()
	return used
}

func (s *served) cpu(b *testing.B) float64 {
	b.Helper()
	used, err := s.CPU()
	if err != nil {
		b.Fatal(err)
	}
	return used.Seconds()
}

var errNoAnswer = errors.New("no answer")

// ask returns the address of a host.
func (s *served) ask(name string) (string, error) {
	q := new(dns.Msg)
	q.SetQuestion(name, dns.TypeA)
	if err := s.conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if err := s.conn.WriteMsg(q); err != nil {
		return "", err
	}
	for {
		m, err := s.conn.ReadMsg()
		switch {
		case err != nil:
			return "", err
		case m.Id != q.Id:
			continue // to a question before, which was given up
		case m.Rcode != dns.RcodeSuccess:
			return "", fmt.Errorf("%w: %s is %s", errNoAnswer, name, dns.RcodeToString[m.Rcode])
		case len(m.Answer) == 0:
			return "", nil // whoami
		}
		a, ok := m.Answer[0].(*dns.A)
		if !ok {
			return "", fmt.Errorf("%w: %s has %v", errNoAnswer, name, m.Answer[0])
		}
		return a.A.String(), nil
	}
}

// await waits until each of the first n hosts answers with its address. It asks
// for the last one until that is there, then for all.
func (s *served) await(b *testing.B, n int) {
	b.Helper()
	answers := func(i int) error {
		o := objects.Simple(i)
		address, err := s.ask(o.Host)
		if err == nil && address != o.Address {
			err = fmt.Errorf("%w: %s has %q, want %s", errNoAnswer, o.Host, address, o.Address)
		}
		return err
	}
	err := s.Process.Await(fmt.Sprintf("answers for %d hosts", n), 5*time.Minute, func() error {
		for i := n - 1; i >= 0; i-- {
			if err := answers(i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// delays returns the milliseconds from a patch to the answer that it changes.
func (w *writer) delays(b *testing.B, s *served) stats.Spread {
	b.Helper()
	var list []float64
	for i := range delays {
		o := objects.Simple(i * (count / delays))
		o.Address = objects.Address(1<<20 + i)
		_, status, err := created(o.Gateway())
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		if err := w.patchStatus(b.Context(), o, status); err != nil {
			b.Fatal(err)
		}
		for {
			address, err := s.ask(o.Host)
			if err != nil {
				b.Fatal(err)
			}
			if address == o.Address {
				break
			}
			if time.Since(begin) > time.Minute {
				b.Fatalf("%s has %s, want %s", o.Host, address, o.Address)
			}
		}
		list = append(list, float64(time.Since(begin).Microseconds())/1e3)
	}
	return stats.Of(list)
}
