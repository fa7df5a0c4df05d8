package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// childEnv is the variable that makes the test binary one of children instead.
const childEnv = "KUADRANT_HEALTH_CHILD"

// children are processes with surroundings that a test cannot give itself. They
// return their exit code.
var children = make(map[string]func() int)

// TestMain also lets a test begin again as another process, and looks at what
// the tests leave behind: no goroutine.
func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		os.Exit(child())
	}
	code := m.Run()
	if left := leftovers(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftovers returns the stacks of the goroutines that remain beside the caller,
// once those that are ending have ended.
func leftovers() (left string) {
	for range 1000 {
		left = ""
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for i, stack := range strings.Split(string(stacks), "\n\n") {
			// The first is our own. Some of the testing and of the fuzzing machinery
			// goes on.
			if i > 0 && !strings.Contains(stack, "created by testing.") && !strings.Contains(stack, "os/signal.") &&
				!strings.Contains(stack, "internal/fuzz.") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// hangs are targets of all protocols on servers that never come to an end, and
// count the connections that they have.
func hangs(t *testing.T) (all []*Target, conns *atomic.Int32) {
	conns = new(atomic.Int32)
	add := func(p Protocol, talk func(net.Conn)) {
		target := at(p, raw(t, func(conn net.Conn) {
			conns.Add(1)
			talk(conn)
		}))
		target.Insecure, target.Cell, target.Interval = true, new(Cell), time.Second
		target.FailureThreshold, target.SuccessThreshold = 1, 1
		target.Path += fmt.Sprint(len(all))
		all = append(all, target)
	}
	headers := func(conn net.Conn) { // of HTTP/2, and never an answer
		_ = http2.NewFramer(conn, nil).WriteSettings()
		silent(conn)
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, p := range []Protocol{HTTP, HTTPS, GRPC, GRPCS} {
		add(p, silent)
	}
	for _, p := range []Protocol{HTTPS, GRPCS} {
		add(p, secured(silent, "h2"))
		add(p, secured(headers, "h2"))
	}
	add(GRPC, headers)
	for p, through := range map[Protocol]func(func(net.Conn), ...string) func(net.Conn){
		HTTP: func(talk func(net.Conn), _ ...string) func(net.Conn) { return talk }, HTTPS: secured,
	} {
		add(p, through(repeats(ok, "X: x\r\n", 10*time.Millisecond)))
		add(p, through(repeats("", "HTTP/1.1 103 Early Hints\r\n\r\n", 10*time.Millisecond)))
		add(p, through(repeats(ok+"\r\n", "x", 10*time.Millisecond)))
	}
	return all, conns
}

// TestRunEnds: a Prober ends with its context, whatever its checks wait for, and
// leaves no connection.
func TestRunEnds(t *testing.T) {
	all, conns := hangs(t)
	hostname := at(HTTP, 80)
	hostname.Address, hostname.Cell = "resolver.example.com", new(Cell)
	for i := range append(all, hostname) {
		if i < len(all) {
			all[i].Timeout = time.Hour
		}
	}
	p := NewProber(Options{Guard: Guard{Allow: loopback.Allow, DenyHosts: []string{"api.example.com"}}})
	looking := make(chan struct{}, 10)
	c := newConnector(loopback)
	c.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
		looking <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	p.run = c.run
	p.hosts.lookup = func(ctx context.Context, _, host string) ([]netip.Addr, error) { return c.lookup(ctx, host) }
	p.Follow(targets(append(all, hostname)...), nil)
	stop := running(t, p)
	for int(conns.Load()) < len(all) {
		time.Sleep(time.Millisecond) // until each has a connection
	}
	<-looking
	<-looking
	stop() // else the test never ends
	if p.running != 0 || p.queued() != len(all)+1 {
		t.Errorf("%d checks run, %d are in the queue", p.running, p.queued())
	}
	for _, target := range all {
		if w := target.Cell.Load(); w != 0 {
			t.Errorf("%s: word %x", target.URL(), w)
		}
	}
}

// TestChecksLeaveNothing: thousands of checks of servers that never come to an
// end leave no goroutine, no file descriptor and no memory.
func TestChecksLeaveNothing(t *testing.T) {
	all, conns := hangs(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what finalizers held
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // not on this system
		}
		return len(list)
	}
	c := newConnector(loopback)
	round := func(checks int) {
		var running sync.WaitGroup
		for worker := range 64 {
			running.Go(func() {
				for i := range checks / 64 {
					target := *all[(worker+i)%len(all)]
					target.Timeout = 50 * time.Millisecond
					if o := c.run(t.Context(), &target); o.Reason == Good || o.Reason == Interrupted {
						t.Errorf("%s: %v", target.URL(), o.Reason)
					}
				}
			})
		}
		running.Wait()
	}
	// await waits until n is at most what it was, or fails.
	await := func(what string, n func() int, most int) {
		for range 1000 {
			if n() <= most {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%d %s, want at most %d", n(), what, most)
	}
	routines, open := runtime.NumGoroutine(), descriptors()
	round(320) // pools and caches fill
	await("goroutines", runtime.NumGoroutine, routines)
	await("file descriptors", descriptors, open)
	before := heap()
	round(3200)
	await("goroutines", runtime.NumGoroutine, routines)
	await("file descriptors", descriptors, open)
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d KiB in use after the checks, %d before", after>>10, before>>10)
	}
	if n := conns.Load(); n < 3000 {
		t.Errorf("only %d connections", n)
	}
}
