package console

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// TestPace: however many requests there are, so many are let through in a second, and others wait, or are told to
// come again; in that time nothing is computed for them.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		var mu sync.Mutex
		h := paced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			served++
		}), rate.NewLimiter(requestRate, requestBurst))
		refused := 0
		end := time.Now().Add(20 * time.Second)
		var clients sync.WaitGroup
		for range 1000 { // many more than there can be connections
			clients.Go(func() {
				for time.Now().Before(end) {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
					if w.Code == http.StatusTooManyRequests {
						mu.Lock()
						refused++
						mu.Unlock()
					}
				}
			})
		}
		clients.Wait()
		if most := requestBurst + requestRate*(20+int(longestPace/time.Second)+1); served > most || served < requestRate*20 {
			t.Errorf("%d requests were served in 20 seconds, the most is %d", served, most)
		}
		// Each of those that were refused has waited.
		if most := 1000 * 20 / int(longestPace/time.Second); refused == 0 || refused > most {
			t.Errorf("%d requests were refused, the most is %d", refused, most)
		}
	})
}

// endless is a listener to which somebody connects without end.
type endless struct{ taken int }

func (l *endless) Accept() (net.Conn, error) {
	l.taken++
	c, _ := net.Pipe()
	return c, nil
}
func (*endless) Close() error   { return nil }
func (*endless) Addr() net.Addr { return &net.TCPAddr{} }

// TestPaceOfConnections: connections that are closed at once come at their pace, and closing ends the wait.
func TestPaceOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := new(endless)
		l := Bounded(below)
		end := time.Now().Add(10 * time.Second)
		for time.Now().Before(end) {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		if most := connectBurst + 10*connectRate + 1; below.taken > most || below.taken < 10*connectRate {
			t.Errorf("%d connections in 10 seconds, the most is %d", below.taken, most)
		}
		ended := make(chan error)
		go func() {
			for {
				if c, err := l.Accept(); err != nil {
					ended <- err
					return
				} else {
					_ = c.Close()
				}
			}
		}()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed, it says %v", err)
		}
	})
}

// TestPreviewsTakeATenth: previews one after the other may take a second, and then a tenth of the time.
func TestPreviewsTakeATenth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoad()
		begin := time.Now()
		var took time.Duration
		for time.Since(begin) < 10*time.Minute {
			if !l.allow(loadPreview) {
				time.Sleep(time.Second)
				continue
			}
			leave, ok := l.preview()
			if !ok {
				t.Fatal("nobody else is there")
			}
			time.Sleep(3 * time.Second)
			took += 3 * time.Second
			leave()
		}
		if most := time.Second + 10*time.Minute/10 + 3*time.Second; took > most || took < 40*time.Second {
			t.Errorf("previews took %v of 10 minutes, the most is %v", took, most)
		}
	})
}
