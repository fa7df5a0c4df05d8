package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// consoleCorefile is a Corefile with a console.
func consoleCorefile(dir, port, consoleAt, more string) caddy.Input {
	return boottest.Corefile("example.com:%s {\nbind 127.0.0.1\nkuadrant {\nmanifests %s c\nconsole %s\nttl 60\n}\n%s\n}\n", port, dir, consoleAt, more)
}

// fetch returns the status and the body of a URL.
func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestConsole: the console explains the server's answers, across reloads, and ends with it. Its
// previews change nothing.
func TestConsole(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	port, at := fmt.Sprint(peertest.FreePort(t)), fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	inst, err := caddy.Start(consoleCorefile(dir, port, at, ""))
	if err != nil {
		t.Fatal(err)
	}
	addr := inst.Servers()[0].LocalAddr().String()
	stop := func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}
	defer func() { stop() }()
	boottest.WaitFor(t, "an answer", func() bool {
		return boottest.FirstA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1"
	})
	client, err := console.NewClient("http://"+at, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	explains := func(name string) string {
		t.Helper()
		x, err := client.Explain(t.Context(), inspect.Question{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return inspect.AnswerText(x)
	}
	if got := explains("a.example.com"); got != "NOERROR, 192.0.2.1" {
		t.Errorf("explained as %s", got)
	}
	s, err := client.Server(t.Context())
	if err != nil || !s.Ready || len(s.Clusters) != 1 || s.Clusters[0].Name != "c" || !s.Clusters[0].Synced || s.Snapshot.IsZero() {
		t.Errorf("the server is %+v, %v", s, err)
	}
	if code, body := fetch(t, "http://"+at+"/"); code != http.StatusOK || !strings.Contains(body, "every namespace") {
		t.Errorf("the page is %d %s", code, body)
	}

	checkPreviews(t, client)
	if got := boottest.FirstA(boottest.Exchange(t, addr, "b.example.com.", dns.TypeA)); got != "NXDOMAIN" {
		t.Errorf("after a preview, b is answered with %s", got)
	}

	if _, err := caddy.Start(consoleCorefile(dir, fmt.Sprint(peertest.FreePort(t)), at, "")); err == nil || !strings.Contains(err.Error(), "console: listen tcp "+at) {
		t.Errorf("a second server at the same port: %v", err)
	}
	if inst, err = inst.Restart(consoleCorefile(dir, port, at, "erratic")); err != nil {
		t.Fatal(err)
	}
	boottest.WriteFile(t, filepath.Join(dir, "b.yaml"), boottest.GatewayFile("b", "192.0.2.2"))
	boottest.WaitFor(t, "b after a reload", func() bool { return explains("b.example.com") == "NOERROR, 192.0.2.2" })
	if _, err := inst.Restart(consoleCorefile(dir, port, at+" "+filepath.Join(dir, "none"), "")); err == nil {
		t.Error("a token that is not there is no error")
	} else if want := "Corefile:5 - Error during parsing: console: read token: open " + filepath.Join(dir, "none"); !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if got := explains("b.example.com"); got != "NOERROR, 192.0.2.2" {
		t.Errorf("after a reload that failed: %s", got)
	}
	stop()
	stop = func() {}
	if code, body := fetch(t, "http://"+at+"/"); code != 0 {
		t.Errorf("after the end the page is %d %s", code, body)
	}
}

// checkPreviews requests previews of manifests.
func checkPreviews(t *testing.T, client *console.Client) {
	t.Helper()
	for _, c := range []struct {
		what    string
		request console.PreviewRequest
		want    string // a part of the answer as JSON, or of the error
	}{
		{"a new name", console.PreviewRequest{Manifests: []byte(boottest.GatewayFile("b", "192.0.2.2"))}, `"name":"b.example.com","zone":"example.com","change":"added"`},
		{"another address", console.PreviewRequest{Manifests: []byte(boottest.GatewayFile("a", "192.0.2.9")), Cluster: "c"}, `"plus":["address 192.0.2.9"],"minus":["address 192.0.2.1"],"moved":{"ipv4":1`},
		{"a Gateway without status", console.PreviewRequest{Manifests: []byte(strings.Split(boottest.GatewayFile("a", "x"), "status:")[0])}, `"names":[],"added":0`},
		{"what goes", console.PreviewRequest{Manifests: []byte(boottest.GatewayFile("b", "192.0.2.2")), Prune: true}, `"name":"a.example.com","zone":"example.com","change":"removed"`},
		{"a conflict", console.PreviewRequest{Manifests: []byte(strings.NewReplacer("b.example.com", "a.example.com", "namespace: ns", "namespace: other").Replace(boottest.GatewayFile("b", "192.0.2.2")))}, `"loser":{"cluster":"c","kind":"DNSPolicy","name":"other/b"}`},
		{"other kinds", console.PreviewRequest{Manifests: []byte("apiVersion: v1\nkind: Pod\n")}, `"leftOut":["standard input: ignoring objects`},
		{"nothing", console.PreviewRequest{}, "no manifests; send them as the body"},
		{"a comment alone", console.PreviewRequest{Manifests: []byte("# nothing\n---\n")}, `"names":[]`},
		{"what is no object", console.PreviewRequest{Manifests: []byte("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: 5}\n")}, "manifests: document at line 1: object skipped: "},
		{"no YAML", console.PreviewRequest{Manifests: []byte("a: [")}, "manifests: line 1: "},
		{"another cluster", console.PreviewRequest{Manifests: []byte("# nothing\n"), Cluster: "d"}, `cluster: no cluster "d"; clusters are c`},
		{"a value of a Secret", console.PreviewRequest{Manifests: []byte("apiVersion: v1\nkind: Secret\nstringData: {a: hidden\n")}, "it may quote a Secret"},
	} {
		found, err := client.Preview(t.Context(), c.request)
		text := fmt.Sprint(err)
		if err == nil {
			b, _ := json.Marshal(found)
			text = string(b)
		}
		if !strings.Contains(text, c.want) || strings.Contains(text, "hidden") {
			t.Errorf("%s: %s lacks %s", c.what, text, c.want)
		}
	}
}

// TestConsoleTellsOfTheServer: the console shows the overrides in the operator's file, and why a
// directory of manifests is not fully read, until it is.
func TestConsoleTellsOfTheServer(t *testing.T) {
	dir, overrides := t.TempDir(), filepath.Join(t.TempDir(), "overrides")
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	boottest.WriteFile(t, filepath.Join(dir, "b.yaml"), "a: [")
	lines := "cluster " + strings.Repeat("x", 1000) + " down\n"
	for i := range 30 {
		lines += fmt.Sprintf("target 192.0.2.%d down\n", i+1)
	}
	boottest.WriteFile(t, overrides, lines)
	at := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	inst, err := caddy.Start(consoleCorefile(dir, fmt.Sprint(peertest.FreePort(t)), at+"\noverride "+overrides, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	client, err := console.NewClient("http://"+at, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	said := func() *console.Server {
		s, err := client.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var s *console.Server
	boottest.WaitFor(t, "answers from a cluster that is not read in full", func() bool {
		s = said()
		return len(s.Clusters) == 1 && s.Clusters[0].Problem != "" && !s.Snapshot.IsZero()
	})
	if c := s.Clusters[0]; c.Synced || !strings.HasPrefix(c.Problem, "b.yaml: ") {
		t.Errorf("the cluster is %+v", c)
	}
	if s.OverridesInForce != 31 || len(s.Overrides) != 20 || len(s.Overrides[0]) > 203 || s.Overrides[1] != "target 192.0.2.1 down" {
		t.Errorf("%d overrides are in force: %q", s.OverridesInForce, s.Overrides)
	}
	if code, body := fetch(t, "http://"+at+"/"); code != http.StatusOK || !strings.Contains(body, "31 overrides in force") || !strings.Contains(body, "b.yaml: ") {
		t.Errorf("the page is %d %s", code, body)
	}
	boottest.WriteFile(t, filepath.Join(dir, "b.yaml"), boottest.GatewayFile("b", "192.0.2.2"))
	boottest.WriteFile(t, overrides, "")
	boottest.WaitFor(t, "a server with which nothing is wrong", func() bool {
		s := said()
		return s.Ready && s.Clusters[0].Synced && s.Clusters[0].Problem == "" && s.OverridesInForce == 0
	})
}
