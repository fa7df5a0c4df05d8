package peertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// RunCoreDNS runs a Corefile on a free port until the test ends, with env added to the environment.
// It returns its address and a function that returns its output so far. The caller checks whether
// it answers yet. A failed test logs both.
func RunCoreDNS(t testing.TB, binary, corefile string, env ...string) (addr string, printed func() string) {
	t.Helper()
	dir, port := t.TempDir(), FreePort(t)
	file, log := filepath.Join(dir, "Corefile"), filepath.Join(dir, "log")
	if err := os.WriteFile(file, []byte(corefile), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(binary, "-conf", file, "-dns.port", fmt.Sprint(port))
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("CoreDNS printed\n%s\nwith\n%s", read(), corefile)
		}
	})
	return fmt.Sprintf("127.0.0.1:%d", port), read
}
