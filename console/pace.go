package console

import (
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
			unread(w, r)
			busy(w, r, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}
