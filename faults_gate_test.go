package kuadrant

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

// apiGate stands between a plugin and its API server, which answers all that is let through: it
// notes what is written, and shuts the way.
type apiGate struct {
	// kubeconfig is the path of one that leads through the gate, tokenFile that of the token
	// which it refers to.
	kubeconfig, tokenFile string

	server  *httptest.Server
	mu      sync.Mutex
	shut    bool
	writes  []string // method, path and status of each but those to Leases and of Events
	expired int      // how many watches were told that what they go on from is too old

	rights *usedRights // notes what rights are used, and lets no list be streamed; nil for neither
}

// newAPIGate returns an open gate with the token of the admin, and closes it with the test.
func newAPIGate(t *testing.T, server *kubetest.Server) *apiGate {
	t.Helper()
	next, err := rest.TransportFor(rest.AnonymousClientConfig(server.Config))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	g := new(apiGate)
	proxy := &httputil.ReverseProxy{
		Transport: next, FlushInterval: -1, ErrorLog: stdlog.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: g.note,
	}
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut {
			// The one answer after which a watch goes on from where it was, and not by a list.
			http.Error(w, "the gate is shut", http.StatusTooManyRequests)
			return
		}
		if g.rights != nil && r.URL.Query().Get("sendInitialEvents") == "true" {
			// What an API server says that does not stream lists.
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`)
			return
		}
		defer func() {
			// A response that ends in the middle is what a cut connection looks like.
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				t.Errorf("the gate: %v", p)
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
	g.kubeconfig, g.tokenFile = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	writeFile(t, g.tokenFile, server.Config.BearerToken)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	writeFile(t, g.kubeconfig, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}],
users: [{name: u, user: {tokenFile: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, g.server.URL, base64.StdEncoding.EncodeToString(ca), g.tokenFile))
	return g
}

// set shuts or opens the way; what is on it is cut off.
func (g *apiGate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	g.mu.Unlock()
	g.server.CloseClientConnections()
}

// cut ends all connections; others can be made at once.
func (g *apiGate) cut() { g.server.CloseClientConnections() }

func (g *apiGate) note(r *http.Response) error {
	path := r.Request.URL.Path
	if g.rights != nil {
		g.rights.note(r.Request, r.StatusCode)
	}
	if r.Request.Method == http.MethodGet {
		r.Body = &gatedBody{ReadCloser: r.Body, gate: g}
		return nil
	}
	if !strings.Contains(path, "/leases") && !strings.HasSuffix(path, "/events") && !strings.Contains(path, "/events/") {
		g.mu.Lock()
		g.writes = append(g.writes, fmt.Sprint(r.Request.Method, " ", path, " ", r.StatusCode))
		g.mu.Unlock()
	}
	return nil
}

// written returns the writes so far that hold a text.
func (g *apiGate) written(text string) (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.writes {
		if strings.Contains(w, text) {
			all = append(all, w)
		}
	}
	return all
}

func (g *apiGate) told410() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.expired
}

// gatedBody counts what a response says of resource versions that are too old.
type gatedBody struct {
	io.ReadCloser
	gate *apiGate
}

// Read implements io.Reader.
func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte(`"code":410`)) {
		b.gate.mu.Lock()
		b.gate.expired++
		b.gate.mu.Unlock()
	}
	return n, err
}
