// Package peertest helps tests run servers side by side: free ports, and programs of other
// projects. Only tests import it.
package peertest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// FreePort chooses among the lowPorts ports from firstLowPort on. They are below those that systems
// give to sockets that ask for any port: no connection takes a free one before the server that it
// is meant for.
const firstLowPort, lowPorts = 10000, 20000

// portCount counts through the low ports; each process starts elsewhere.
var portCount atomic.Uint32

func init() { portCount.Store(rand.Uint32N(lowPorts)) }

// FreePort returns a port of 127.0.0.1 that is free for UDP and TCP, a different one each time.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstLowPort + int(portCount.Add(1)%lowPorts)
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		c, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", addr)
		_ = c.Close()
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	t.Fatal("no port is free for UDP and TCP")
	return 0
}

// Program returns the path of another project's program. If it is missing, the test is skipped,
// unless KUADRANT_REQUIRE_PEERS is set.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if os.Getenv("KUADRANT_REQUIRE_PEERS") != "" {
		t.Fatalf("%s is not installed: it is in Debian's package %s", name, debian)
	}
	t.Skipf("%s is not installed: it is in Debian's package %s", name, debian)
	return ""
}

// building serializes Build.
var building sync.Mutex

// Build builds the program in package pkg of the module in dir, unless it is up to date, and
// returns its path in build/test. It uses the tests' build flags, so that little has to be
// compiled.
func Build(t testing.TB, dir, pkg string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "build", "test", filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// CoreDNS returns the path of the server: the one in KUADRANT_COREDNS, else one built from the
// checkout in root.
func CoreDNS(t testing.TB, root string) string {
	t.Helper()
	return built(t, "KUADRANT_COREDNS", root, "./cmd/coredns")
}

// Kdns returns the path of the command line, as CoreDNS does, with KUADRANT_KDNS.
func Kdns(t testing.TB, root string) string {
	t.Helper()
	return built(t, "KUADRANT_KDNS", root, "./cmd/kdns")
}

// built returns the path of a program: the one named by a variable, else one that it builds.
func built(t testing.TB, variable, root, pkg string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		return Build(t, root, pkg)
	}
	if _, err := os.Stat(path); err != nil { // the look makes go test run again after the program changes
		t.Fatalf("%s names no program to test: %v: run `make build`", variable, err)
	}
	return path
}

// NeedBuilds skips a test that builds a whole server, which takes minutes, unless
// KUADRANT_REQUIRE_BUILDS is set.
func NeedBuilds(t testing.TB) {
	t.Helper()
	if os.Getenv("KUADRANT_REQUIRE_BUILDS") == "" {
		t.Skip("it builds a whole server of its own: `make processes` runs it, or KUADRANT_REQUIRE_BUILDS=1")
	}
}

// Knot is a Knot DNS server that runs until the test ends.
type Knot struct {
	Addr string

	mu  sync.Mutex
	log strings.Builder
}

// Log returns Knot's log so far.
func (k *Knot) Log() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String()
}

// StartKnot starts Knot on a port of 127.0.0.1, in the folder dir. more has sections of its
// configuration beyond the server, the log and the database. The caller checks whether it answers
// yet.
func StartKnot(t testing.TB, dir string, port int, more string) *Knot {
	t.Helper()
	program := Program(t, "knotd", "knot")
	config := filepath.Join(dir, "knot.conf")
	text := fmt.Sprintf(`server:
    rundir: %[1]s
    listen: 127.0.0.1@%[2]d
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stdout
    any: info
database:
    storage: %[1]s
`, dir, port)
	if err := os.WriteFile(config, []byte(text+more), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", config)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &Knot{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			k.mu.Lock()
			k.log.WriteString(lines.Text() + "\n")
			k.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Knot's log:\n%s", k.Log())
		}
	})
	return k
}
