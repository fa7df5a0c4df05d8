package kubetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartSaysWhatIsWrong: Start does not wait for a server that ended before it was ready; the
// error has the server's output.
func TestStartSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "server")
	script := "#!/bin/sh\necho said at the start >&2\necho from the log >\"$2/log\"\nexit 3\n"
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(binary, dir)
	if err == nil {
		s.Stop()
		t.Fatal("started")
	}
	for _, want := range []string{"exit status 3", "said at the start", "from the log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

// TestPortBefore (bug E5): a restarted server has the port that its kubeconfig names.
func TestPortBefore(t *testing.T) {
	dir := t.TempDir()
	if port := portBefore(dir); port != "" {
		t.Errorf("the first time: %s", port)
	}
	text := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:34567"}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if port := portBefore(dir); port != "34567" {
		t.Errorf("then: %q", port)
	}
}
