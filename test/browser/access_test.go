package browser

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
)

// checksJS has the checks that run within a page.
//
//go:embed testdata/access.js
var checksJS string

// faultsOf returns the faults that a function of checksJS finds in the page.
func (b *tab) faultsOf(function string) []string {
	b.t.Helper()
	return eval[[]string](b, `(() => {`+checksJS+`; document.getAnimations().forEach((a) => a.finish()); return `+function+` })()`)
}

// accessPages are the pages to check for accessibility: all, and the page for unknown paths.
func accessPages() []string {
	return append(everyPage(), pathOf("/name", "name", "nothing.k.example.com"), pathOf("/explain", "name", hostShop, "from", "nowhere"))
}

// newAccess starts a small world with everything that a page can show, and opens a tab.
func newAccess(t *testing.T) *tab {
	t.Helper()
	s := newSmall(t, "")
	b := newTab(t, s.base)
	b.excuse(true) // some pages return 400 or 404
	b.troubled(s)
	return b
}

// TestContrast: all text, including placeholders and generated labels before cells, has a contrast
// of at least 4.5 to 1, in both schemes (WCAG 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	t.Parallel()
	b := newAccess(t)
	for _, path := range accessPages() {
		b.open(path)
		for _, screen := range screens {
			b.size(screen.width, screen.height, screen.phone)
			for _, scheme := range schemes {
				b.scheme(scheme)
				for _, fault := range b.faultsOf("contrast(4.5)") {
					t.Errorf("%s, %s, %s: %s", path, screen.name, scheme, fault)
				}
			}
		}
	}
	if got := b.faultsOf("contrast(22)"); len(got) < 10 { // there is more than black on white
		t.Errorf("the check finds little: %q", got)
	}
	eval[int](b, `document.styleSheets[0].insertRule("h1 { color: #777; background: #999 }", document.styleSheets[0].cssRules.length)`)
	if got := b.faultsOf("contrast(4.5)"); len(got) != 1 || !strings.Contains(got[0], "1.5") {
		t.Errorf("grey on grey gives %q", got)
	}
}

// fits checks that a page is no wider than the screen, and that no word is broken in a wrong place.
func (b *tab) fits(path string, width int64) {
	b.t.Helper()
	if got := eval[int64](b, `Math.max(document.documentElement.scrollWidth, innerWidth)`); got > width {
		b.t.Errorf("%s is %d pixels wide on a screen of %d: %s", path, got, width, strings.Join(b.faultsOf(fmt.Sprintf("wider(%d)", width)), ", "))
	}
	for _, fault := range b.faultsOf("spelled()") {
		b.t.Errorf("%s, %d pixels wide: %s", path, width, fault)
	}
}

// TestNarrow: on a phone, and at 320 pixels, no page is wider than the screen (WCAG 2.2, 1.4.10),
// and touch targets are at least 24 pixels high and wide, or inside a sentence (2.5.8).
func TestNarrow(t *testing.T) {
	t.Parallel()
	b := newAccess(t)
	for _, path := range accessPages() {
		b.open(path)
		for _, width := range []int64{320, 390} {
			b.size(width, 700, true)
			b.fits(path, width)
			for _, fault := range b.faultsOf("touch(24)") {
				t.Errorf("%s, %d pixels wide: %s", path, width, fault)
			}
		}
	}
	if got := b.faultsOf("touch(100)"); len(got) < 5 {
		t.Errorf("the check finds little: %q", got)
	}
}

// TestNarrowLong: no page is wider than the screen if all names have the maximum length.
func TestNarrowLong(t *testing.T) {
	t.Parallel()
	s, host := newWide(t)
	b := newTab(t, s.base, quick)
	b.excuse(true) // an unknown name returns 404
	b.open("/")
	b.waitsText(".alarm.grave", host)
	b.waitsText(".alarm", "wanted by")
	b.waitsText(".alarm", "-elsewhere in cluster as")
	for _, path := range []string{
		"/", "/names", pathOf("/name", "name", host), "/targets", "/conflicts", pathOf("/explain", "name", host, "from", "198.51.100.7"), pathOf("/name", "name", "x"+host[1:]),
		pathOf("/explain", "name", host, "from", strings.Repeat("f", 200)),
	} {
		b.open(path)
		for _, width := range []int64{320, 390, 800, 1280} {
			b.size(width, 700, width < 500)
			b.fits(path, width)
			if width < 500 {
				for _, fault := range b.faultsOf(fmt.Sprintf("wider(%d)", width)) {
					t.Errorf("%s, %d pixels wide: %s is wider", path, width, fault)
				}
			}
		}
	}
}

// node is one node of the accessibility tree.
type node struct {
	role, name string
	parent     accessibility.NodeID
	level      int
	focusable  bool
}

// tree returns the nodes of the accessibility tree that are not ignored, in order, and all nodes by
// ID.
func (b *tab) tree() (list []*node, all map[accessibility.NodeID]*node) {
	b.t.Helper()
	all = make(map[accessibility.NodeID]*node)
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		one := &node{role: textOf(n.Role), name: textOf(n.Name), parent: n.ParentID}
		for _, p := range n.Properties {
			switch p.Name {
			case accessibility.PropertyNameLevel:
				_, _ = fmt.Sscan(string(p.Value.Value), &one.level)
			case accessibility.PropertyNameFocusable:
				one.focusable = string(p.Value.Value) == "true"
			}
		}
		all[n.NodeID] = one
		if !n.Ignored {
			list = append(list, one)
		}
	}
	return list, all
}

// textOf returns a string value of the protocol.
func textOf(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(strings.Trim(string(v.Value), `"`))
}

// controls are the roles of elements that must have a name.
var controls = map[string]bool{
	"link": true, "button": true, "textbox": true, "searchbox": true, "combobox": true, "ComboBoxSelect": true, "MenuListPopup": false, "option": true,
	"DisclosureTriangle": true, "image": true, "img": true, "navigation": true, "meter": true, "search": false,
}

// checkTree returns the faults in a page's accessibility tree, and the number of nodes that it
// checked.
func (b *tab) checkTree() (faults []string, judged int) {
	b.t.Helper()
	list, all := b.tree()
	level, ones := 0, 0
	headers, rows := make(map[*node]int), make(map[*node]int) // of each table
	for _, n := range list {
		switch {
		case n.role == "heading":
			judged++
			if n.level > level+1 || n.name == "" {
				faults = append(faults, fmt.Sprintf("heading %q of level %d after one of level %d", n.name, n.level, level))
			}
			if level = n.level; level == 1 {
				ones++
			}
		case controls[n.role] || n.focusable && n.role != "main" && n.role != "RootWebArea" && n.role != "pre" && n.role != "generic":
			judged++
			if n.name == "" {
				faults = append(faults, fmt.Sprintf("a %s without a name", n.role))
			}
		case n.role == "table":
			headers[n] += 0
		case n.role == "columnheader", n.role == "rowheader":
			judged++
			if in := enclosing(all, n, "table"); in != nil {
				if n.role == "columnheader" {
					headers[in]++
				} else {
					rows[in]++
				}
			}
		}
	}
	if ones != 1 {
		faults = append(faults, fmt.Sprintf("%d headings of level 1", ones))
	}
	for in, n := range headers {
		if n < 3 || rows[in] == 0 {
			faults = append(faults, fmt.Sprintf("a table %q with %d headers of columns and %d of rows", in.name, n, rows[in]))
		}
	}
	return faults, judged
}

// enclosing returns the nearest node with a role around a node; nil for none.
func enclosing(all map[accessibility.NodeID]*node, n *node, role string) *node {
	for n != nil && n.role != role {
		n = all[n.parent]
	}
	return n
}

// TestNames: for users of screen readers, each control, image and landmark has a name, the headings
// are in order, and tables have headers, also on a phone, where they do not look like tables.
func TestNames(t *testing.T) {
	t.Parallel()
	b := newAccess(t)
	call(b, accessibility.Enable, cdp.Empty{})
	for _, path := range accessPages() {
		b.open(path)
		if got := eval[string](b, `document.documentElement.lang`); got != "en" {
			t.Errorf("%s is in the language %q", path, got)
		}
		for _, screen := range screens {
			b.size(screen.width, screen.height, screen.phone)
			faults, judged := b.checkTree()
			for _, fault := range faults {
				t.Errorf("%s, %s: %s", path, screen.name, fault)
			}
			if judged < 7 {
				t.Errorf("%s, %s: only %d nodes were judged", path, screen.name, judged)
			}
		}
	}
	// The check must find planted faults.
	b.open("/names")
	eval[bool](b, `document.querySelector("main").insertAdjacentHTML("beforeend",
		"<h5>Deep</h5><button></button><input aria-label=''><img src='/assets/icon.svg' width=9 height=9><table><tr><td>a<td>b<tr><td>a<td>b<tr><td>a<td>b</table>"), true`)
	faults, _ := b.checkTree()
	all := strings.Join(faults, "\n")
	for _, want := range []string{`heading "Deep" of level 5`, "a button without", "a textbox without", "a image without"} {
		if !strings.Contains(all, want) {
			t.Errorf("the check does not find %q but\n%s", want, all)
		}
	}
}
