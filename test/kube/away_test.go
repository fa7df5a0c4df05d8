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

// TestAPIServerBehindSilentBalancer: an API server is restarted behind a load balancer that keeps the
// connections open and drops what they carry. New ones are made, and what has changed is seen within
// ten seconds of the server's readiness (TestSilence and TestPauses hold the parts of that; client-go
// alone takes 45 s).
func TestAPIServerBehindSilentBalancer(t *testing.T) {
	server := boottest.APIServer(t)
	server.Apply(t, boottest.GatewayFile("a", "192.0.2.1"))
	b := newBalancer(t, strings.TrimPrefix(server.Config.Host, "https://"))
	through := rest.CopyConfig(server.Config)
	through.Host = "https://" + b.Addr().String()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	boottest.WriteFile(t, kubeconfig, boottest.KubeconfigFor(t, through))
	addr := boottest.Kube(t, kubeconfig, "example.com")
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
	b.silence()
	server.Kill()
	server.Restart(t)
	ready := time.Now()
	server.Apply(t, boottest.GatewayFile("a", "192.0.2.2"))
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.2")
	took := time.Since(ready)
	t.Logf("the change was answered %v after the API server was ready", took)
	if took > 30*time.Second {
		t.Errorf("the change was answered %v after the API server was ready: are silent connections still tested for?", took)
	}
}

// balancer forwards connections, as a load balancer in front of API servers. At each call of
// silence, those there are stay open, and nothing comes through them any more.
type balancer struct {
	net.Listener
	to  string
	era atomic.Int32
}

// newBalancer returns a balancer to an address, which ends with the test.
func newBalancer(t *testing.T, to string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: l, to: to}
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

func (b *balancer) silence() { b.era.Add(1) }

// serve forwards a connection. Once it is silent, only the client ends it.
func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", b.to)
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
