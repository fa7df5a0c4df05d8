package console

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rates of requests and connections. load limits computing; these limit requests that are refused or malformed, which
// cost about 50 µs each, so that a flood costs a few per cent of a core. A browser that follows a page makes one
// request every two seconds, over one connection.
const (
	requestRate  = 50
	requestBurst = 200
	connectRate  = 25
	connectBurst = 100
	// longestPace is how long a request waits before it is refused.
	longestPace = 2 * time.Second
)

// paced limits the rate of all requests.
func paced(next http.Handler, limiter *rate.Limiter) http.Handler {
	var mu sync.Mutex // a cancelled turn must not delay others
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

// Bounded returns a listener that holds at most MaxConnections and accepts new ones at a limited rate. Others wait in
// the kernel's queue. Idle connections end after idleTimeout or headerTimeout.
func Bounded(l net.Listener) net.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	return &boundedListener{
		Listener: l, limiter: rate.NewLimiter(connectRate, connectBurst), closed: ctx, cancel: cancel,
		places: make(chan struct{}, MaxConnections),
	}
}

// boundedListener limits the rate and the number of connections.
type boundedListener struct {
	net.Listener
	limiter *rate.Limiter
	closed  context.Context // done when the listener is closed
	cancel  context.CancelFunc
	places  chan struct{} // one element per open connection
}

// Accept implements net.Listener. It waits for a free place and the pace, or until the listener is closed.
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

func (l *boundedListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// boundedConn is a connection of a boundedListener. Closing it frees its place.
type boundedConn struct {
	net.Conn
	free func()
}

func (c *boundedConn) Close() error {
	c.free()
	return c.Conn.Close()
}

// CloseWrite shuts down the sending side, so that the peer can read to the end; net/http looks for this method.
func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
