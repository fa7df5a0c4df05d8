package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestConfig: which of the ways to an API server is taken, and what is said
// where there is none.
func TestRestConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const contexts = `contexts: [{name: one, context: {cluster: c1, user: u}}, {name: two, context: {cluster: c2, user: u}}, {name: lost, context: {cluster: c3, user: u}}]`
	const rest = `{apiVersion: v1, kind: Config, clusters: [{name: c1, cluster: {server: "https://127.0.0.1:1"}}, {name: c2, cluster: {server: "https://127.0.0.1:2"}}],
users: [{name: u, user: {token: t}}], ` + contexts
	file, none := write("config", rest+", current-context: one}"), filepath.Join(dir, "none")
	noContext, empty := write("nocontext", rest+"}"), write("empty", "")
	text, pod := write("text", "hello"), write("pod", "{apiVersion: v1, kind: Pod, metadata: {name: x}}")
	for _, c := range []struct {
		file, context, env string
		host, want         string
	}{
		{file: file, host: "https://127.0.0.1:1"},
		{file: file, context: "two", host: "https://127.0.0.1:2"},
		{file: noContext, context: "two", host: "https://127.0.0.1:2"},
		{env: file, host: "https://127.0.0.1:1"},
		{env: none + ":" + file, host: "https://127.0.0.1:1"},
		{file: file, env: none, host: "https://127.0.0.1:1"},
		{want: "Corefile:3 - Error during parsing: no objects to read: not in a cluster, and none of kubeconfig, manifests and the variable KUBECONFIG is set"},
		{file: none, want: "Corefile:5 - Error during parsing: kubeconfig: stat " + none + ": no such file or directory"},
		{file: dir, want: "Corefile:5 - Error during parsing: kubeconfig: not a kubeconfig: "},
		{file: empty, want: "Corefile:5 - Error during parsing: kubeconfig: no cluster in " + empty + "; name a kubeconfig such as kubectl uses"},
		{file: text, want: "Corefile:5 - Error during parsing: kubeconfig: not a kubeconfig: "},
		{file: pod, want: "Corefile:5 - Error during parsing: kubeconfig: not a kubeconfig: "},
		{file: noContext, want: "Corefile:5 - Error during parsing: kubeconfig: no current context in " + noContext +
			"; set one with `kubectl config use-context`, or name one after the file: lost, one, two"},
		{file: file, context: "three", want: "Corefile:5 - Error during parsing: kubeconfig: no context \"three\" in " + file + "; want one of lost, one, two"},
		{file: file, context: "lost", want: "Corefile:5 - Error during parsing: kubeconfig: use context \"lost\" of " + file + ": "},
		{env: none, want: `Corefile:3 - Error during parsing: variable KUBECONFIG is "` + none + `": stat ` + none + ": no such file or directory"},
		{env: empty, want: `Corefile:3 - Error during parsing: variable KUBECONFIG is "` + empty + `": no cluster in ` + empty + "; name a kubeconfig such as kubectl uses"},
		{env: pod, want: `Corefile:3 - Error during parsing: variable KUBECONFIG is "` + pod + `": not a kubeconfig: `},
		{env: ":", want: `Corefile:3 - Error during parsing: variable KUBECONFIG is ":": stat : no such file or directory`},
	} {
		t.Setenv("KUBECONFIG", c.env)
		cfg := new(Options)
		cfg.Kubeconfig = Kubeconfig{File: c.file, Context: c.context}
		cfg.Note(PluginName, "Corefile:3")
		cfg.Note("kubeconfig", "Corefile:5")
		rc, _, err := restConfig(cfg)
		switch {
		case c.want == "":
			if err != nil || rc.Host != c.host {
				t.Errorf("%+v: %v, %v", c, rc, err)
			}
		case err == nil || err.Error() != c.want && !(strings.HasSuffix(c.want, ": ") && strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}
