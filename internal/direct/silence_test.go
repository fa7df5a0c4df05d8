package direct

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pipes is a listener in memory. Once it is frozen, its connections stay open, and nothing comes through.
type pipes struct {
	conns  chan net.Conn
	frozen chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// dial returns a connection through a load balancer, which drops everything once it is frozen.
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, near := net.Pipe()
	far, server := net.Pipe()
	forward := func(to, from net.Conn) {
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil {
				_ = to.Close()
				return
			}
			select {
			case <-p.frozen:
			default:
				_, _ = to.Write(buf[:n])
			}
		}
	}
	go forward(far, near)
	go forward(near, far)
	p.conns <- server
	return client, nil
}

// TestSilence: an answer that stays open, as a watch does, ends within ten seconds after the connection went silent, and not before.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn, 1), frozen: make(chan struct{}), closed: make(chan struct{})}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		server.Listener.Close()
		server.Listener, server.EnableHTTP2 = p, true
		server.StartTLS()
		transport := utilnet.SetTransportDefaults(&http.Transport{DialContext: p.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
		client := Client(&http.Client{Transport: transport})
		response, err := client.Get(server.URL)
		if err != nil || response.ProtoMajor != 2 {
			t.Fatal(response, err)
		}
		ended := make(chan time.Time, 1)
		go func() {
			_, _ = io.Copy(io.Discard, response.Body)
			ended <- time.Now()
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("it ended though the server is there")
		}
		silent := time.Now()
		close(p.frozen)
		if took := (<-ended).Sub(silent); took > 2*silence {
			t.Errorf("it ended %v after the connection went silent", took)
		}
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
		time.Sleep(time.Minute) // until all connections are closed
	})
}
