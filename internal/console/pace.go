package console

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The pace of requests and connections. Load bounds what is computed; this bounds what is refused, or not even
// understood: each costs some 50 µs, so that a flood costs a few per cent of a core. A browser that follows a page
// makes a request in two seconds, over one connection.
const (
	requestRate  = 50
	requestBurst = 200
	connectRate  = 25
	connectBurst = 100
	// longestPace is how long a request is kept waiting for its turn before it is refused.
	longestPace = 2 * time.Second
)

// paced lets requests through at their pace, whatever they ask for.
func paced(next http.Handler, limiter *rate.Limiter) http.Handler {
	var mu sync.Mutex // a turn that is given back is nobody's reason to wait longer
	turnIn := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		turn := limiter.Reserve()
		wait := turn.Delay()
		if wait > longestPace {
			turn.Cancel()
		}
		return wait
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait := turnIn()
		if wait > 0 {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(min(wait, longestPace)):
			}
		}
		if wait > longestPace {
			secure(w.Header())
			busy(w, r, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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
