package fastpath

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listeners are those of this process, by address: a group of sockets has one program. The lock guards what is in them, and own.
var listeners = struct {
	sync.Mutex
	all map[netip.AddrPort]*listener
}{all: make(map[netip.AddrPort]*listener)}

// own has the inodes of this process's sockets, those of CoreDNS that are closed, too.
var own = make(map[string]bool)

// listener is the sockets at an address.
type listener struct {
	addr    netip.AddrPort
	now     atomic.Pointer[Serving]
	serving []*Serving // until Release
	conns   []*net.UDPConn
	held    int      // a descriptor of the first of them, which CoreDNS may close; -1 for none
	group   int      // how many sockets the group has before those of workers
	seen    []string // inodes of all sockets, as long as nothing changes; nil to try again
	workers []*worker
	said    string
}

// Serving is a server that answers at an address, with what passes messages on to it. A worker holds using for reading while it uses the
// server.
type Serving struct {
	*Server
	*passer
	of    *listener
	using sync.RWMutex
}

// use returns the server of now, with using held for reading.
func (l *listener) use() *Serving {
	for {
		s := l.now.Load()
		if s.using.RLock(); s == l.now.Load() {
			return s
		}
		s.using.RUnlock()
	}
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
	}
	serving := &Serving{Server: s, passer: newPasser(s, addr), of: l}
	l.serving, l.conns = append(l.serving, serving), conns
	l.now.Store(serving)
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
	if l.now.Load() == s && listeners.all[l.addr] == l {
		delete(listeners.all, l.addr)
		l.close()
		_ = unix.Close(l.held)
	}
	l.serving = slices.DeleteFunc(l.serving, func(one *Serving) bool { return one == s })
	s.using.Lock()
	s.using.Unlock() //lint:ignore SA2001 no worker uses it from now on
	s.shutdown()
}

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
	line := ""
	if err != nil {
		line = "fast-udp: off at " + l.addr.String() + ": " + err.Error()
	}
	if line != "" && line != l.said {
		l.now.Load().Say(line)
	}
	l.said = line
}

// open opens a socket for each processor, and has the kernel give them plain queries. Before they are bound it has the others get
// everything, so that a failure loses nothing.
func (l *listener) open() error {
	others, err := socketsAt(l.addr) // without those just closed
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(inode string) bool { return !own[inode] }) {
		l.seen = others
		return errors.New("another process is bound to it, too; waiting until it is gone")
	}
	if l.held < 0 {
		if err := l.hold(); err != nil {
			return fmt.Errorf("copy a socket of CoreDNS: %w", err)
		}
	}
	l.group = len(others)
	if err := attach(l.held, l.group, 0); err != nil {
		return err
	}
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
	if len(l.workers) > 0 {
		l.yield()
	}
	for _, w := range l.workers {
		_ = w.conn.SetReadDeadline(time.Now().Add(settle))
	}
	for _, w := range l.workers {
		<-w.done
	}
	for _, s := range l.serving {
		if len(l.workers) > 0 { // passed on before the socket goes that the reply leaves from
			s.shutdown()
			s.passer = newPasser(s.Server, l.addr)
		}
	}
	for _, w := range l.workers {
		_ = with(w.conn, hide)
		_ = w.conn.Close()
		delete(own, w.inode)
	}
	if l.group > 0 {
		_ = detach(l.held)
	}
	l.group, l.workers, l.seen = 0, nil, nil
}

// yield has the workers' sockets get nothing more: CoreDNS's first one gets it, or if that is closed, a socket at all addresses does.
func (l *listener) yield() {
	if l.isLast() {
		_ = leave(l.held)
		for _, w := range l.workers {
			_ = with(w.conn, leave)
		}
		return
	}
	_ = attach(l.held, 1, 0) // the first slot is CoreDNS's; those of sockets that it has closed are others' now
}

// settle is how long a message may take from the program to a socket's queue.
const settle = 10 * time.Millisecond

// worker answers what comes to one socket.
type worker struct {
	of    *listener
	conn  *net.UDPConn
	raw   syscall.RawConn
	inode string
	pick  bool // the socket is bound to all addresses: replies name theirs
	lost  uint32
	done  chan struct{}
}

func (l *listener) newWorker() (*worker, error) {
	w := &worker{of: l, pick: l.addr.Addr().IsUnspecified(), done: make(chan struct{})}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = w.prepare(int(fd)) })
		return err
	}}
	conn, err := lc.ListenPacket(context.Background(), "udp", l.addr.String())
	if err != nil {
		delete(own, w.inode)
		return nil, err
	}
	w.conn = conn.(*net.UDPConn)
	if w.raw, err = w.conn.SyscallConn(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go w.run()
	return w, nil
}

// prepare sets the options of a new socket, and learns its inode.
func (w *worker) prepare(fd int) (err error) {
	w.inode, err = inodeOf(fd)
	own[w.inode] = true
	err = errors.Join(err, canBatch(fd), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	switch {
	case !w.pick:
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
	b, use := newBatch(), user{}
	read, write := b.read, b.write // made once
	for w.raw.Read(read) == nil {
		w.answer(b, &use, write)
	}
	_ = w.raw.Control(func(fd uintptr) {
		for end := time.Now().Add(grace); b.read(fd) && b.n > 0 && time.Now().Before(end); {
			w.answer(b, &use, write)
		}
	})
}

// user is the server that a worker uses, with its own Answerer.
type user struct {
	*Serving
	answerer Answerer
}

// answer answers the messages of a batch.
func (w *worker) answer(b *batch, use *user, write func(uintptr) bool) {
	now := w.of.use()
	defer now.using.RUnlock()
	if now != use.Serving {
		*use = user{now, now.Answerer()}
	}
	b.pending = b.out[:0]
	for i := range b.n {
		message, from := b.message(i), b.from(i)
		var local []byte
		if w.pick {
			local, _ = b.controls(i)
		}
		if b.query.Parse(message) && b.in[i].Flags&unix.MSG_TRUNC == 0 {
			if n := use.answerer.Answer(&b.query, from.Addr(), b.replies[i][:]); n > 0 {
				b.addReply(i, n, local)
				continue
			}
		} else {
			use.answerer.Unread()
		}
		use.pass(message, from, w.conn, local)
	}
	if b.n > 0 {
		if _, n := b.controls(b.n - 1); n != 0 && n != w.lost {
			use.Lost(n - w.lost)
			w.lost = n
		}
	}
	if len(b.pending) > 0 {
		_ = w.raw.Write(write)
	}
}
