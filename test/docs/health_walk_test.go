package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestHealthWalk follows docs/health.md, with the server and the targets that it starts.
func TestHealthWalk(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	text, err := os.ReadFile("docs/health.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("## Watch it\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	steps := regexp.MustCompile("(?s)```console\n(.*?)```|[Tt]ype\\s`([0-9])`").FindAllStringSubmatch(string(text), -1)
	if len(steps) < 8 {
		t.Fatalf("found %d steps", len(steps))
	}
	start := doctest.ShownIn(steps[0][1])
	if len(start) != 2 || start[0].Line != "make run" || start[1].Line != "make targets" {
		t.Fatalf("the walk begins with %q", start)
	}
	targetPort := targetPort(t, "127.0.0.21", "127.0.0.22")
	target := startTargets(t, targetPort, start[1].Want)
	port := startExample(t, targetPort)
	for _, step := range steps[1:] {
		if step[2] != "" {
			if _, err := fmt.Fprintln(target, step[2]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, c := range doctest.ShownIn(step[1]) {
			boottest.WaitFor(t, c.Line+" printing "+c.Want, func() bool {
				got, err := c.Run(port)
				return err == nil && got == c.Want
			})
		}
	}
}

// examplePort is the port on which Corefile.example checks its targets.
const examplePort = "8081"

// targetPort returns a port that checks may use and that is free on the given addresses.
func targetPort(t *testing.T, addresses ...string) string {
	t.Helper()
	port, listeners := boottest.ListenOn(t, addresses...)
	for _, l := range listeners {
		_ = l.Close()
	}
	return fmt.Sprint(port)
}

// startTargets runs `make targets` on another port, checks its first output, and returns its input.
func startTargets(t *testing.T, port, want string) io.Writer {
	t.Helper()
	other := strings.NewReplacer(":"+examplePort, ":"+port)
	binary := peertest.Build(t, ".", "./tools/target")
	// If make runs this test, it would print that before the line.
	line, err := exec.Command("make", "--no-print-directory", "--dry-run", "targets").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, strings.Fields(other.Replace(string(line)))[3:]...) // without go run ./tools/target
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	first := bufio.NewReader(out)
	for want := range strings.Lines(other.Replace(want)) {
		if got, err := first.ReadString('\n'); err != nil || doctest.Collapse(got) != doctest.Collapse(want) {
			t.Fatalf("the targets print %q, %v, want %q", got, err, want)
		}
	}
	return in
}
