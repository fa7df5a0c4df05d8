package browser

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// target is a server that is checked, and can be switched off.
type target struct {
	addr   string
	server *http.Server
}

// newTargets returns targets at addresses, with one free port, all of them on.
func newTargets(t *testing.T, addresses ...string) (all []*target, port int) {
	t.Helper()
	port = peertest.FreePort(t)
	for _, a := range addresses {
		one := &target{addr: fmt.Sprintf("%s:%d", a, port)}
		one.on(t)
		t.Cleanup(one.off)
		all = append(all, one)
	}
	return all, port
}

// on makes the target answer.
func (o *target) on(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		t.Fatal(err)
	}
	o.server = &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func(s *http.Server) { _ = s.Serve(l) }(o.server)
}

// off closes the target's listener and all its connections.
func (o *target) off() { _ = o.server.Close() }

// server is a CoreDNS with a console, and a directory of manifests for each cluster. Its methods
// belong to the test's goroutine.
type server struct {
	t    *testing.T
	dir  string
	dns  string // its address
	base string // the console's URL, without a final slash
	cmd  *exec.Cmd
}

// clusters are the names of the directories.
var clusters = []string{"eu", "na", "as", "sa"}

// newServer returns a server that is not started yet. console is the rest of the Corefile's console
// line.
func newServer(t *testing.T, console string) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), dns: fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))}
	address := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	s.base = "http://" + address
	geo, err := filepath.Abs("../../examples/geo.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	text := "k.example.com {\nbind 127.0.0.1\nerrors\nkuadrant {\n"
	for _, c := range clusters {
		if err := os.Mkdir(filepath.Join(s.dir, c), 0o700); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("manifests %s\n", filepath.Join(s.dir, c))
	}
	text += fmt.Sprintf("geoip %s\nprobe-allow 127.0.0.16/28\nnameserver ns1.k.example.com 127.0.0.1\nconsole %s %s\n}\n}\n", geo, address, console)
	s.write("Corefile", text)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.end()
		}
		log := s.log()
		if strings.Contains(log, "panic") || strings.Contains(log, "please report") {
			t.Errorf("the server printed\n%s", log)
		} else if t.Failed() {
			t.Logf("the server printed\n%s", log)
		}
	})
	return s
}

// write writes a file in the server's directory, atomically.
func (s *server) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// remove removes a file from the server's directory.
func (s *server) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// start runs the server, and returns once it answers for name.
func (s *server) start(name string) {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	_, port, _ := strings.Cut(s.dns, ":")
	s.cmd = exec.Command(coredns, "-conf", filepath.Join(s.dir, "Corefile"), "-dns.port", port)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	boottest.WaitOr(s.t, func() string { return name + " is not answered" }, func() bool {
		m, err := s.ask(name, "")
		return err == nil && len(m.Answer) > 0
	})
}

// log returns the server's output so far.
func (s *server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}

// end kills the server.
func (s *server) end() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// ask queries the addresses of a name, with a client subnet unless that is "".
func (s *server) ask(name, subnet string) (*dns.Msg, error) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), dns.TypeA)
	m.SetEdns0(1232, false)
	if subnet != "" {
		_, n, err := net.ParseCIDR(subnet)
		if err != nil {
			return nil, err
		}
		ones, _ := n.Mask.Size()
		m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(ones), Address: n.IP.To4()})
	}
	r, _, err := (&dns.Client{Timeout: 20 * time.Second}).Exchange(m, s.dns)
	return r, err
}

// get returns the console's answer, without a browser. It retries if the request limit is reached.
func (s *server) get(path string) (text string) {
	s.t.Helper()
	boottest.WaitOr(s.t, func() string { return text }, func() bool {
		r, err := http.Get(s.base + path)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(body)
		return r.StatusCode != http.StatusTooManyRequests
	})
	return text
}
