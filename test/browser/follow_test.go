package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestFollow: pages follow a target that is switched off and on, without a reload, and announce it
// to screen readers.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	overview, name, targets := newTab(t, s.base), newTab(t, s.base, quick), newTab(t, s.base, quick) // the first polls at its normal rate
	overview.open("/")
	name.open(pathOf("/name", "name", hostChecked))
	targets.open("/targets")
	for _, b := range []*tab{overview, name, targets} {
		eval[bool](b, `window.here = true`)
		if got := b.text("#announce"); got != "" {
			t.Errorf("a page that has not changed says %q", got)
		}
	}
	targets.waits("two targets that are up", `document.querySelectorAll("td .state.up").length === 2`)
	s.eu.off()
	name.waitsText(".tree .state.down", "down")
	name.waitsText("#announce", "1 of 2 up, 1 down")
	name.waitsText(".check", "connection refused")
	targets.waitsText("td .state.down", "down")
	targets.waitsText("#announce", "1 target up, 1 down")
	s.na.off()
	overview.waitsText(".alarm.grave", hostChecked+": all clients")
	overview.waitsText("#announce", "2 things to look at: 1 name with nothing up, 2 targets down")
	name.waitsText(".alarm.grave", "Nothing is up for all clients")
	targets.waits("two targets that are down", `document.querySelectorAll("td .state.down").length === 2`)
	s.eu.on(t)
	s.na.on(t)
	overview.waitsText(".calm", "Nothing needs attention")
	overview.waitsText("#announce", "nothing needs attention")
	name.waitsText("#announce", "2 of 2 up")
	targets.waits("two targets that are up", `document.querySelectorAll("td .state.up").length === 2`)
	for _, b := range []*tab{overview, name, targets} {
		if !eval[bool](b, `window.here === true`) {
			t.Errorf("%s was loaded again", eval[string](b, `location.href`))
		}
	}
}

// TestFollowLeaves: while the page follows, closed sections stay closed, and the focus and the
// scroll position stay where they were.
func TestFollowLeaves(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open(pathOf("/name", "name", hostChecked))
	b.click("#geo-GEO-NA > summary")
	b.click("#countries > summary")
	eval[bool](b, `document.querySelector("#geo-GEO-EU details > summary").focus(), true`)
	const focused = `document.activeElement.parentNode.id`
	member := eval[string](b, focused)
	const open = `[...document.querySelectorAll("details[open]")].map((d) => d.id)`
	opened := eval[[]string](b, open)
	if !slices.Contains(opened, "geo-GEO-EU") || !slices.Contains(opened, "countries") || slices.Contains(opened, "geo-GEO-NA") {
		t.Fatalf("open are %q", opened)
	}
	s.eu.off()
	b.waitsText(".tree .state.down", "down")
	if got := eval[[]string](b, open); !slices.Equal(got, opened) {
		t.Errorf("open are %q, and %q were", got, opened)
	}
	if got := eval[string](b, focused); got != member {
		t.Errorf("the focus is in %q, and was in %q", got, member)
	}
	s.na.off() // an alarm now precedes the focused element
	b.waitsText(".alarm.grave", "Nothing is up")
	if got := eval[string](b, focused); got != member {
		t.Errorf("the focus is in %q, and was in %q", got, member)
	}
	if got := eval[[]string](b, open); !slices.Equal(got, opened) {
		t.Errorf("open are %q, and %q were", got, opened)
	}
	b.keys(kb.Enter) // the key goes to the focused element
	b.waits("member that is closed", fmt.Sprintf(`!document.getElementById(%q).open`, member))

	// No table of this world is wider than a page: widen this one.
	eval[int](b, `document.styleSheets[0].insertRule("#countries table { min-width: 3000px }")`)
	if got := eval[int](b, `(() => { const e = document.querySelector("#countries .scroll"); e.scrollLeft = 7; return e.scrollLeft })()`); got != 7 {
		t.Fatalf("the table is not wider than the page: it was scrolled to %d", got)
	}
	s.eu.on(t)
	b.waits("member that is up", `document.querySelector(".tree .state.up") !== null`)
	b.waits("member that is still closed", fmt.Sprintf(`!document.getElementById(%q).open`, member))
	if got := eval[int](b, `document.querySelector("#countries .scroll").scrollLeft`); got != 7 {
		t.Errorf("the table is scrolled to %d, and was to 7", got)
	}
}

// TestFollowLink: the focus stays on a link while others are inserted before it.
func TestFollowLink(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open("/")
	eval[bool](b, `document.querySelector("[aria-labelledby=zones] a").focus(), true`)
	s.trouble()
	b.waitsText(".alarm", hostChecked)
	b.waitsText(".alarm", "younger")
	if got := eval[string](b, `document.activeElement.innerText`); got != "k.example.com" {
		t.Errorf("the focus is on %q", got)
	}
	b.open("/names")
	eval[bool](b, `[...document.querySelectorAll("tbody a")].find((a) => a.innerText === "status.k.example.com").focus(), true`)
	s.write("eu/c.yaml", manifest("another", "192.0.2.77", "", "another.k.example.com"))
	b.waitsText("tbody a", "another")
	if got := eval[string](b, `document.activeElement.innerText`); got != hostStatus {
		t.Errorf("the focus is on %q", got)
	}
}

// TestLost: a page says that the server does not answer, and since when. It follows again when the
// server is back.
func TestLost(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open("/names")
	eval[bool](b, `window.here = true`)
	b.waits("page without the alarm", `lost.hidden`)
	b.excuse(true)
	s.end()
	b.waits("word that the server is lost", `!lost.hidden && lost.innerText.startsWith("The server does not answer. What is shown is from ")`)
	b.waitsText("#lost-at", "UTC")
	b.waitsText("tbody", hostStatus) // the known content stays
	s.write("eu/c.yaml", manifest("another", "192.0.2.77", "", "another.k.example.com"))
	s.start("another.k.example.com")
	b.waitsText("tbody a", "another")
	b.waits("page without the alarm", `lost.hidden`)
	b.waitsText("#announce", "6 names shown")
	if !eval[bool](b, `window.here === true`) {
		t.Error("the page was loaded again")
	}
}

// TestGone: the page of a deleted name says so, and follows again when the name is back.
func TestGone(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	text := manifest("another", "192.0.2.77", "", "another.k.example.com")
	s.write("eu/c.yaml", text)
	b := newTab(t, s.base, quick)
	b.open("/names")
	b.waitsText("tbody a", "another")
	b.open(pathOf("/name", "name", "another.k.example.com"))
	b.waitsText(".address", "192.0.2.77")
	b.waits("page without the alarm", `lost.hidden`)
	b.excuse(true) // the browser logs the status 404
	s.remove("eu/c.yaml")
	b.waits("word that it has gone", `!lost.hidden && lost.innerText.includes("another.k.example.com has no data")`)
	b.waitsText(".address", "192.0.2.77")
	s.write("eu/c.yaml", text)
	b.waits("page without the alarm", `lost.hidden`)
	b.open(pathOf("/name", "name", "never.k.example.com"))
	b.waitsText("[role=alert]", "never.k.example.com has no data")
}

// TestFollowClick: a page that changes during a click does not lose the click.
func TestFollowClick(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	path := pathOf("/name", "name", hostChecked)
	b.open(path)
	b.waits("two addresses that are up", `document.querySelector("#live").dataset.summary === "2 of 2 up" && document.querySelectorAll(".check").length === 2`)
	at := eval[[]float64](b, `(() => { const r = document.querySelector("#geo-GEO-NA > summary").getBoundingClientRect(); return [r.x + 20, r.y + r.height / 2] })()`)
	b.mouse(input.DispatchMouseEventTypeMousePressed, at)
	s.eu.off()
	// Polling the console would use up the page's request limit.
	boottest.WaitOr(t, func() string { return "the server does not see that the target is down" },
		func() bool { return strings.Contains(s.log(), " is down: ") })
	asked := b.asked(path)
	boottest.WaitOr(t, func() string { return "the page does not look" }, func() bool { return b.asked(path) > asked+2 })
	b.mouse(input.DispatchMouseEventTypeMouseReleased, at)
	b.waits("group that is closed", `!document.getElementById("geo-GEO-NA").open`)
	b.waitsText(".tree .state.down", "down")
	if eval[bool](b, `document.getElementById("geo-GEO-NA").open`) {
		t.Error("the group is open again")
	}
}
