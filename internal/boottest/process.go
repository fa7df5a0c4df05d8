package boottest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// CoreDNS returns the path of the server.
func CoreDNS(t testing.TB) string { return peertest.CoreDNS(t, kubetest.ModuleRoot()) }

// RunCoreDNS runs a Corefile in a separate process until the test ends. It returns once the servers
// listen.
func RunCoreDNS(t testing.TB, binary, corefile string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, binary, "-conf", corefile, "-dns.port", "0")
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	var seen strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "CoreDNS-") {
			go func() {
				for lines.Scan() { // the process must not block on its output
				}
			}()
			return
		}
	}
	t.Fatalf("CoreDNS did not start:\n%s", seen.String())
}
