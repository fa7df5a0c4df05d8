package console

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/time/rate"
)

// Bounded returns a listener that holds MaxConnections at a time, and takes new ones at their pace: others wait in
// the queue of the system. Where there are so many, one on which nothing is asked gives way to a new one. Which these
// are it hears from the server that HTTPServer makes; those of other servers never give way.
func Bounded(l net.Listener) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	return &boundedListener{Listener: l, limiter: rate.NewLimiter(connectRate, connectBurst), closed: ctx, cancel: cancel, changed: make(chan struct{}, 1)}
}

// boundedListener takes connections at a pace, and holds so many of them.
type boundedListener struct {
	net.Listener
	limiter *rate.Limiter
	closed  context.Context // done when the listener is closed
	cancel  context.CancelFunc

	mu      sync.Mutex
	held    int
	waiting []*boundedConn // those on which nothing is asked, in the order in which that began
	// wanted is true while a new one waits for one to give way, as something is asked on each.
	wanted bool
	// changed has something in it where one may have gone, or been left alone, since it was looked at.
	changed chan struct{}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	if l.limiter.Wait(l.closed) != nil {
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for {
		fresh, oldest := l.hold(c)
		switch {
		case fresh != nil:
			return fresh, nil
		case oldest != nil:
			_ = oldest.Close()
			continue
		}
		select {
		case <-l.changed:
		case <-l.closed.Done():
			_ = c.Close()
			return nil, net.ErrClosed
		}
	}
}

// hold takes a connection where there is room for it, and else returns one that has to go first; nil where none
// can.
func (l *boundedListener) hold(c net.Conn) (fresh, oldest *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held < MaxConnections {
		l.held++
		l.wanted = false
		return &boundedConn{Conn: c, of: l}, nil
	}
	if len(l.waiting) > 0 {
		return nil, l.waiting[0]
	}
	l.wanted = true
	return nil, nil
}

// forget takes a connection out of those on which nothing is asked. The caller has locked mu.
func (l *boundedListener) forget(c *boundedConn) {
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// tell has Accept look again.
func (l *boundedListener) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Close implements net.Listener.
func (l *boundedListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// boundedConn is one connection of a boundedListener.
type boundedConn struct {
	net.Conn
	of     *boundedListener
	closed bool // of.mu guards it
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.of.mu.Lock()
	if !c.closed {
		c.closed = true
		c.of.held--
		c.of.forget(c)
		c.of.tell()
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, so that the other side can read it to its end.
func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// noted notes what a server does with a connection: on a new one, and on one that is kept, nothing is asked until all
// headers of a request are there. Where a new one waits, one that is kept gives way here: if its next request is there already,
// nothing would be asked on it for so short a time that Accept might never see it.
func noted(c net.Conn, state http.ConnState) {
	b, ok := c.(*boundedConn)
	if !ok {
		return
	}
	if b.of.kept(b, state == http.StateNew || state == http.StateIdle) {
		_ = b.Close()
	}
}

// kept takes down whether nothing is asked on a connection, and tells whether it has to give way at once.
func (l *boundedListener) kept(c *boundedConn, idle bool) (gives bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
	switch {
	case c.closed || !idle:
	case l.wanted:
		l.wanted = false // one is enough
		return true
	default:
		l.waiting = append(l.waiting, c)
		l.tell()
	}
	return false
}
