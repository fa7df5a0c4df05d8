package fastpath

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listeners are those of this process, by address: a group of sockets has one program. The lock guards what is in them, and own.
var listeners = struct {
	sync.Mutex
	all map[netip.AddrPort]*listener
}{all: make(map[netip.AddrPort]*listener)}

// own holds the inodes of this process's sockets, including CoreDNS's that are closed since.
var own = make(map[string]bool)

// listener is the sockets at an address.
type listener struct {
	addr    netip.AddrPort
	serving []*Serving // until Release
	using   sync.RWMutex
	now     *Serving // a worker holds using while it uses it
	conns   []*net.UDPConn
	held    int      // a descriptor of the first of them, which CoreDNS may close; -1 for none
	group   int      // how many sockets the group has before those of workers
	seen    []string // inodes of all sockets, as long as nothing changes; nil to try again
	workers []*worker
	said    string
}

// Serving is a server that answers at an address, with what passes messages on to it.
type Serving struct {
	*Server
	*passer
	of *listener
}

// lookAgain is how often the sockets at an address are counted: those of another process turn the fast path off.
const lookAgain = time.Second

// Serve has a server answer at an address, until Release. conns are all of CoreDNS's sockets there, at least one, bound with SO_REUSEPORT.
// The server takes over from the one before without a pause. If the fast path cannot be used, Say gets the reason, and CoreDNS's sockets
// get everything.
func Serve(conns []*net.UDPConn, s *Server) *Serving {
	for _, conn := range conns {
		Prepare(conn) // for the next reload
	}
	listeners.Lock()
	defer listeners.Unlock()
	addr := addrOf(conns[0])
	l := listeners.all[addr]
	if l == nil {
		l = &listener{addr: addr, held: -1}
		listeners.all[addr] = l
		time.AfterFunc(lookAgain, l.watch)
		awaitUpgrade()
	}
	serving := &Serving{Server: s, passer: newPasser(s, addr), of: l}
	l.serving, l.conns = append(l.serving, serving), conns
	l.using.Lock() // no worker uses the one before from now on
	l.now = serving
	l.using.Unlock()
	_ = l.hold() // open tries again
	if len(l.workers) == 0 {
		l.seen = nil // what seemed to be of another process may be one of conns
	}
	l.look()
	return serving
}

// Release ends Serve. If another server has taken over, it waits for the messages passed on to this one; otherwise it closes the sockets.
// It may be called twice.
func (s *Serving) Release() {
	listeners.Lock()
	defer listeners.Unlock()
	l := s.of
	if l.now == s && listeners.all[l.addr] == l {
		l.end()
	}
	l.serving = slices.DeleteFunc(l.serving, func(one *Serving) bool { return one == s })
	s.shutdown()
}

// end closes the sockets for good.
func (l *listener) end() {
	delete(listeners.all, l.addr)
	l.close()
	_ = unix.Close(l.held)
}

// awaitUpgrade ends all listeners at SIGUSR2: CoreDNS then hands its sockets to a new process, and ends without a word.
var awaitUpgrade = sync.OnceFunc(func() {
	upgrade := make(chan os.Signal, 1)
	signal.Notify(upgrade, unix.SIGUSR2)
	go func() {
		for range upgrade {
			listeners.Lock()
			for _, l := range listeners.all {
				l.end()
				l.now.Say("fast-udp: off at " + l.addr.String() + ": SIGUSR2 starts a new process; if that fails, a reload turns it on again")
			}
			listeners.Unlock()
		}
	}()
})

// hold takes a copy of the descriptor of CoreDNS's first socket, in place of the one before.
func (l *listener) hold() error {
	return with(l.conns[0], func(fd int) error {
		held, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(l.held)
			l.held = held
		}
		return err
	})
}

// watch looks at the sockets at the address now and then, until the end.
func (l *listener) watch() {
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.all[l.addr] == l {
		l.look()
		time.AfterFunc(lookAgain, l.watch)
	}
}

// look opens sockets if only this process is bound to the address. It closes them if another is, too, or if CoreDNS's have changed.
func (l *listener) look() {
	all, err := socketsAt(l.addr)
	if l.seen != nil && (err != nil || slices.Equal(all, l.seen)) {
		return // almost always
	}
	l.close()
	if err == nil {
		err = l.open()
	}
	line := "fast-udp: on at " + l.addr.String()
	if err != nil {
		line = "fast-udp: off at " + l.addr.String() + ": " + err.Error()
	}
	if line != l.said && (err != nil || l.said != "") { // on is what is expected
		l.now.Say(line)
	}
	l.said = line
}

// open opens a socket for each processor, and has the kernel give them everything. Before they are bound it has the others get that, so
// that a failure loses nothing.
func (l *listener) open() error {
	others, err := socketsAt(l.addr) // without those just closed
	if err != nil {
		return err
	}
	l.seen = others // nothing to try again before they change
	if l.addr.Addr().Zone() != "" {
		return errors.New("the system's list of sockets does not tell link-local addresses of several interfaces apart")
	}
	if len(others) > len(l.conns) || slices.ContainsFunc(others, func(inode string) bool { return !own[inode] }) {
		return errors.New("another socket has this address, of another process or of CoreDNS before a reload; " +
			"the fast path resumes when it closes")
	}
	l.seen = nil
	if l.held < 0 {
		if err := l.hold(); err != nil {
			return fmt.Errorf("copy a socket of CoreDNS: %w", err)
		}
	}
	if err := attach(l.held, 0, len(others)); err != nil {
		return err
	}
	l.group = len(others)
	n, all := runtime.GOMAXPROCS(0), others
	for range n {
		w, err := l.newWorker()
		if err != nil {
			l.close()
			return fmt.Errorf("open a socket: %w", err)
		}
		l.workers, all = append(l.workers, w), append(all, w.inode)
	}
	if err := attach(l.held, l.group, n); err != nil {
		l.close()
		return err
	}
	slices.Sort(all)
	l.seen = all
	return nil
}

// close has CoreDNS's sockets get everything, answers what the workers' have still got, and closes them.
func (l *listener) close() {
	if l.seen = nil; l.group == 0 {
		return
	}
	l.yield()
	for _, w := range l.workers {
		_ = w.conn.SetReadDeadline(time.Now().Add(settle))
	}
	for _, w := range l.workers {
		<-w.done
	}
	for _, s := range l.serving { // passed on before the socket goes that the reply leaves from
		s.shutdown()
		s.passer = newPasser(s.Server, l.addr)
	}
	for _, w := range l.workers {
		_ = with(w.conn, hide)
		_ = w.conn.Close()
		delete(own, w.inode)
	}
	_ = detach(l.held)
	l.group, l.workers = 0, nil
}

// yield has the workers' sockets get nothing more: CoreDNS's first one gets it, or if that is closed, one bound since, or one at all
// addresses.
func (l *listener) yield() {
	if !l.isLast() {
		_ = attach(l.held, 0, 1)
		return
	}
	_ = leave(l.held)
	_ = detach(l.held)
	for _, w := range l.workers {
		_ = with(w.conn, leave)
	}
}

// settle is how long a message may take from the program to a socket's queue.
const settle = 10 * time.Millisecond

// worker answers what comes to one socket.
type worker struct {
	of    *listener
	conn  *net.UDPConn
	raw   syscall.RawConn
	inode string
	lost  uint32
	done  chan struct{}
	// used is the server used last, and answerer the worker's own from it.
	used     *Serving
	answerer Answerer
}

func (l *listener) newWorker() (*worker, error) {
	w := &worker{of: l, done: make(chan struct{})}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = w.prepare(int(fd)) })
		return err
	}}
	network := "udp"
	if l.addr.Addr().Is4() {
		network = "udp4" // 0.0.0.0 for IPv4 alone
	}
	conn, err := lc.ListenPacket(context.Background(), network, l.addr.String())
	if err != nil {
		delete(own, w.inode)
		return nil, err
	}
	w.conn = conn.(*net.UDPConn)
	w.raw, _ = w.conn.SyscallConn() // it is open
	go w.run()
	return w, nil
}

// prepare sets the options of a new socket, and learns its inode.
func (w *worker) prepare(fd int) (err error) {
	w.inode, err = inodeOf(fd)
	own[w.inode] = true
	err = errors.Join(err, canBatch(fd), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	switch { // replies leave from the address that the query came to
	case !w.of.addr.Addr().IsUnspecified():
	case w.of.addr.Addr().Is4():
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
	default:
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
	}
	return err
}

// hide has a socket match no message, as if bound to an interface that does not exist. The kernel takes a socket that closes from its
// group before it takes it from where it looks sockets up, and gives it what comes between. Before Linux 5.7 this needs privileges.
func hide(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, math.MaxInt32)
}

// run answers messages until the socket's deadline, and then those that are left.
func (w *worker) run() {
	defer close(w.done)
	b := newBatch()
	read, write := b.read, b.write // made once
	for w.raw.Read(read) == nil {
		w.answer(b, write)
	}
	_ = w.raw.Control(func(fd uintptr) {
		for end := time.Now().Add(grace); b.read(fd) && b.n > 0 && time.Now().Before(end); {
			w.answer(b, write)
		}
	})
}

// answer answers the messages of a batch.
func (w *worker) answer(b *batch, write func(uintptr) bool) {
	w.of.using.RLock()
	defer w.of.using.RUnlock()
	if now := w.of.now; now != w.used {
		w.used, w.answerer = now, now.Answerer()
	}
	b.pending = b.out[:0]
	lost := w.lost
	for i := range b.n {
		message, from := b.message(i), b.from(i)
		var query *Query // nil if the message is not a plain one
		if b.in[i].Flags&unix.MSG_TRUNC == 0 && b.query.Parse(message) {
			query = &b.query
		}
		local, dropped := b.controls(i)
		if dropped != 0 {
			lost = dropped
		}
		if n := w.answerer.Answer(query, from.Addr(), b.replies[i][:]); n > 0 {
			b.addReply(i, n, local)
		} else {
			w.used.pass(message, from, w.conn, local)
		}
	}
	if lost != w.lost {
		w.used.Lost(lost - w.lost)
		w.lost = lost
	}
	if len(b.pending) > 0 {
		_ = w.raw.Write(write)
	}
}
