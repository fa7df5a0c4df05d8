package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// hurried makes the page poll at once, and wait for an answer a hundredth of the time.
const hurried = `{ const real = window.setTimeout; window.setTimeout = (f, ms, ...rest) => real(f, ms >= 1000 ? 0 : ms, ...rest);
	const limit = AbortSignal.timeout; AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms / 10); }`

// player replays recorded answers of the console in turn, so that a page changes at each poll.
type player struct {
	*httptest.Server
	asked atomic.Int64 // requests answered
	come  atomic.Int64 // requests received, answered or not
	hold  sync.RWMutex // held to stop answers
	busy  atomic.Int64 // seconds to ask the client to wait; 0 to answer
}

// play starts a player of the console's answers for a path.
func (s *server) play(path string, answers []string) *player {
	s.t.Helper()
	p := new(player)
	assets := make(map[string]string)
	for _, name := range []string{"console.css", "console.js", "icon.svg", "world.svg"} {
		assets["/assets/"+name] = s.get("/assets/" + name)
	}
	types := map[string]string{"css": "text/css", ".js": "text/javascript", "svg": "image/svg+xml"}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := assets[r.URL.Path]; ok {
			w.Header().Set("Content-Type", types[r.URL.Path[len(r.URL.Path)-3:]])
			_, _ = w.Write([]byte(text))
			return
		}
		if r.URL.RequestURI() != path {
			http.NotFound(w, r)
			return
		}
		if n := p.busy.Load(); n > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(n, 10))
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		p.come.Add(1)
		p.hold.RLock()
		defer p.hold.RUnlock()
		n := p.asked.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Etag", fmt.Sprintf(`"%d"`, n))
		_, _ = w.Write([]byte(answers[n%int64(len(answers))]))
	}))
	s.t.Cleanup(p.Close)
	return p
}

// held is what a page keeps in memory.
type held struct{ heap, nodes, listeners, documents int64 }

// unheard stops the browser from reporting requests, which would take most of its time.
func (b *tab) unheard() {
	b.t.Helper()
	call(b, network.Disable, cdp.Empty{})
	b.size(320, 100, false) // and paint little
}

// measure collects garbage and returns what is left. The page waits for an answer meanwhile:
// garbage of a poll does not count.
func (b *tab) measure(p *player) held {
	b.t.Helper()
	p.hold.Lock()
	defer p.hold.Unlock()
	boottest.WaitOr(b.t, func() string { return "the page does not look" }, func() bool { return p.come.Load() > p.asked.Load() })
	for range 3 { // what one collection frees may hold what the next one frees
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	dom, heap := call(b, memory.GetDOMCounters, cdp.Empty{}), call(b, runtime.GetHeapUsage, cdp.Empty{})
	return held{int64(heap.UsedSize), dom.Nodes, dom.JsEventListeners, dom.Documents}
}

// exceeds reports whether h is larger than before by more than fluctuation: an eighth, plus a
// constant.
func (h held) exceeds(before held) bool {
	return h.heap > before.heap+before.heap/8+200<<10 || h.nodes > before.nodes+before.nodes/8+100 || h.listeners > before.listeners+5 || h.documents > before.documents+5
}

// most returns the larger of each value.
func (h held) most(o held) held {
	return held{max(h.heap, o.heap), max(h.nodes, o.nodes), max(h.listeners, o.listeners), max(h.documents, o.documents)}
}

// leaks makes a page poll answers that change each time, and reports whether it holds more at the
// end than after the first polls.
func leaks(t *testing.T, b *tab, p *player, looks int64) (early, late held, leaks bool) {
	t.Helper()
	reach := func(n int64) {
		t.Helper()
		for next := p.asked.Load(); next < n; { // while it polls, it may take its time
			next = min(next+50, n)
			boottest.WaitOr(t, func() string {
				page, err := try[string](b, `[document.visibilityState, document.readyState, lost.hidden, lost.textContent.trim()].join(", ")`)
				return fmt.Sprintf("the page has looked %d times, want %d: it is %s, %v", p.asked.Load(), next, page, err)
			}, func() bool { return p.asked.Load() >= next })
		}
	}
	const odd = 7 // polls between two measurements: odd, so that each answer is measured in turn; one is longer
	reach(looks / 10)
	for range 4 {
		early = early.most(b.measure(p))
		reach(p.asked.Load() + odd)
	}
	reach(looks)
	// What the last polls hold is freed.
	for range 8 {
		if late = b.measure(p); !late.exceeds(early) {
			return early, late, false
		}
		reach(p.asked.Load() + odd)
	}
	return early, late, true
}

// TestLeak: a page that stays open, and changes each time, holds no more after a thousand polls
// than after a hundred.
func TestLeak(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	name := pathOf("/name", "name", hostChecked)
	boottest.WaitOr(t, func() string { return "the targets are not up" }, func() bool { return strings.Contains(s.get(name), "2 of 2 up") })
	before := map[string]string{"/": s.get("/"), name: s.get(name)}
	s.trouble()
	boottest.WaitOr(t, func() string { return "the targets are not down" }, func() bool {
		text := s.get("/")
		return strings.Contains(text, hostChecked) && strings.Contains(text, "younger") && strings.Contains(s.get(name), "fails open")
	})
	for _, c := range []struct {
		path  string
		looks int64
	}{{"/", 1000}, {name, 300}} {
		t.Run(strings.Trim(strings.Split(c.path, "?")[0], "/")+"page", func(t *testing.T) {
			p := s.play(c.path, []string{before[c.path], s.get(c.path)})
			b := newTab(t, p.URL, hurried)
			b.unheard()
			b.open(c.path)
			b.waits("map", mapDrawn)
			early, late, leaking := leaks(t, b, p, c.looks)
			t.Logf("early %+v, late %+v, after %d looks", early, late, p.asked.Load())
			if leaking {
				t.Errorf("after %d looks it holds %+v, and %+v early on", p.asked.Load(), late, early)
			}
			if !eval[bool](b, `lost.hidden`) {
				t.Error("the page has lost the server")
			}
		})
	}
}

// TestLeakSeen: the test detects a page that keeps what it has shown.
func TestLeakSeen(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	first := s.get("/")
	s.trouble()
	boottest.WaitOr(t, func() string { return "there is no trouble" }, func() bool { return strings.Contains(s.get("/"), "younger") })
	p := s.play("/", []string{first, s.get("/")})
	const leaky = `addEventListener("load", () => { const all = window.all = []; new MutationObserver((list) => { for (const m of list) all.push(...m.removedNodes); }).observe(document.body, {childList: true, subtree: true}); })`
	b := newTab(t, p.URL, hurried, leaky)
	b.unheard()
	b.open("/")
	if early, late, leaking := leaks(t, b, p, 200); !leaking {
		t.Errorf("after %d looks it holds %+v, and %+v early on: nothing was found", p.asked.Load(), late, early)
	}
}
