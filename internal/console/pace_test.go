package console

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// TestPace: requests pass at the limited rate; the rest wait or are refused, and nothing is computed for them
// meanwhile.
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
		for range 1000 { // far more than possible connections
			clients.Go(func() {
				for time.Now().Before(end) {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
					if w.Code == http.StatusTooManyRequests {
						if h := w.Header(); h.Get("Content-Security-Policy") == "" || h.Get(versionHeader) != apiVersion || h.Get("Retry-After") == "" {
							t.Errorf("it is refused with the headers %v", h)
						}
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
		// Each refused request has waited.
		if most := 1000 * 20 / int(longestPace/time.Second); refused == 0 || refused > most {
			t.Errorf("%d requests were refused, the most is %d", refused, most)
		}
	})
}

// endless is a listener with an unlimited supply of clients.
type endless struct{ taken int }

func (l *endless) Accept() (net.Conn, error) {
	l.taken++
	c, _ := net.Pipe()
	return c, nil
}
func (*endless) Close() error   { return nil }
func (*endless) Addr() net.Addr { return &net.TCPAddr{} }

// TestPaceOfConnections: connections that close at once are accepted at the limited rate, and closing the listener
// ends the wait.
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

// watchClock starts a stopwatch that measures wall time.
func watchClock() stopwatch { return stopwatch{begin: time.Now()} }

// TestStopwatch: only the CPU time of the measured goroutine counts.
func TestStopwatch(t *testing.T) {
	w := watchThread()
	begin, known := threadTime()
	for now := begin; known && now < begin+time.Millisecond; now, known = threadTime() {
	}
	if took := w.stop(); known != (runtime.GOOS == "linux") || known && took < time.Millisecond {
		t.Errorf("a millisecond of work counts as %v", took)
	}
}

// TestPreviewsTakeTheirShare: successive previews may use the burst, then their share.
func TestPreviewsTakeTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoad()
		l.watch = watchClock
		begin := time.Now()
		var took time.Duration
		for time.Since(begin) < 10*time.Minute {
			if wait, ok := l.allow(loadPreview); !ok {
				time.Sleep(wait) // as Retry-After says
				if _, ok := l.allow(loadPreview); !ok {
					t.Fatalf("after %v there may be no preview yet", wait)
				}
				continue
			}
			leave, _, ok := l.preview()
			if !ok {
				t.Fatal("nobody else is there")
			}
			time.Sleep(3 * time.Second)
			took += 3 * time.Second
			leave()
		}
		share := time.Duration(previewShare * float64(10*time.Minute))
		if most := previewSaved + share + 3*time.Second; took > most || took < share/2 {
			t.Errorf("previews took %v of 10 minutes, the most is %v", took, most)
		}
	})
}

// TestShortRequestsCount: requests that take less than a millisecond are charged too.
func TestShortRequestsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoad()
		l.watch = watchClock
		begin := time.Now()
		var took time.Duration
		for time.Since(begin) < time.Minute {
			if wait, ok := l.allow(loadPage); !ok {
				time.Sleep(wait)
				continue
			}
			leave, _, ok := l.enter(t.Context())
			if !ok {
				t.Fatal("nobody else is there")
			}
			time.Sleep(300 * time.Microsecond)
			took += 300 * time.Microsecond
			leave()
		}
		share := time.Duration(workShare * float64(time.Minute))
		if most := workSaved + share + time.Millisecond; took > most || took < share {
			t.Errorf("short requests took %v of a minute, the most is %v", took, most)
		}
	})
}

// TestAdmittedTogether: of concurrent requests and previews, one may overdraw the budget; the others do not add to
// that.
func TestAdmittedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoad()
		l.watch = watchClock
		var let atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if leave, wait, ok := l.enter(t.Context()); ok {
					let.Add(1)
					time.Sleep(2 * time.Second)
					leave()
				} else if wait < time.Second {
					t.Errorf("it may be tried again after %v", wait)
				}
			})
		}
		all.Wait()
		if let.Load() != 1 {
			t.Errorf("%d requests of two seconds were let in", let.Load())
		}
		for i, want := range []bool{true, false} {
			leave, wait, ok := l.preview()
			if ok != want || !ok && wait < time.Second {
				t.Errorf("preview %d: %v, %v", i, wait, ok)
			}
			if ok {
				time.Sleep(2 * time.Second)
				leave()
			}
		}
	})
}

// stalled is a ResponseWriter for a client that does not read.
type stalled struct {
	*httptest.ResponseRecorder
	stuck, read chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	close(s.stuck)
	<-s.read
	return s.ResponseRecorder.Write(p)
}

// TestSlowReader: a slow reader delays nobody, and is not charged for the time.
func TestSlowReader(t *testing.T) {
	h := New(Options{Source: newServer(t)})
	slow := &stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+PathNames, nil))
	}()
	<-slow.stuck
	if w := ask(h, http.MethodGet, PathZones, nil); w.Code != http.StatusOK {
		t.Errorf("beside a slow reader: %d %s", w.Code, w.Body)
	}
	close(slow.read)
	<-ended
	if slow.Code != http.StatusOK || !strings.Contains(slow.Body.String(), `"names"`) {
		t.Errorf("the slow reader gets %d %s", slow.Code, slow.Body)
	}
}

// TestSlowReadersHoldSoMuch: answers being sent, of pages and previews, hold limited memory; a single one may be
// larger.
func TestSlowReadersHoldSoMuch(t *testing.T) {
	t.Parallel()
	c := &console{Options: Options{Source: newServer(t)}, load: newLoad()}
	send := func(w http.ResponseWriter, n int) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+PathZones, nil)
		made := kept{ResponseWriter: w, status: http.StatusOK}
		write(&made, r, "text/plain", make([]byte, n))
		c.send(&made, r)
	}
	sent := make(chan struct{})
	var readers []*stalled
	for range maxAnswers / (9 << 20) {
		slow := &stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		readers = append(readers, slow)
		go func() {
			send(slow, 9<<20)
			sent <- struct{}{}
		}()
		<-slow.stuck
	}
	w := httptest.NewRecorder()
	if send(w, 9<<20); w.Code != http.StatusTooManyRequests || w.Body.Len() > 1000 || w.Header().Get("Content-Length") != "" ||
		w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("beyond it: %d, %v, %d octets", w.Code, w.Header(), w.Body.Len())
	}
	c.load.answers.Add(6 << 20)
	if w := preview(http.HandlerFunc(c.preview), "123"); w.Code != http.StatusTooManyRequests {
		t.Errorf("beyond it, a preview is answered with %d %s", w.Code, w.Body)
	}
	c.load.answers.Add(-6 << 20)
	for _, slow := range readers {
		close(slow.read)
		<-sent
	}
	if held := c.load.answers.Load(); held != 0 {
		t.Errorf("%d octets are held in the end", held)
	}
	w = httptest.NewRecorder()
	if send(w, maxAnswers+1); w.Code != http.StatusOK || w.Body.Len() != maxAnswers+1 {
		t.Errorf("a large one alone: %d, %d octets", w.Code, w.Body.Len())
	}
}

// TestSlowUpload: uploads in progress do not block a preview, and their number is limited.
func TestSlowUpload(t *testing.T) {
	h := New(Options{Source: newServer(t)})
	body, upload := io.Pipe()
	ended := make(chan *httptest.ResponseRecorder)
	go func() { ended <- ask(h, http.MethodPost, PathPreview, body, "Content-Type", "application/yaml") }()
	if _, err := upload.Write([]byte("12")); err != nil { // the server is reading it now
		t.Fatal(err)
	}
	if w := preview(h, "1234"); w.Code != http.StatusOK {
		t.Errorf("beside a slow upload: %d %s", w.Code, w.Body)
	}
	_ = upload.Close()
	if w := <-ended; w.Code != http.StatusOK {
		t.Errorf("the slow upload ends with %d %s", w.Code, w.Body)
	}
	c := &console{Options: Options{Source: newServer(t)}, load: newLoad()}
	for n := range maxUploads + 1 {
		want := http.StatusOK
		if n == maxUploads {
			want = http.StatusTooManyRequests
		}
		if w := preview(http.HandlerFunc(c.preview), "123"); w.Code != want {
			t.Errorf("with %d others it is answered with %d", n, w.Code)
		}
		if n < maxUploads {
			c.load.uploads <- struct{}{}
		}
	}
}
