package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// quick makes the page poll every fifth of a second instead of every two seconds. It changes
// nothing else.
const quick = `{ const real = window.setTimeout; window.setTimeout = (f, ms, ...rest) => real(f, ms >= 1000 ? 200 : ms, ...rest); }`

// violations logs violations of the content policy as errors.
const violations = `addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI));`

// tab is one page of the browser, with its own profile. It records what goes wrong.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // the console's URL

	mu       sync.Mutex
	faults   []string
	requests []string // URLs
	// excused is true while errors of the server are expected.
	excused bool
}

// newTab opens a tab for the console at base. The test fails if anything went wrong in the tab.
// scripts run before those of each page.
func newTab(t *testing.T, base string, scripts ...string) *tab {
	t.Helper()
	b := openTab(t, base, scripts...)
	t.Cleanup(func() {
		for _, fault := range b.wrong() {
			t.Errorf("in the browser: %s", fault)
		}
	})
	return b
}

// openTab opens a tab in which things may go wrong.
func openTab(t *testing.T, base string, scripts ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, base: base}
	b.check(chromedp.Do(ctx))
	t.Cleanup(func() {
		if t.Failed() {
			b.picture("failed-"+strings.ReplaceAll(t.Name(), "/", "-"), 0)
		}
		cancel()
	})
	b.check(chromedp.Listen(ctx, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	for _, script := range append(scripts, violations) {
		call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	}
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // other tabs have it too
	b.size(1280, 900, false)
	return b
}

// call runs a command of the protocol.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	b.check(err)
	return r
}

func (b *tab) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// hear records an event.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += ": " + e.ExceptionDetails.Exception.Description
		}
		b.faults = append(b.faults, text)
	case *runtime.EventConsoleAPICalled:
		var all []string
		for _, a := range e.Args {
			all = append(all, string(a.Value))
		}
		b.faults = append(b.faults, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(all, " ")))
	case *log.EventEntryAdded:
		if !b.excused || e.Entry.Source != log.EntrySourceNetwork {
			b.faults = append(b.faults, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
		if to, err := url.Parse(e.Request.URL); err != nil || to.Scheme != "data" && "http://"+to.Host != b.base {
			b.faults = append(b.faults, "a request for "+e.Request.URL)
		}
	}
}

// wrong returns the errors so far.
func (b *tab) wrong() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.faults)
}

// excuse says whether errors of the server are expected from now on.
func (b *tab) excuse(excused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.excused = excused
}

// asked returns how often the pages have requested a path.
func (b *tab) asked(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, r := range b.requests {
		if r == b.base+path {
			n++
		}
	}
	return n
}

// open loads a path.
func (b *tab) open(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	b.check(chromedp.Do(ctx, chromedp.Navigate(b.base+path)))
}

// eval evaluates an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := try[T](b, expression)
	if err != nil {
		b.t.Fatalf("%v, of %s", err, expression)
	}
	return v
}

func try[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

// waits waits until an expression is true; while a page loads, it is false.
func (b *tab) waits(what, expression string) {
	b.t.Helper()
	boottest.WaitOr(b.t, func() string {
		text, _ := try[string](b, `location.href + "\n" + document.body.innerText`)
		return fmt.Sprintf("no %s; the page is\n%s", what, text)
	}, func() bool {
		ok, err := try[bool](b, expression)
		return err == nil && ok
	})
}

// waitsText waits until an element contains a text.
func (b *tab) waitsText(selector, part string) {
	b.t.Helper()
	b.waits(fmt.Sprintf("%q in %s", part, selector), fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))`, selector, part))
}

// text returns the text of the first element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// click clicks the first element, if nothing covers it, once the page is loaded: until then it may
// move.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.waits("page that is loaded", `document.readyState === "complete"`)
	at := eval[[]float64](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getClientRects()[0], x = r.x + r.width / 2, y = r.y + r.height / 2; return e.contains(document.elementFromPoint(x, y)) ? [x, y] : [] })()`, selector))
	if len(at) == 0 {
		b.t.Fatalf("%s cannot be clicked on: something else is there", selector)
	}
	b.mouse(input.DispatchMouseEventTypeMousePressed, at)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, at)
}

// mouse presses or releases the button at a point of the screen.
func (b *tab) mouse(kind input.DispatchMouseEventType, at []float64) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
}

// keys types keys.
func (b *tab) keys(keys string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	b.check(chromedp.Do(ctx, chromedp.KeyEvent(keys)))
}

// size sets the size of the tab's screen, in CSS pixels.
func (b *tab) size(width, height int64, phone bool) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone})
}

// scheme makes the tab light or dark, and ends animations.
func (b *tab) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// picture saves a screenshot of the page down to a height in CSS pixels; 0 means the visible part.
func (b *tab) picture(name string, height float64) {
	fast := true // at the price of larger files
	p := page.CaptureScreenshotParams{OptimizeForSpeed: &fast}
	if height > 0 {
		box, err := try[[]float64](b, `[document.documentElement.clientWidth, document.documentElement.scrollHeight]`)
		if err != nil {
			b.t.Error(err)
			return
		}
		beyond := true
		p.CaptureBeyondViewport, p.Clip = &beyond, &page.Viewport{Width: box[0], Height: min(box[1], height), Scale: 1}
	}
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, p)
	if err == nil {
		err = os.WriteFile(filepath.Join(pictures, name+".png"), shot.Data, 0o644)
	}
	if err != nil {
		b.t.Errorf("screenshot %s: %v", name, err)
	}
}
