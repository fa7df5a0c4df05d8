// Package kubetest runs a real Kubernetes API server for tests: the binary of tools/kube-apiserver,
// which `make kube-apiserver` builds. Each server is a separate process on loopback, in a directory
// that is removed with the test.
package kubetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// readyDeadline allows for a cold start on a busy machine; a warm start takes 3 s.
	readyDeadline = 90 * time.Second
	// endDeadline allows for the API server's own grace periods.
	endDeadline = 30 * time.Second
)

// Server is one API server. Its methods belong to the test's goroutine.
type Server struct {
	// Config is that of user admin, who may do anything, without a rate limit. Copy it before you
	// change it.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same access.
	Kubeconfig string

	binary  string
	dir     string
	port    string // "" until the first start
	args    []string
	process *process
	clients *clients

	installing sync.Mutex // guards installed
	installed  map[CRDs]bool
}

// Start runs a server that ends with the test. If the binary is missing, it skips the test, or
// fails it if the environment has CI=true or KUADRANT_REQUIRE_KUBE=1. KUADRANT_KUBE_APISERVER names
// a binary other than build/bin/kube-apiserver.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := newServer(requireBinary(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill) // nobody needs its data any more, and a graceful stop waits for clients
	return s
}

// requireBinary returns the path of the server's binary.
func requireBinary(t testing.TB) string {
	t.Helper()
	return Tool(t, "KUADRANT_KUBE_APISERVER", "kube-apiserver", "kube-apiserver", "KUADRANT_REQUIRE_KUBE")
}

// ModuleRoot returns the directory of this module's go.mod, searched upwards from the working
// directory, which for a test is that of its package.
func ModuleRoot() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		break
	}
	return "."
}

func newServer(binary, dir string) (*Server, error) {
	s := &Server{binary: binary, dir: dir, installed: make(map[CRDs]bool)}
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

// start runs the process and waits until it answers.
func (s *Server) start() error {
	var p *process
	var err error
	// Retry: another process may have taken a port that was free a moment ago, and on an overloaded
	// machine the API server gives up by itself.
	for range 3 {
		if p, err = run(s.binary, s.dir, s.port, s.args...); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	s.process, s.Kubeconfig = p, p.kubeconfig
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err == nil {
		config.QPS = -1 // no limit
		config.WarningHandler = rest.NoWarnings{}
		s.Config = config
		_, s.port, _ = strings.Cut(strings.TrimPrefix(config.Host, "https://"), ":")
		s.clients, err = newClients(config)
	}
	if err != nil {
		p.end(syscall.SIGKILL)
		return fmt.Errorf("use the API server's kubeconfig: %w", err)
	}
	return nil
}

// Second starts another API server with the same objects, which ends with the test. The first one must outlive it.
func (s *Server) Second(t testing.TB) *Server {
	t.Helper()
	second := &Server{binary: s.binary, dir: s.dir, args: []string{"-second"}, installed: s.installed}
	if err := second.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	return second
}

// Stop ends the server gracefully. It does nothing if the server has ended.
func (s *Server) Stop() { s.process.end(syscall.SIGTERM) }

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() { s.process.end(syscall.SIGKILL) }

// Freeze suspends the server's process: connections stay open, and nothing answers. Thaw resumes
// it; a test must call it before it stops the server gracefully.
func (s *Server) Freeze() error { return s.process.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (s *Server) Thaw() error { return s.process.cmd.Process.Signal(syscall.SIGCONT) }

// Restart ends the server, unless it has ended already, and starts it again in the same directory,
// with the same address, credentials and objects.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Backup saves etcd's data, for which it restarts the server, and returns a function that restores
// them: later writes are lost then, and resource versions continue from the older ones.
func (s *Server) Backup(t testing.TB) (restore func()) {
	t.Helper()
	data, kept := filepath.Join(s.dir, "etcd"), filepath.Join(t.TempDir(), "etcd")
	move := func(from, to string) {
		t.Helper()
		s.Kill() // a graceful stop waits long for clients, and etcd needs none
		err := os.RemoveAll(to)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(from))
		}
		if err == nil {
			err = s.start()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	move(data, kept)
	return func() {
		t.Helper()
		move(kept, data)
	}
}

// process is one run of the server.
type process struct {
	cmd        *exec.Cmd
	stdin      io.Closer // closing it ends the process
	kubeconfig string
	done       chan struct{} // closed when the process has ended
	err        error         // how it ended, valid once done is closed
}

// run starts the binary and waits for its line that says it is ready.
func run(binary, dir, port string, args ...string) (*process, error) {
	cmd := exec.Command(binary, append([]string{"-dir", dir, "-with-parent"}, args...)...)
	if port != "" {
		cmd.Args = append(cmd.Args, "-port", port)
	}
	// It lives for seconds; at the default, garbage collection would be a sixth of its start.
	cmd.Env = append(os.Environ(), "GOGC=200")
	var stderr strings.Builder // one line from the binary itself; the rest goes to a file
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Use a pipe of our own: Wait closes the one of package os/exec, which must not happen during a
	// read.
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := stdout.SetReadDeadline(time.Now().Add(readyDeadline)); err != nil {
		p.end(syscall.SIGKILL)
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.end(syscall.SIGTERM)
		return nil, fmt.Errorf("%w, %w: %s\n%s", err, errors.Join(p.err, errNotReady), stderr.String(), tail(filepath.Join(dir, "log")))
	}
	p.kubeconfig = strings.TrimSuffix(line, "\n")
	return p, nil
}

var errNotReady = fmt.Errorf("the API server was not ready in %s", readyDeadline)

// end sends the signal and waits until the process has ended.
func (p *process) end(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal) // it may have ended
	_ = p.stdin.Close()
	timer := time.NewTimer(endDeadline)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// tail returns the end of a log.
func tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	const most = 4 << 10
	return string(b[max(0, len(b)-most):])
}

var shared struct {
	sync.Mutex
	server *Server
	dir    string
	err    error
}

// Shared returns a server for all tests of the binary, started by the first call. The package's
// TestMain must call Main. Tests use namespaces of their own (Server.Namespace).
func Shared(t testing.TB) *Server {
	t.Helper()
	binary := requireBinary(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		if shared.dir, shared.err = os.MkdirTemp("", "kubetest"); shared.err == nil {
			shared.server, shared.err = newServer(binary, shared.dir)
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Main runs the tests of a package and ends the shared server. A package that
// uses Shared has `func TestMain(m *testing.M) { kubetest.Main(m) }`.
func Main(m *testing.M) {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}
