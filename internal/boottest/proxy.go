package boottest

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// APIProxy is a proxy between a plugin and its API server. It records writes, and can block the
// connection.
type APIProxy struct {
	// Kubeconfig is the path of a kubeconfig that leads through the proxy, TokenFile that of the
	// token to which it refers.
	Kubeconfig, TokenFile string

	server  *httptest.Server
	mu      sync.Mutex
	shut    bool
	writes  []string // method, path and status of each, except those to Leases and of Events
	expired int      // how many watches were told that their version is too old

	// Passed is called for each request that was let through, with the status of the answer. No
	// list is streamed while it is set.
	Passed func(r *http.Request, status int)
}

// NewAPIProxy returns an open proxy with the admin's token, and closes it with the test.
func NewAPIProxy(t testing.TB, server *kubetest.Server) *APIProxy {
	t.Helper()
	next, err := rest.TransportFor(rest.AnonymousClientConfig(server.Config))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	g := new(APIProxy)
	proxy := &httputil.ReverseProxy{
		Transport: next, FlushInterval: -1, ErrorLog: stdlog.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: g.note,
	}
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut {
			// This is the only answer after which a watch resumes without a list.
			http.Error(w, "the proxy is shut", http.StatusTooManyRequests)
			return
		}
		if g.Passed != nil && r.URL.Query().Get("sendInitialEvents") == "true" {
			// An API server without streaming lists answers like this.
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`)
			return
		}
		defer func() {
			// A response that ends in the middle looks like a cut connection.
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				t.Errorf("the proxy: %v", p)
			}
		}()
		proxy.ServeHTTP(w, r)
	}))
	g.server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	g.server.StartTLS()
	t.Cleanup(func() {
		g.server.CloseClientConnections()
		g.server.Close()
	})
	dir := t.TempDir()
	g.Kubeconfig, g.TokenFile = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	WriteFile(t, g.TokenFile, server.Config.BearerToken)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	WriteFile(t, g.Kubeconfig, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}],
users: [{name: u, user: {tokenFile: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, g.server.URL, base64.StdEncoding.EncodeToString(ca), g.TokenFile))
	return g
}

// Set blocks or opens the proxy; open connections are cut.
func (g *APIProxy) Set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	g.mu.Unlock()
	g.server.CloseClientConnections()
}

// Cut ends all connections; new ones succeed at once.
func (g *APIProxy) Cut() { g.server.CloseClientConnections() }

func (g *APIProxy) note(r *http.Response) error {
	path := r.Request.URL.Path
	if g.Passed != nil {
		g.Passed(r.Request, r.StatusCode)
	}
	if r.Request.Method == http.MethodGet {
		r.Body = &proxiedBody{ReadCloser: r.Body, proxy: g}
		return nil
	}
	if !strings.Contains(path, "/leases") && !strings.HasSuffix(path, "/events") && !strings.Contains(path, "/events/") {
		g.mu.Lock()
		g.writes = append(g.writes, fmt.Sprint(r.Request.Method, " ", path, " ", r.StatusCode))
		g.mu.Unlock()
	}
	return nil
}

// Written returns the writes so far that contain text.
func (g *APIProxy) Written(text string) (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.writes {
		if strings.Contains(w, text) {
			all = append(all, w)
		}
	}
	return all
}

// Expired410 returns how many watches were told that their version is too old.
func (g *APIProxy) Expired410() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.expired
}

// proxiedBody counts the messages in a response that a resource version is too old.
type proxiedBody struct {
	io.ReadCloser
	proxy *APIProxy
}

// Read implements io.Reader.
func (b *proxiedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte(`"code":410`)) {
		b.proxy.mu.Lock()
		b.proxy.expired++
		b.proxy.mu.Unlock()
	}
	return n, err
}
