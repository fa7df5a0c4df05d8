package kube

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// process is a CoreDNS in a separate process. Its address and directory stay while processes are
// replaced. Its methods belong to the test's goroutine.
type process struct {
	addr string
	dir  string
	cmd  *exec.Cmd // nil while there is none
	// era is incremented at each end and each return: it is odd while the process need not answer.
	era atomic.Int64
}

// newProcess returns the place for a process. Its port is not one that the system gives to clients,
// so that nobody takes it between two processes.
func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{addr: fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t)), dir: t.TempDir()}
	p.era.Store(1)
	t.Cleanup(func() {
		if p.cmd != nil {
			p.end(syscall.SIGKILL)
		}
		if log := p.printed(t); t.Failed() {
			t.Logf("%s printed\n%s", p.addr, log)
		} else if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			t.Errorf("%s printed\n%s", p.addr, log)
		}
	})
	return p
}

// printed returns the output of its processes, without the many lines about transfers.
func (p *process) printed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	var all strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "Outgoing transfer of") && !strings.Contains(line, " AXFR: ") {
			all.WriteString(line)
		}
	}
	return all.String()
}

// start runs a binary in the place, with a Corefile that has body in one server block for the
// zones. The process must answer once serves has been called.
func (p *process) start(t *testing.T, binary, zones, body string) {
	t.Helper()
	file := filepath.Join(p.dir, "Corefile")
	boottest.WriteFile(t, file, fmt.Sprintf("%s {\nbind 127.0.0.1\n%s\n}\n", zones, body))
	out, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_, port, _ := strings.Cut(p.addr, ":")
	p.cmd = exec.Command(binary, "-conf", file, "-dns.port", port)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// serves says that the process must answer from now on.
func (p *process) serves() { p.era.Add(1) }

// end ends the process with a signal, and waits for its end. From then on it need not answer.
func (p *process) end(signal os.Signal) {
	if p.era.Load()%2 == 0 {
		p.era.Add(1)
	}
	_ = p.cmd.Process.Signal(signal)
	_ = p.cmd.Wait()
	p.cmd = nil
}

// ask returns the addresses or texts of the answer, or its rcode, or "" if there is none.
func (p *process) ask(name string, qtype uint16) string {
	m, _, err := (&dns.Client{Timeout: 10 * time.Second}).Exchange(boottest.Question(name, qtype), p.addr)
	if err != nil {
		return ""
	}
	return answerOf(m)
}

// answerOf returns the addresses or texts of a reply, sorted, or its rcode.
func answerOf(m *dns.Msg) string {
	var all []string
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *dns.A:
			all = append(all, rr.A.String())
		case *dns.TXT:
			all = append(all, strings.Join(rr.Txt, ""))
		}
	}
	if len(all) == 0 {
		return dns.RcodeToString[m.Rcode]
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// expects waits until the process gives the wanted answer.
func (p *process) expects(t *testing.T, name string, want ...string) {
	t.Helper()
	got := ""
	boottest.WaitOr(t, func() string {
		return fmt.Sprintf("%s: %s is answered with %q, want one of %q", p.addr, name, got, want)
	},
		func() bool { got = p.ask(name, dns.TypeA); return slices.Contains(want, got) })
}

// faults collects what goroutines find wrong, each once, up to a limit.
type faults struct {
	mu  sync.Mutex
	all []string
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := " " + fmt.Sprintf(format, args...)
	if len(f.all) < 20 && !slices.ContainsFunc(f.all, func(s string) bool { return strings.HasSuffix(s, text) }) {
		f.all = append(f.all, time.Now().UTC().Format("15:04:05.000")+text)
	}
}

// report fails the test if there are faults.
func (f *faults) report(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.all {
		t.Error(text)
	}
}

// resolver is a client that knows all processes. It queries each of them all the time, and tries
// the next one if the one it asked has ended.
type resolver struct {
	processes []*process
	faults
	stop func()
	n    atomic.Int64
}

// resolve starts to query names, each with its right answers, and the serials of zones, which must
// not go back.
func resolve(t *testing.T, processes []*process, right map[string][]string, zones ...string) *resolver {
	t.Helper()
	r := &resolver{processes: processes}
	end := make(chan struct{})
	var running sync.WaitGroup
	r.stop = sync.OnceFunc(func() {
		close(end)
		running.Wait()
	})
	t.Cleanup(r.stop)
	names := slices.Collect(maps.Keys(right))
	for i, p := range processes {
		running.Go(func() {
			pace := time.NewTicker(4 * time.Millisecond)
			defer pace.Stop()
			newest := make(map[string]uint32)
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				case <-pace.C:
				}
				if n%4 == 0 && len(zones) > 0 {
					zone := zones[n/4%len(zones)]
					newest[zone] = r.serial(p, zone, newest[zone])
				}
				name := names[n%len(names)]
				r.resolve(i, name, right[name])
				r.n.Add(1)
			}
		})
	}
	return r
}

// serial queries a process that must answer for the serial of a zone, and returns it.
func (r *resolver) serial(p *process, zone string, newest uint32) uint32 {
	m, _, err := boottest.Client("").Exchange(boottest.Question(zone, dns.TypeSOA), p.addr)
	if err != nil || boottest.SerialOf(m) == 0 {
		r.add("SOA of %s: %v, %v", zone, err, m)
		return newest
	}
	serial := boottest.SerialOf(m)
	if newest != 0 && int32(serial-newest) < 0 {
		r.add("the serial of %s goes back from %d to %d", zone, newest, serial)
	}
	return serial
}

// resolve queries a name, first at process i.
func (r *resolver) resolve(i int, name string, right []string) {
	var tried []string
	for n := range r.processes {
		p := r.processes[(i+n)%len(r.processes)]
		era := p.era.Load()
		got := p.ask(name, dns.TypeA)
		if slices.Contains(right, got) {
			return
		}
		excused := era%2 == 1 || p.era.Load() != era
		tried = append(tried, fmt.Sprintf("%s: %q", p.addr, got))
		if !excused || got != "" && got != dns.RcodeToString[dns.RcodeServerFailure] {
			break // a resolver accepts any reply, and a running process must know the answer
		}
	}
	r.add("%s is answered with %s, want one of %q", name, strings.Join(tried, ", then "), right)
}

// check ends the queries, and fails the test if one had a wrong answer.
func (r *resolver) check(t *testing.T) {
	t.Helper()
	boottest.WaitFor(t, "20 answers", func() bool { return r.n.Load() >= 20 })
	r.stop()
	r.report(t)
	t.Logf("%d questions", r.n.Load())
}
