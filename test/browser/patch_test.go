package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// failures is the number of checks of a down target that have failed in a row.
const failures = `Number((document.querySelector("#live").textContent.match(/(\d+) failures in a row/) || [0, 0])[1])`

// TestFollowInPlace: while a page follows, only what differs is changed: the selection stays, and
// the map is not redrawn.
func TestFollowInPlace(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open(pathOf("/name", "name", hostChecked))
	b.waits("map", mapDrawn)
	s.eu.off()
	b.waits("checks that have failed", failures+" > 1")
	const selected = `getSelection().toString()`
	eval[bool](b, `(() => { window.live0 = document.getElementById("live"); window.uses = [...document.querySelectorAll(".world use[class]")];
		window.rows = [...document.querySelectorAll("#countries tr")]; getSelection().selectAllChildren(document.querySelector(".lead")); return true })()`)
	want := eval[string](b, selected)
	if !strings.Contains(want, "shop/checked") {
		t.Fatalf("selected is %q", want)
	}
	drawn, n := b.asked("/assets/world.svg"), eval[int](b, failures)
	b.waits("more checks that have failed", fmt.Sprintf("%s > %d", failures, n+1))
	if got := eval[string](b, selected); got != want {
		t.Errorf("selected is %q, and was %q", got, want)
	}
	s.na.off() // an alarm appears, and the map has other destinations
	b.waitsText(".alarm.grave", "Nothing is up")
	b.waits("map of other destinations", `document.querySelector(".world use title").textContent.endsWith("down")`)
	if got := eval[string](b, selected); got != want {
		t.Errorf("selected is %q, and was %q", got, want)
	}
	if !eval[bool](b, `live0.isConnected && uses.length > 200 && rows.length > 200 && [...uses, ...rows].every((e) => e.isConnected)`) {
		t.Error("the map, or its table, was made anew")
	}
	if got := b.asked("/assets/world.svg"); got != drawn {
		t.Errorf("the map was asked for %d times, and %d times before", got, drawn)
	}
	// A selection within a text that changes elsewhere stays too.
	eval[bool](b, `(() => { const e = [...document.querySelectorAll(".check")].find((e) => /failures in a row/.test(e.textContent)).firstChild;
		const at = e.data.indexOf("refused"); getSelection().setBaseAndExtent(e, at, e, at + 7); return true })()`)
	n = eval[int](b, failures)
	b.waits("more checks that have failed", fmt.Sprintf("%s > %d", failures, n+1))
	if got := eval[string](b, selected); got != "refused" {
		t.Errorf("selected is %q, and was refused", got)
	}
	s.eu.on(t)
	s.na.on(t)
	b.waits("page without alarms", `document.querySelector(".alarm") === null && document.querySelectorAll(".tree .state.up").length === 4`)
}

// TestFollowMatches: a page that followed equals one that was just loaded.
func TestFollowMatches(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	s.trouble()
	paths := []string{"/", "/names", pathOf("/name", "name", hostChecked), pathOf("/name", "name", hostStatus), "/targets", "/conflicts"}
	boottest.WaitOr(t, func() string { return "there is no trouble" }, func() bool {
		text := s.get("/")
		return strings.Contains(text, hostChecked) && strings.Contains(text, "younger")
	})
	troubled := make(map[string]string)
	for _, path := range paths {
		troubled[path] = s.get(path)
	}
	s.eu.on(t)
	s.na.on(t)
	s.remove("na/b.yaml")
	s.write("as/b.yaml", manifest("another", "192.0.2.77", "", "a.k.example.com", "z.k.example.com"))
	boottest.WaitOr(t, func() string { return "there is trouble" }, func() bool {
		return strings.Contains(s.get("/"), "Nothing needs attention") && strings.Contains(s.get("/names"), "z.k.example.com")
	})
	for _, path := range paths {
		answers := []string{troubled[path], s.get(path)}
		p := s.play(path, answers)
		b := newTab(t, p.URL, `{ const real = window.setTimeout; window.setTimeout = (f, ms) => { if (ms >= 1000) { window.look = f; window.looks = (window.looks || 0) + 1; } else real(f, ms); return 0; }; }`)
		b.open(path)
		for i := range 4 { // there and back
			asked := p.asked.Load()
			eval[bool](b, `window.was = document.getElementById("live").innerHTML, window.before = looks, look(), true`)
			b.waits("look", `looks > before && window.was !== document.getElementById("live").innerHTML`)
			if p.asked.Load() != asked+1 {
				t.Fatalf("%s: it was asked for %d times at once", path, p.asked.Load()-asked)
			}
			got := eval[[]string](b, `[document.getElementById("live").innerHTML, document.getElementById("live").dataset.summary]`)
			want := eval[[]string](b, fmt.Sprintf(`((e) => [e.innerHTML, e.dataset.summary])(new DOMParser().parseFromString(%q, "text/html").getElementById("live"))`, answers[p.asked.Load()%2]))
			if len(got[0]) < 100 || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("%s: look %d makes of it\n%s\nwant\n%s", path, i, got, want)
			}
		}
	}
}

// TestFollowOrder: the focus stays on its element when the order changes.
func TestFollowOrder(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open("/targets")
	b.waits("two targets that are up", `document.querySelectorAll("td .state.up").length === 2`)
	const row = `document.activeElement.closest("tr")`
	eval[bool](b, `document.querySelectorAll("tbody a")[1].focus(), true`)
	if got := eval[string](b, row+`.querySelector("th").textContent`); !strings.Contains(got, targetNA) {
		t.Fatalf("the second target is %q", got)
	}
	s.na.off()
	b.waits("row that comes first", `document.querySelector("tbody tr .state.down") && document.querySelector("tbody tr").querySelector(".state.down") !== null`)
	if got := eval[string](b, `document.activeElement.localName + " " + (`+row+` ? `+row+`.querySelector("th").textContent : "")`); !strings.Contains(got, targetNA) {
		t.Errorf("the focus is on %q", got)
	}
}

// TestTitle: the tab's title has the number of alarms.
func TestTitle(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.open("/")
	b.waits("title without a number", `document.title === "Overview · kuadrant"`) // once the server is ready
	s.trouble()
	b.waitsText(".alarm", "younger")
	b.waitsText(".alarm", hostChecked)
	b.waits("number in the title", `document.querySelectorAll(".alarm").length > 1 && document.title === "(" + document.querySelectorAll(".alarm").length + ") Overview · kuadrant"`)
	b.open("/")
	b.waits("number in the title of a page that is new", `document.title.startsWith("(")`)
}

// TestFollowOlder: browsers without AbortSignal.any follow too.
func TestFollowOlder(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick, `delete AbortSignal.any`)
	b.open("/names")
	s.write("eu/c.yaml", manifest("another", "192.0.2.77", "", "another.k.example.com"))
	b.waitsText("tbody a", "another")
}

// TestRetryAfter: a page obeys Retry-After.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	p := s.play("/names", []string{s.get("/names")})
	const noted = `{ window.waited = []; const real = window.setTimeout; window.setTimeout = (f, ms) => { if (ms >= 1000) waited.push(ms); return real(f, Math.min(ms, 100)); }; }`
	b := newTab(t, p.URL, noted)
	b.excuse(true) // the browser notes that the status is 429
	b.open("/names")
	b.waits("looks", `waited.length > 2 && waited.every((ms) => ms === 2000)`)
	p.busy.Store(77)
	b.waits("look that comes later", `waited.includes(77000)`)
	p.busy.Store(0)
	b.waits("look that comes as ever", `waited.at(-1) === 2000`)
}

// TestRecover: a page that the server could not show when it was opened gets all that it lacks with the first answer, the heading and
// the title too, and is not loaded again: that would cost as much once more.
func TestRecover(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	for path, lacks := range map[string]string{
		"/names":                             `document.querySelector("main .filter input[name=zone]") !== null`,
		pathOf("/name", "name", hostChecked): `document.querySelector("main form input[name=from]") !== null`,
	} {
		good := s.get(path)
		form, live, end := regexp.MustCompile(`<(form|div) class="filter"`).FindStringIndex(good)[0], strings.Index(good, `<div id="live"`), strings.Index(good, "</main>")
		if form < 0 || live < form || end < live {
			t.Fatalf("the page is\n%s", good)
		}
		foot := strings.Index(good, "<footer>")
		refused := good[:form] + `<div id="live" data-summary=""><p class="alarm" role="alert">too many requests</p></div>` + good[end:foot] + "<footer><p>read-only</p></footer></body></html>"
		title := regexp.MustCompile(`<title>(.*) · kuadrant</title>`).FindStringSubmatch(good)[1]
		refused = strings.NewReplacer("<title>"+title, "<title>Too early", "<h1>"+title, "<h1>Too early").Replace(refused)
		answers := make([]string, 1000)
		for i := range answers {
			answers[i] = good
		}
		answers[1] = refused // the first
		p := s.play(path, answers)
		b := newTab(t, p.URL, `{ const real = window.setTimeout; window.setTimeout = (f, ms) => { if (ms >= 1000) window.look = f; else real(f, ms); return 0; }; }`)
		b.open(path)
		if head := eval[[]string](b, `[document.querySelector("h1").textContent, document.title]`); head[0] != "Too early" || head[1] != "Too early · kuadrant" {
			t.Fatalf("%s: opened, it is headed %q", path, head)
		}
		eval[bool](b, `look(), window.first = true`)
		b.waits("form", lacks)
		b.waitsText("main", hostChecked)
		b.waits("foot", `document.querySelectorAll("footer a").length > 0`)
		b.waits("heading and title", fmt.Sprintf(`document.querySelector("h1").textContent === %[1]q && document.title.endsWith(%[2]q)`, title, title+" · kuadrant"))
		if !eval[bool](b, `window.first === true && document.querySelectorAll("main .filter").length === 1 && document.querySelector("main .alarm[role]") === null`) {
			t.Errorf("%s: the page was loaded again, or is not as it is when it is opened", path)
		}
	}
}
