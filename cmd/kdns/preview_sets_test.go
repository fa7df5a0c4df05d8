package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// TestPreviewOfSeveralPaths: manifests in several paths are applied at once, whatever their order and clusters.
func TestPreviewOfSeveralPaths(t *testing.T) {
	dir := t.TempDir()
	before := writeFile(t, dir+"/before/x.yaml", manifests(t, previewed))
	documents := strings.Split(manifests(t, previewed), "---\n")[1:]
	shop := writeFile(t, dir+"/shop/x.yaml", strings.Join(documents[:4], "---\n"))
	moved := writeFile(t, dir+"/moved/x.yaml", strings.ReplaceAll(strings.Join(documents[:4], "---\n"), `"192.0.2.1"`, `"192.0.2.99"`))
	rest := writeFile(t, dir+"/rest/x.yaml", strings.Join(documents[4:], "---\n"))
	writeFile(t, dir+"/eu/x.yaml", documents[0]+"---\n"+documents[2])
	both := func(a, b string, more ...string) []string { return append([]string{"-f", a, "-f", b}, more...) }
	const same = "nothing changes\n"
	for _, c := range []struct {
		args        []string
		code        int
		out, warned string
	}{
		{both(shop, rest), 0, same, ""},
		{both(dir+"/shop", dir+"/rest"), 0, same, ""},
		{both(dir+"/shop", dir+"/rest", "--prune"), 0, same, ""},
		{both(dir+"/rest", shop, "--prune"), 0, same, ""},
		{both(dir+"/moved", dir+"/rest"), 1, "        - 192.0.2.1\n        + 192.0.2.99\n", ""},
		{both(dir+"/rest", dir+"/moved"), 1, "        - 192.0.2.1\n        + 192.0.2.99\n", ""},
		{both(moved, dir+"/rest"), 1, "        - 192.0.2.1\n        + 192.0.2.99\n", ""},
		{both("before="+dir+"/moved", "before="+dir+"/rest"), 1, "        - 192.0.2.1\n        + 192.0.2.99\n", ""},
		{both(dir+"/eu", dir+"/rest", "--prune"), 1, "    - member ", ""},
		// The first of two manifests of one object counts.
		{both(dir+"/moved", shop), 1, "        + 192.0.2.99\n", shop + ": skipping Gateway shop/eu (line 1): already in " + moved},
		{both(shop, dir+"/moved"), 0, same, moved + ": skipping Gateway shop/eu (line 1): already in " + shop},
	} {
		r := kdns(t, "", append([]string{"preview", "--against", dir + "/before", "--zone", "k.example.com"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || c.warned == "" && r.errs != "" || !strings.Contains(r.errs, c.warned) {
			t.Errorf("%q: code %d\n%s%s", c.args, r.code, r.out, r.errs)
		}
	}
	// The second one does not count, so its status does not either.
	spec, _, _ := strings.Cut(documents[0], `,"status":`)
	bare := spec + "}\n"
	twice := writeFile(t, dir+"/twice.yaml", bare+"---\n"+strings.ReplaceAll(documents[0], "192.0.2.1", "192.0.2.77"))
	if r := kdns(t, "", "preview", "--against", before, "--zone", "k.example.com", "-f", twice); r.code != 0 || r.out != same {
		t.Errorf("without a status, and then with one: code %d\n%s%s", r.code, r.out, r.errs)
	}
}

// TestPreviewWarns: skipped manifests on either side cause warnings, and so do paths read as several clusters.
func TestPreviewWarns(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir+"/x.yaml", manifests(t, previewed))
	writeFile(t, dir+"/more/x.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n")
	pods := writeFile(t, dir+"/pods.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n")
	r := kdns(t, "", "preview", "--zone", "k.example.com", "--against", file, "--against", dir+"/more", "-f", pods)
	for _, want := range []string{dir + "/more is read as cluster \"more\", and " + file + " as \"local\"", dir +
		"/more/x.yaml: ignoring objects", pods + ": ignoring objects"} {
		if !strings.Contains(r.errs, "warning: "+want) {
			t.Errorf("lacks %q: code %d\n%s%s", want, r.code, r.out, r.errs)
		}
	}
}

// TestPreviewOfWhatCannotBeRead: a preview with unreadable manifests, on either side, does not say that nothing
// changes.
func TestPreviewOfWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	good := writeFile(t, dir+"/good.yaml", manifests(t, previewed))
	for name, text := range map[string]string{
		"skipped": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: 5, namespace: [x]}\n",
		"broken":  "a: [\n",
	} {
		bad := writeFile(t, dir+"/"+name+".yaml", text)
		for _, args := range [][]string{
			{"-f", bad, "--against", good},
			{"-f", good, "-f", bad, "--against", good},
			{"-f", good, "--against", bad},
		} {
			for _, form := range outputs {
				r := kdns(t, "", append([]string{"preview", "--zone", "k.example.com", "-o", form}, args...)...)
				if r.code != 3 || r.out != "" || !strings.Contains(r.errs, bad) {
					t.Errorf("%q: code %d\n%s%s", args, r.code, r.out, r.errs)
				}
			}
		}
	}
}

// TestServerThatLacksSomething: a warning says that a server has not read everything, and why.
func TestServerThatLacksSomething(t *testing.T) {
	inRoot(t)
	w := exampleWorld(t)
	source := &shown{
		t: t, view: inspect.View{Snapshot: w.snap, Locator: w.db},
		clusters: []console.Cluster{{Name: "eu", Synced: true}, {Name: "na", Problem: "a.yaml: line 1: x"}},
	}
	source.preview.Added = 1 // 3 is more than 1
	server := httptest.NewServer(console.New(console.Options{Source: source}))
	defer server.Close()
	for _, args := range [][]string{
		{"explain", "status.k.example.com"},
		{"list", "names", "nothing"},
		{"compare", startKnot(t, "", map[string]string{"k.example.com.": otherZone}), "status.k.example.com", "--types", "TXT"},
		{"preview", "-f", "examples/eu/policies.yaml", "-f", "examples/eu/gateway.yaml", "--cluster", "eu"},
	} {
		r := kdns(t, "", append(args, "--server", server.URL)...)
		want := "warning: the server has not read all of cluster \"na\": a.yaml: line 1: x\nkdns: the server has not read " +
			"everything; the rest is missing here\n"
		if r.code != 3 || r.out == "" || r.errs != want {
			t.Errorf("%q: code %d\n%s%s", args, r.code, r.out, r.errs)
		}
	}
}

// TestCheckOfNothing: check does not report success if it read nothing, and reports each broken document.
func TestCheckOfNothing(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir+"/x.yaml", manifests(t, previewed))
	corefile := writeFile(t, dir+"/Corefile", "k.example.com {\n  kuadrant {\n    namespaces nosuch\n    manifests "+dir+"\n  }\n}\n")
	for _, args := range [][]string{{"-f", file}, {}} {
		kdns(t, "", append([]string{"check", "--corefile", corefile}, args...)...).expect(t, args, 1,
			"warning: no objects to check: ", "(LeftOut)\n0 errors, 1 warning\n")
	}
	broken := writeFile(t, dir+"/broken.yaml", "a: [\n---\nb: [\n---\nc: 1\n---\nd: [\n")
	r := kdns(t, "", "check", "--zone", "k.example.com", "-f", broken)
	if r.code != 1 || strings.Count(r.out, "error: "+broken+": line ") != 3 || !strings.Contains(r.out, "(Unread)") {
		t.Errorf("three that are broken: code %d\n%s%s", r.code, r.out, r.errs)
	}
	kdns(t, "", "list", "zones", "--zone", "k.example.com", "-f", broken).expect(t, broken, 3, "!1 file could not be read in full")
}

// TestServerDies: a server that dies before or during its answer causes an error that says so, and no output.
func TestServerDies(t *testing.T) {
	inRoot(t)
	for _, sent := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nKuadrant-Api: 1\r\nContent-Length: " +
		"1000\r\n\r\n{\"names\": ["} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, sent)
			_ = conn.Close()
		}))
		for _, args := range [][]string{
			{"explain", "status.k.example.com"},
			{"list", "names"},
			{"preview", "-f", "examples/eu"},
			{"check", "--live", "k.example.com"},
			{"compare", "127.0.0.1:1"},
		} {
			r := kdns(t, "", append(args, "--server", server.URL)...)
			if r.code != 3 || r.out != "" || !strings.Contains(r.errs, server.URL) {
				t.Errorf("%q after %q: code %d\n%s%s", args, sent, r.code, r.out, r.errs)
			}
		}
		server.Close()
	}
}
