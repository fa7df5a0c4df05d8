package source

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestRemoteServerRedirects: the server in a Secret's kubeconfig redirects the client to another
// server, in clear text. The client must not follow: the Secret names one https server, and the
// token is for that one.
func TestRemoteServerRedirects(t *testing.T) {
	asked := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path + " Authorization: " + r.Header.Get("Authorization"):
		default:
		}
		http.NotFound(w, r)
	}))
	defer inside.Close()
	answered := make(chan struct{})
	var requests atomic.Int32
	remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 5 { // a redirect that was followed would show by now
			close(answered)
		}
		http.Redirect(w, r, inside.URL+"/latest/meta-data", http.StatusFound)
	}))
	defer remote.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: remote.Certificate().Raw})
	config, err := ReadKubeconfig(fmt.Appendf(nil, `current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: secret-token}}]
`, remote.URL, base64.StdEncoding.EncodeToString(ca)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Kubernetes(KubernetesOptions{Cluster: "east", Config: config, Logf: t.Logf}).Run(ctx, func(*api.Cluster) {})
	}()
	<-answered
	select {
	case what := <-asked:
		t.Errorf("the other server was asked for %s", what)
	default:
	}
	cancel()
	<-done
}
