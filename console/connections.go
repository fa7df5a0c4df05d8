package console

import (
	"context"
	"net"
	"sync"

	"golang.org/x/time/rate"
)

// Bounded returns a listener that holds MaxConnections at a time, and takes new ones at their pace: others wait in
// the queue of the system. Those on which nothing is asked end with idleTimeout or headerTimeout.
func Bounded(l net.Listener) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	return &boundedListener{
		Listener: l, limiter: rate.NewLimiter(connectRate, connectBurst), closed: ctx, cancel: cancel,
		places: make(chan struct{}, MaxConnections),
	}
}

// boundedListener takes connections at a pace, and holds so many of them.
type boundedListener struct {
	net.Listener
	limiter *rate.Limiter
	closed  context.Context // done when the listener is closed
	cancel  context.CancelFunc
	places  chan struct{} // holds one for each connection
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	if l.limiter.Wait(l.closed) != nil {
		return nil, net.ErrClosed
	}
	select {
	case l.places <- struct{}{}:
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &boundedConn{Conn: c, free: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements net.Listener.
func (l *boundedListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// boundedConn is one connection of a boundedListener.
type boundedConn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.free()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, so that the other side can read it to its end: net/http asks for it.
func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
