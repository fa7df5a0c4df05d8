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

// listeners are those of this process, by address: a group of sockets has one program.
var listeners = struct {
	sync.Mutex
	all map[netip.AddrPort]*listener
}{all: make(map[netip.AddrPort]*listener)}

// listener is the sockets at an address.
type listener struct {
	addr netip.AddrPort
	now  atomic.Pointer[serving]
	stop chan struct{}

	mu      sync.Mutex // of what follows
	closed  bool
	workers []*worker
	others  []string // inodes of CoreDNS's sockets, while there are workers
	shared  []string // inodes of all sockets, while some are of another process
	past    []*serving
	said    string
}

// serving is a server with what passes messages on to it. A worker holds using for reading while it uses the server.
type serving struct {
	*Server
	*passer
	using sync.RWMutex
}

func (l *listener) newServing(s *Server) *serving {
	return &serving{Server: s, passer: newPasser(s, l.addr)}
}

// use returns the server of now, with using held for reading.
func (l *listener) use() *serving {
	for {
		s := l.now.Load()
		if s.using.RLock(); s == l.now.Load() {
			return s
		}
		s.using.RUnlock()
	}
}

// end waits until no worker uses a server that another has taken over from, and what was passed on to it is answered.
func (s *serving) end() {
	s.using.Lock()
	defer s.using.Unlock()
	s.shutdown()
}

// lookAgain is how often the sockets at an address are counted: those of another process turn the fast path off.
const lookAgain = time.Second

// Serve has a server answer at an address to which a socket of this process is bound with SO_REUSEPORT, until Release. It takes over from
// the server before without a pause. Why the fast path cannot be used is told by Say, and CoreDNS's sockets get everything then.
func Serve(addr netip.AddrPort, s *Server) {
	listeners.Lock()
	defer listeners.Unlock()
	l := listeners.all[addr]
	if l == nil {
		l = &listener{addr: addr, stop: make(chan struct{})}
		listeners.all[addr] = l
		l.now.Store(l.newServing(s))
		l.look()
		go l.watch()
		return
	}
	l.look() // before: what was passed on is answered from the sockets that it came to
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past = append(l.past, l.now.Swap(l.newServing(s)))
}

// Release ends Serve. Where another server has taken over, it waits for what was passed on to this one; else the sockets are closed.
func Release(addr netip.AddrPort, s *Server) {
	listeners.Lock()
	defer listeners.Unlock()
	l := listeners.all[addr]
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past = slices.DeleteFunc(l.past, func(p *serving) bool {
		if p.Server == s {
			p.end()
		}
		return p.Server == s
	})
	if l.now.Load().Server != s {
		return
	}
	delete(listeners.all, addr)
	close(l.stop)
	l.closed = true
	l.close()
	l.now.Load().end()
}

// Leave has other processes that are bound to an address, if any, get all that comes to it from now on. It is for a process that ends, after
// Release: CoreDNS stops reading first, and what its sockets have got by then is lost. They are connected to a port where nobody is, so no
// message matches them, and may still send replies.
func Leave(addr netip.AddrPort) {
	all, err := socketsAt(addr)
	own, fault := ownAt(addr)
	if err != nil || fault != nil || len(all) <= len(own) {
		return
	}
	for _, inode := range own {
		_ = borrow(inode, func(fd int) error { return unix.Connect(fd, nobodyAt(addr.Addr())) })
	}
	time.Sleep(settle) // CoreDNS reads what they have got
}

// nobodyAt returns an address to connect a socket to that is bound to addr.
func nobodyAt(addr netip.Addr) unix.Sockaddr {
	const discard = 9
	if addr.Is4() {
		if addr.IsUnspecified() {
			return &unix.SockaddrInet4{Port: discard, Addr: [4]byte{127, 0, 0, 1}}
		}
		return &unix.SockaddrInet4{Port: discard, Addr: addr.As4()}
	}
	if addr.IsUnspecified() {
		addr = netip.IPv6Loopback()
	}
	return &unix.SockaddrInet6{Port: discard, Addr: addr.As16()}
}

// watch looks at the sockets at the address now and then.
func (l *listener) watch() {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.look()
		}
	}
}

// look opens sockets if all others at the address are this process's, and closes them if not, or if those have changed.
func (l *listener) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	isOwn := func(inode string) bool {
		return slices.ContainsFunc(l.workers, func(w *worker) bool { return w.inode == inode })
	}
	all, err := socketsAt(l.addr)
	all = slices.DeleteFunc(all, isOwn)
	if err == nil && (len(l.workers) > 0 && slices.Equal(all, l.others) || l.shared != nil && slices.Equal(all, l.shared)) {
		return // almost always
	}
	others, fault := ownAt(l.addr)
	others = slices.DeleteFunc(others, isOwn)
	shared := slices.ContainsFunc(all, func(inode string) bool { return !slices.Contains(others, inode) })
	if err = errors.Join(err, fault); err == nil && len(l.workers) > 0 && !shared && slices.Equal(others, l.others) {
		return // the list lacked some: it is not read at one moment
	}
	l.close()
	l.shared = nil
	switch {
	case err != nil:
	case shared:
		l.shared, err = all, errShared
	default:
		err = l.open(others)
	}
	if err != nil {
		l.say("fast-udp: off at " + l.addr.String() + ": " + err.Error())
	} else {
		l.say("")
	}
}

// say logs a line unless it was the last one.
func (l *listener) say(line string) {
	if s := l.now.Load(); line != l.said && line != "" && s.Say != nil {
		s.Say(line)
	}
	l.said = line
}

// errShared means that another process has a socket at the address.
var errShared = errors.New("another process is bound to it, too; waiting until it is gone")

// open opens a socket for each processor, and has the kernel give them plain queries. Before they are bound it has CoreDNS's sockets, others,
// get everything, so that a failure loses nothing.
func (l *listener) open(others []string) error {
	if len(others) == 0 {
		return errors.New("no socket is bound to it")
	}
	l.others = others
	n := runtime.GOMAXPROCS(0)
	Prepare() // for the next reload
	if err := borrow(others[0], func(fd int) error { return attach(fd, filter(len(others), 0)) }); err != nil {
		return fmt.Errorf("attach a filter: %w", err)
	}
	for range n {
		w, err := l.newWorker()
		if err != nil {
			l.close()
			return fmt.Errorf("open a socket: %w", err)
		}
		l.workers = append(l.workers, w)
	}
	if err := l.workers[0].attach(filter(len(others), n)); err != nil {
		l.close()
		return fmt.Errorf("attach a filter: %w", err)
	}
	return nil
}

// close has CoreDNS's sockets get everything, answers what the own ones have still got, and closes them.
func (l *listener) close() {
	if len(l.workers) > 0 {
		_ = l.workers[0].attach(filter(len(l.others), 0))
	}
	for _, w := range l.workers {
		_ = w.conn.SetReadDeadline(time.Now().Add(settle))
	}
	for _, w := range l.workers {
		<-w.done
	}
	if len(l.workers) > 0 { // passed on before the socket goes that the reply leaves from
		s := l.now.Load()
		l.now.Store(l.newServing(s.Server))
		s.end()
	}
	for _, w := range l.workers {
		_ = w.raw.Control(hide)
		_ = w.conn.Close()
	}
	if len(l.others) > 0 {
		_ = borrow(l.others[0], detach) // else the sockets of the group are gone
	}
	l.workers, l.others = nil, nil
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
func (w *worker) prepare(fd int) error {
	var stat unix.Stat_t
	err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), unix.Fstat(fd, &stat))
	w.inode = fmt.Sprint(stat.Ino)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	switch {
	case !w.pick:
	case w.of.addr.Addr().Is4():
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
	default:
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
	}
	return errors.Join(err, canBatch(fd))
}

func (w *worker) attach(program []unix.SockFilter) (err error) {
	closed := w.raw.Control(func(fd uintptr) { err = attach(int(fd), program) })
	return errors.Join(closed, err)
}

// hide has a socket match no message, as if bound to an interface that does not exist. The kernel takes a socket that closes from its group
// before it takes it from where it looks sockets up, and gives it what comes between. Before Linux 5.7 this needs privileges.
func hide(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, math.MaxInt32)
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
		for b.read(fd) && b.n > 0 {
			w.answer(b, &use, write)
		}
	})
}

// user is the server that a worker uses, with its own Answerer.
type user struct {
	*serving
	answerer Answerer
}

// answer answers the messages of a batch.
func (w *worker) answer(b *batch, use *user, write func(uintptr) bool) {
	now := w.of.use()
	defer now.using.RUnlock()
	if now != use.serving {
		*use = user{now, now.Answerer()}
	}
	b.pending = b.out[:0]
	for i := range b.n {
		message, from := b.message(i), b.from(i)
		if b.query.Parse(message) && b.in[i].Flags&unix.MSG_TRUNC == 0 {
			if n := use.answerer.Answer(&b.query, from.Addr(), b.replies[i][:]); n > 0 {
				b.addReply(i, n, w.pick)
				continue
			}
		} else {
			use.answerer.Unread()
		}
		n := 0
		if w.pick {
			n = localFrom(&b.local[i], b.control(i))
		}
		use.pass(message, from, w.conn, b.local[i][:n])
	}
	if b.n > 0 {
		if n, ok := lost(b.control(b.n - 1)); ok && n != w.lost {
			use.Lost(n - w.lost)
			w.lost = n
		}
	}
	if len(b.pending) > 0 {
		_ = w.raw.Write(write)
	}
}
