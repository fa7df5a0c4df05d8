package fastpath

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

// Who has answered is shown by the rcode.
const (
	byFast   = dns.RcodeSuccess
	byPassed = dns.RcodeRefused
	byServer = dns.RcodeServerFailure
)

// bind binds a socket as CoreDNS does.
func bind(t testing.TB, addr string) *net.UDPConn {
	t.Helper()
	conn, err := bindTo(addr)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.UDPConn)
}

func bindTo(addr string) (net.PacketConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	network := "udp"
	if strings.HasPrefix(addr, "0.0.0.0") {
		network = "udp4" // as where the system has no IPv6
	}
	return lc.ListenPacket(context.Background(), network, addr)
}

// answers returns a handler that answers with an rcode.
func answers(rcode int) dns.Handler {
	return dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(r, rcode)) })
}

// serveOwn serves on sockets at an address, as CoreDNS, until the test ends.
func serveOwn(t testing.TB, addr string, n int) (at netip.AddrPort, conns []*net.UDPConn) {
	t.Helper()
	for range n {
		conn := bind(t, addr)
		conns, addr = append(conns, conn), conn.LocalAddr().String()
		s := &dns.Server{PacketConn: conn, Handler: answers(byServer), MsgAcceptFunc: acceptAll}
		ended := make(chan error, 1)
		go func() { ended <- s.ActivateAndServe() }()
		t.Cleanup(func() { _ = conn.Close(); <-ended })
	}
	return addrOf(conns[0]), conns
}

// echo answers queries of type A.
type echo struct{ reply dns.Msg }

func (e *echo) Answer(q *Query, _ netip.Addr, out []byte) int {
	if q == nil || q.Msg.Question[0].Qtype != dns.TypeA {
		return 0
	}
	e.reply.SetReply(&q.Msg)
	packed, err := e.reply.PackBuffer(out)
	if err != nil {
		return 0
	}
	return len(packed)
}

// acceptAll has every message get to the handler.
func acceptAll(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }

// fastServer returns a server, and the lines that it says.
func fastServer() (s *Server, said func() string) {
	var mu sync.Mutex
	var lines []string
	s = &Server{
		Answerer: func() Answerer { return new(echo) }, Handler: answers(byPassed), Accept: acceptAll, Lost: func(uint32) {},
		Say: func(line string) { mu.Lock(); defer mu.Unlock(); lines = append(lines, line) },
	}
	said = func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
	return s, said
}

// message returns a query, changed.
func message(change func(*dns.Msg)) *dns.Msg {
	m := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	if change != nil {
		change(m)
	}
	return m
}

// kinds are messages, each with who answers it while the fast path is on.
var kinds = []struct {
	name   string
	change func(*dns.Msg)
	by     int
}{
	{"a query", nil, byFast},
	{"a query with OPT", func(m *dns.Msg) { m.SetEdns0(1232, true) }, byFast},
	{"another type", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeTXT }, byPassed},
	{"another class", func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, byPassed},
	{"a TSIG", func(m *dns.Msg) { m.SetTsig("key.", dns.HmacSHA256, 300, time.Now().Unix()) }, byPassed},
	{"two questions", func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, byPassed},
	{"a NOTIFY", func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }, byPassed},
	{"an UPDATE", func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, byPassed},
	{"an answer section", func(m *dns.Msg) {
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeA, Class: 1}, A: net.IPv4zero}}
	}, byPassed},
}

// clientOf returns a client whose sockets are bound to a loopback address before they are connected: otherwise connecting moves them to
// another list of the kernel, and a lookup that meets one there may not find a server bound to all addresses.
func clientOf(server netip.AddrPort) *dns.Client {
	local := net.IPv6loopback
	if server.Addr().Is4() {
		local = net.IPv4(127, 0, 0, 1)
	}
	return &dns.Client{Timeout: time.Minute, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: local}}}
}

// whoAnswers sends a message from a new socket, and returns who answers.
func whoAnswers(t testing.TB, to netip.AddrPort, change func(*dns.Msg)) int {
	t.Helper()
	c := clientOf(to)
	c.TsigSecret = map[string]string{"key.": "c2VjcmV0"}
	r, _, err := c.Exchange(message(change), to.String())
	if err != nil && !errors.Is(err, dns.ErrNoSig) || r == nil {
		t.Fatal(err)
	}
	return r.Rcode
}

// TestListener: each kind of message gets to whom it should, over IPv4, IPv6 and sockets for all addresses, beside one socket and several.
func TestListener(t *testing.T) {
	for _, c := range []struct {
		bound, asked string
		sockets      int
	}{{"127.0.0.1:0", "127.0.0.1", 1}, {"127.0.0.1:0", "127.0.0.1", 3}, {"[::1]:0", "::1", 1}, {"[::]:0", "::1", 2}, {"[::]:0", "127.0.0.7", 1}, {"0.0.0.0:0", "127.0.0.7", 1}} {
		t.Run(c.bound+" "+c.asked, func(t *testing.T) {
			at, conns := serveOwn(t, c.bound, c.sockets)
			to := netip.AddrPortFrom(netip.MustParseAddr(c.asked), at.Port())
			s, said := fastServer()
			first := Serve(conns, s)
			for range 20 {
				for _, k := range kinds {
					if by := whoAnswers(t, to, k.change); by != k.by {
						t.Errorf("%s is answered by %s, want %s", k.name, dns.RcodeToString[by], dns.RcodeToString[k.by])
					}
				}
			}
			s, _ = fastServer()
			second := Serve(conns, s)
			if first.Release(); whoAnswers(t, to, nil) != byFast {
				t.Error("another server has taken over, and the first one ends it")
			}
			second.Release()
			second.Release() // as by CoreDNS where a reload fails late
			for _, k := range kinds {
				if by := whoAnswers(t, to, k.change); by != byServer {
					t.Errorf("after the end %s is answered by %s", k.name, dns.RcodeToString[by])
				}
			}
			if text := said(); text != "" {
				t.Errorf("said %q", text)
			}
		})
	}
}

// TestAnySocket: slots of a group move when a socket closes, so each socket may get each message: those of the fast path pass on what is
// no plain query, too.
func TestAnySocket(t *testing.T) {
	at, conns := serveOwn(t, "127.0.0.1:0", 1)
	s, _ := fastServer()
	serving := Serve(conns, s)
	t.Cleanup(serving.Release)
	if err := detach(serving.of.held); err != nil { // the kernel chooses
		t.Fatal(err)
	}
	for _, k := range kinds {
		seen := make(map[int]bool)
		for range 1000 {
			if seen[whoAnswers(t, at, k.change)] = true; len(seen) == 2 {
				break
			}
		}
		if ours := k.by == byFast; !seen[byServer] || seen[byFast] != ours || seen[byPassed] == ours {
			t.Errorf("%s is answered by rcodes %v", k.name, seen)
		}
	}
}

// TestFewerSockets: a reload closes sockets of CoreDNS, and those of the fast path get their slots until it looks again.
func TestFewerSockets(t *testing.T) {
	at, conns := serveOwn(t, "127.0.0.1:0", 3)
	s, said := fastServer()
	first, second := Serve(conns, s), Serve(conns[:1], s)
	for _, conn := range conns[1:] {
		_ = conn.Close()
	}
	first.Release()
	second.of.watch()
	for range 20 {
		for _, k := range kinds {
			if by := whoAnswers(t, at, k.change); by != k.by {
				t.Errorf("%s is answered by %s", k.name, dns.RcodeToString[by])
			}
		}
	}
	if second.Release(); whoAnswers(t, at, nil) != byServer || said() != "" {
		t.Errorf("no end, or said %q", said())
	}
}

// TestNothingIsLost: servers that take over from each other, and the end and the beginning of the fast path lose no query. The kernel
// gives sockets that close what it should not: without hide, about one end in four hundred loses one.
func TestNothingIsLost(t *testing.T) {
	for _, bound := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		t.Run(bound, func(t *testing.T) {
			at, conns := serveOwn(t, bound, 2)
			done := askOn(t, at)
			for range 20 {
				s, _ := fastServer()
				first := Serve(conns, s)
				awaitMore(t, &fast)
				s, _ = fastServer()
				second := Serve(conns, s)
				first.Release() // second has taken over
				awaitMore(t, &fast)
				second.Release()
				awaitMore(t, &asked)
			}
			done()
		})
	}
}

// TestAddressCloses: CoreDNS closes its socket at an address, and loses no message: as in a reload that binds to all addresses, or to the
// same one anew, with a plugin that the fast path does not know.
func TestAddressCloses(t *testing.T) {
	for i := range 20 {
		at, conns := serveOwn(t, "127.0.0.1:0", 1)
		next := at
		if i%2 == 0 {
			next = netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
		}
		s, _ := fastServer()
		serving := Serve(conns, s)
		done := askOn(t, at)
		awaitMore(t, &fast)
		serveOwn(t, next.String(), 1)
		_ = conns[0].Close()
		for _, k := range kinds {
			if by := whoAnswers(t, at, k.change); by != k.by && (next != at || by != byServer) { // the new one, or a look sees it
				t.Errorf("%s is answered by %s", k.name, dns.RcodeToString[by])
			}
		}
		serving.Release()
		if by := whoAnswers(t, at, nil); by != byServer {
			t.Errorf("after the end %s answers", dns.RcodeToString[by])
		}
		awaitMore(t, &asked)
		done()
	}
}

// TestBoundAnew: a reload binds the address anew, as where the Corefile spells it otherwise. The fast path is off until CoreDNS closes the
// socket before.
func TestBoundAnew(t *testing.T) {
	at, old := serveOwn(t, "127.0.0.1:0", 1)
	s, _ := fastServer()
	first := Serve(old, s)
	_, conns := serveOwn(t, at.String(), 1)
	s, said := fastServer()
	second := Serve(conns, s)
	defer second.Release()
	for _, k := range kinds {
		if by := whoAnswers(t, at, k.change); by != byServer {
			t.Errorf("%s is answered by %s", k.name, dns.RcodeToString[by])
		}
	}
	_ = old[0].Close()
	first.Release()
	second.of.watch()
	for _, k := range kinds {
		if by := whoAnswers(t, at, k.change); by != k.by {
			t.Errorf("at the end %s is answered by %s", k.name, dns.RcodeToString[by])
		}
	}
	off := "fast-udp: off at " + at.String() + ": another socket has this address, of another process or of CoreDNS before a reload; the fast path resumes when it closes"
	if text := said(); text != off+"\nfast-udp: on at "+at.String() {
		t.Errorf("said %q", text)
	}
}

// TestUpgrade: at SIGUSR2, CoreDNS's sockets get everything, which a new process reads from then on, and no query is lost.
func TestUpgrade(t *testing.T) {
	at, conns := serveOwn(t, "127.0.0.1:0", 1)
	s, said := fastServer()
	serving := Serve(conns, s)
	done := askOn(t, at)
	awaitMore(t, &fast)
	if err := unix.Kill(os.Getpid(), unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	for range 60_000 {
		if said() != "" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if text := said(); text != "fast-udp: off at "+at.String()+": SIGUSR2 starts a new process; if that fails, a reload turns it on again" || whoAnswers(t, at, nil) != byServer {
		t.Errorf("said %q, or still on", text)
	}
	done()
	serving.Release()
	serving = Serve(conns, s)
	defer serving.Release()
	if by := whoAnswers(t, at, nil); by != byFast {
		t.Errorf("after a reload %s answers", dns.RcodeToString[by])
	}
}

// awaitMore waits until a count has grown.
func awaitMore(t *testing.T, n *atomic.Int64) {
	t.Helper()
	for before := n.Load(); n.Load() < before+50 && !t.Failed(); {
		time.Sleep(time.Millisecond)
	}
}

// asked counts the replies to the clients of askOn, fast those of the fast path.
var asked, fast atomic.Int64

// askOn has clients ask until done is called. None may stay without an answer.
func askOn(t *testing.T, at netip.AddrPort) (done func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			c := clientOf(at)
			for ctx.Err() == nil {
				r, _, err := c.Exchange(message(nil), at.String())
				if err != nil {
					t.Error(err)
					return
				}
				if asked.Add(1); r.Rcode == byFast {
					fast.Add(1)
				}
			}
		})
	}
	return func() { stop(); clients.Wait() }
}

// held answers once a channel is closed, and counts.
type held struct {
	echo
	until    <-chan struct{}
	answered *atomic.Int64
}

func (h *held) Answer(q *Query, from netip.Addr, out []byte) int {
	<-h.until
	h.answered.Add(1)
	return h.echo.Answer(q, from, out)
}

// plainClient returns a connection to an address, until the test ends, and a query to write.
func plainClient(t *testing.T, at netip.AddrPort) (conn net.Conn, query []byte) {
	t.Helper()
	conn, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	query, err = message(nil).Pack()
	if err != nil {
		t.Fatal(err)
	}
	return conn, query
}

// TestLost: what the kernel drops while no worker reads is counted: of all that was sent, the rest is answered.
func TestLost(t *testing.T) {
	at, conns := serveOwn(t, "127.0.0.1:0", 1)
	s, _ := fastServer()
	var answered, lost atomic.Int64
	until := make(chan struct{})
	s.Answerer = func() Answerer { return &held{until: until, answered: &answered} }
	s.Lost = func(n uint32) { lost.Add(int64(n)) }
	serving := Serve(conns, s)
	t.Cleanup(serving.Release)
	for _, w := range serving.of.workers {
		if err := w.conn.SetReadBuffer(1 << 16); err != nil {
			t.Fatal(err)
		}
	}
	conn, query := plainClient(t, at)
	sent := int64(0)
	for ; sent < 30_000; sent++ {
		if sent == 5000 {
			close(until)
		}
		if sent > 5000 { // a worker learns of it with the next message
			time.Sleep(time.Millisecond)
			if lost.Load() > 0 && answered.Load()+lost.Load() == sent {
				return
			}
		}
		if _, err := conn.Write(query); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("%d sent, %d answered, %d lost", sent, answered.Load(), lost.Load())
}

// ready answers each query with the same octets.
type ready struct{}

func (ready) Answer(_ *Query, _ netip.Addr, out []byte) int { return copy(out, "an answer") }

// TestWorkerAllocations: a worker reads, answers and writes without allocations, from an address and from all.
func TestWorkerAllocations(t *testing.T) {
	for _, bound := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		conn := bind(t, bound)
		defer conn.Close()
		raw, err := conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		w := &worker{of: &listener{addr: addrOf(conn), now: &Serving{Server: &Server{Answerer: func() Answerer { return ready{} }}}}, conn: conn, raw: raw}
		if err := with(conn, w.prepare); err != nil {
			t.Fatal(err)
		}
		client, query := plainClient(t, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), w.of.addr.Port()))
		b, in := newBatch(), make([]byte, replySize)
		read, write := b.read, b.write
		if n := testing.AllocsPerRun(100, func() {
			for range 10 {
				_, _ = client.Write(query)
			}
			for answered := 0; answered < 10; answered += b.n {
				if err := raw.Read(read); err != nil {
					t.Fatal(err)
				}
				w.answer(b, write)
			}
			for range 10 {
				if n, err := client.Read(in); err != nil || string(in[:n]) != "an answer" {
					t.Fatalf("%q, %v", in[:n], err)
				}
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for ten queries", bound, n)
		}
		delete(own, w.inode)
	}
}

// TestTooFewDescriptors: where no socket can be opened, CoreDNS's sockets get everything, one line says so, and the fast path begins when
// it can.
func TestTooFewDescriptors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // two sockets are wanted
	at, conns := serveOwn(t, "127.0.0.1:0", 2)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	s, said := fastServer()
	few := limit
	few.Cur = 0
	for free := 0; free < 2; few.Cur++ { // a copy of CoreDNS's socket, and one of two; before that, /proc
		if _, err := unix.FcntlInt(uintptr(few.Cur), unix.F_GETFD, 0); err != nil {
			free++
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	serving := Serve(conns, s)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serving.Release)
	if text := said(); text != "fast-udp: off at "+at.String()+": open a socket: listen udp4 "+at.String()+": socket: too many open files" {
		t.Errorf("said %q", text)
	}
	for range 240 {
		if whoAnswers(t, at, nil) == byFast {
			return
		}
		time.Sleep(lookAgain / 4)
	}
	t.Error("it never begins")
}

// isOff checks that the fast path is off at CoreDNS's sockets: one line says why, and they get everything.
func isOff(t *testing.T, at netip.AddrPort, conns []*net.UDPConn, why string) {
	t.Helper()
	s, said := fastServer()
	serving := Serve(conns, s)
	for range 2 { // it tries again
		serving.of.watch()
		for _, k := range kinds {
			if by := whoAnswers(t, at, k.change); by != byServer {
				t.Errorf("%s is answered by %s", k.name, dns.RcodeToString[by])
			}
		}
	}
	serving.Release()
	if text, want := said(), "fast-udp: off at "+at.String()+": "+why; text != want {
		t.Errorf("said %q, want %q", text, want)
	}
}

// TestLinkLocal: the system's list of sockets has no interfaces.
func TestLinkLocal(t *testing.T) {
	l := listener{addr: netip.MustParseAddrPort("[fe80::1%lo]:53")}
	if err := l.open(); err == nil || !strings.Contains(err.Error(), "link-local addresses") {
		t.Error(err)
	}
}

// TestNoFilter: the kernel refuses the filter.
func TestNoFilter(t *testing.T) {
	at, conns := serveOwn(t, "127.0.0.1:0", 1)
	if err := with(conns[0], func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1) }); err != nil {
		t.Fatal(err)
	}
	isOff(t, at, conns, "attach a filter: operation not permitted")
}

// sandbox is set in the process that TestSandbox starts.
const sandbox = "FASTPATH_TEST_SANDBOX"

// TestSandbox: a sandbox refuses sendmmsg.
func TestSandbox(t *testing.T) {
	if os.Getenv(sandbox) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSandbox$")
		cmd.Env = append(os.Environ(), sandbox+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	program := []unix.SockFilter{ // of seccomp(2): it sees the number of a call at offset 0
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SENDMMSG, Jf: 1},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})))
	if err != 0 {
		t.Skip("no seccomp here:", err)
	}
	at, conns := serveOwn(t, "127.0.0.1:0", 1)
	isOff(t, at, conns, "open a socket: listen udp4 "+at.String()+": sendmmsg: operation not permitted")
}

// other is set in the process that TestOtherProcess starts: the address to bind.
const other = "FASTPATH_TEST_BIND"

func TestMain(m *testing.M) {
	if addr := os.Getenv(other); addr != "" {
		os.Exit(serveOther(addr))
	}
	os.Exit(m.Run())
}

// serveOther serves at an address until the end of the input, with the fast path as far as the test's own process leaves it room.
func serveOther(addr string) int {
	conn, err := bindTo(addr)
	if err != nil {
		return 1
	}
	s := &dns.Server{PacketConn: conn, Handler: answers(byServer)}
	ended := make(chan error, 1)
	go func() { ended <- s.ActivateAndServe() }()
	fast, _ := fastServer()
	serving := Serve([]*net.UDPConn{conn.(*net.UDPConn)}, fast)
	_, _ = os.Stdout.WriteString("bound\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	serving.Release()
	serving.Leave()
	if s.Shutdown() != nil || <-ended != nil {
		return 1
	}
	return 0
}

// TestOtherProcess: while another process is bound to the address, the kernel chooses among its sockets and CoreDNS's, and one line says
// so, as another one does at the end. It comes and goes, and no query is lost.
func TestOtherProcess(t *testing.T) {
	for _, bound := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		t.Run(bound, func(t *testing.T) {
			t.Parallel()
			at, conns := serveOwn(t, bound, 1)
			s, said := fastServer()
			t.Cleanup(Serve(conns, s).Release)
			await := func(by int, lines string) {
				t.Helper()
				for range 240 {
					if whoAnswers(t, at, nil) == by && said() == lines {
						return
					}
					time.Sleep(lookAgain / 4)
				}
				t.Errorf("never answered by %s; said %q", dns.RcodeToString[by], said())
			}
			await(byFast, "")
			done := askOn(t, at)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), other+"="+at.String())
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			line := "fast-udp: off at " + at.String() + ": another socket has this address, of another process or of CoreDNS before a reload; the fast path resumes when it closes"
			await(byServer, line)
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			await(byFast, line+"\nfast-udp: on at "+at.String())
			done()
		})
	}
}
