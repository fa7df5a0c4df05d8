package kube

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestAPIServerAway: if the API server is down at the start, nothing is denied (rule 7.4). Once it
// is up, its names are answered; when it goes away, they stay.
func TestAPIServerAway(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	server.Kill()
	addr := boottest.Kube(t, server.Kubeconfig, "example.com")
	if got := boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)); got != "SERVFAIL" {
		t.Errorf("before anything is known: %s", got)
	}
	server.Restart(t)
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
	server.Kill()
	for name, want := range map[string]string{"a.example.com.": "192.0.2.1", "no.example.com.": "NXDOMAIN"} {
		if got := boottest.AllA(boottest.Exchange(t, addr, name, dns.TypeA)); got != want {
			t.Errorf("%s with the API server away: %s, want %s", name, got, want)
		}
	}
	server.Restart(t) // so that its objects can be deleted
}

// TestCRDsInstalledLater: CoreDNS starts without the kinds, denies names that cannot exist, and
// serves the objects of kinds that are installed later.
func TestCRDsInstalledLater(t *testing.T) {
	server := kubetest.Start(t)
	addr := boottest.Kube(t, server.Kubeconfig, "example.com")
	boottest.Asks(t, addr, "a.example.com.", "NXDOMAIN")
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
}

// TestAPIServerBehindSilentBalancer: the one of two API servers that is used goes away behind a load balancer that keeps the connections
// open, drops what they carry, and leads new ones to the other. Later that one is restarted so. What has changed is seen each time; how
// soon, TestSilence and TestPauses say.
func TestAPIServerBehindSilentBalancer(t *testing.T) {
	server := boottest.APIServer(t)
	server.Apply(t, boottest.GatewayFile("a", "192.0.2.1"))
	second := server.Second(t)
	b := newBalancer(t, strings.TrimPrefix(second.Config.Host, "https://"))
	through := rest.CopyConfig(server.Config)
	through.Host = "https://" + b.Addr().String()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	boottest.WriteFile(t, kubeconfig, boottest.KubeconfigFor(t, through))
	addr := boottest.Kube(t, kubeconfig, "example.com")
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
	changes := func(to string) {
		ready := time.Now()
		server.Apply(t, boottest.GatewayFile("a", to))
		boottest.Asks(t, addr, "a.example.com.", to)
		t.Logf("the change was answered %v after the API server was ready", time.Since(ready))
	}
	b.silence(strings.TrimPrefix(server.Config.Host, "https://"))
	second.Kill()
	changes("192.0.2.2")
	b.silence(b.leads())
	server.Kill()
	server.Restart(t)
	changes("192.0.2.3")
}

// balancer forwards connections, as a load balancer in front of API servers.
type balancer struct {
	net.Listener
	to  atomic.Pointer[string]
	era atomic.Int32
}

// newBalancer returns a balancer to an address, which ends with the test.
func newBalancer(t *testing.T, to string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: l}
	b.to.Store(&to)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(client)
		}
	}()
	return b
}

// leads returns where new connections lead.
func (b *balancer) leads() string { return *b.to.Load() }

// silence leads new connections to an address. Those there are stay open, and nothing comes through them any more.
func (b *balancer) silence(to string) {
	b.to.Store(&to)
	b.era.Add(1)
}

// serve forwards a connection. Once it is silent, only the client ends it.
func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", b.leads())
	if err != nil {
		return
	}
	defer server.Close()
	began := b.era.Load()
	go func() {
		_, _ = io.Copy(client, &heard{server, b, began})
		if b.era.Load() == began {
			_ = client.Close()
		}
	}()
	_, _ = io.Copy(server, &heard{client, b, began})
}

// heard is the reading end of a connection that began in an era.
type heard struct {
	net.Conn
	b     *balancer
	began int32
}

// Read implements io.Reader.
func (h *heard) Read(p []byte) (int, error) {
	for {
		n, err := h.Conn.Read(p)
		if h.b.era.Load() == h.began {
			return n, err
		}
		if err != nil {
			return 0, err
		}
	}
}
