package browser

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// focusable lists what the Tab key must reach, in document order. focusText describes the focused
// element.
const (
	focusText = `((e) => e.localName + " " + (e.getAttribute("name") || e.innerText || "").trim().split("\n")[0])`
	focusable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].filter((e) => e.tabIndex >= 0).filter((e) => e.checkVisibility()).map(` + focusText + `)`
	focused   = focusText + `(document.activeElement)`
)

// focusSeen is true if the focused element is marked, and in view.
const focusSeen = `(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
	return e.matches(":focus-visible") && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth; })()`

// TestKeyboardOrder: the Tab key reaches everything in page order, and the focus is visible.
func TestKeyboardOrder(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base)
	b.troubled(s)
	for _, path := range everyPage() {
		b.open(path)
		want := eval[[]string](b, focusable)
		var got []string
		for range want {
			b.keys(kb.Tab)
			at := eval[string](b, focused)
			if !eval[bool](b, focusSeen) {
				t.Errorf("%s: the focus on %q cannot be seen", path, at)
			}
			got = append(got, at)
		}
		if len(want) < 8 || !slices.Equal(got, want) {
			t.Errorf("%s: Tab goes to\n%q\nwant\n%q", path, got, want)
		}
	}
}

// tabTo presses Tab until an element has the focus.
func (b *tab) tabTo(what string) {
	b.t.Helper()
	for range 100 {
		b.keys(kb.Tab)
		if eval[string](b, focused) == what {
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %q", what)
}

// TestKeyboard: the keyboard alone leads from the first page to a name and the explanation of its
// answer.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base)
	b.open("/")
	b.waitsText(".calm", "Nothing needs attention") // the first checks are done
	b.keys(kb.Tab)
	if got := eval[string](b, focused); got != "a Skip to the content" || !eval[bool](b, focusSeen) {
		t.Errorf("the first is %q", got)
	}
	b.keys(kb.Enter)
	b.waits("focus in the content", `document.activeElement.id === "main" && location.hash === "#main"`)
	b.keys(kb.Tab)
	if got := eval[string](b, focused); got != "a k.example.com" {
		t.Errorf("the first of the content is %q", got)
	}
	b.open("/")
	b.tabTo("a Names")
	b.keys(kb.Enter)
	b.waitsText("h1", "Names")
	b.tabTo("input q")
	b.keys("shop" + kb.Enter)
	b.waits("list with one name", `location.search.includes("q=shop") && document.querySelectorAll("tbody tr").length === 1`)
	b.tabTo("a " + hostShop)
	b.keys(kb.Enter)
	b.waitsText("h1", hostShop)
	b.tabTo("input from")
	b.keys("198.51.100.7" + kb.Enter)
	b.waitsText("h1", fmt.Sprintf("Why %s has this answer", hostShop))
	b.waitsText("tr.taken", "GEO-NA")
}

// clipboard records what is copied: the browser's own asks for permission.
const clipboard = `Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.clip = text; }}});`

// TestCopy: a click copies a command, and the Enter key an identifier; both are selected.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, clipboard)
	b.troubled(s)
	b.click(".do .copy")
	b.waits("command", fmt.Sprintf(`window.clip === "kdns explain %s --server %s" && getSelection().toString() === clip`, hostChecked, s.base))
	b.waitsText("#announce", "copied")
	b.open(pathOf("/name", "name", hostShop))
	b.tabTo("code " + b.text(".tree .copy"))
	b.keys(kb.Enter)
	b.waits("identifier", `window.clip.endsWith(".klb.`+hostShop+`") && getSelection().toString() === clip`)
}
