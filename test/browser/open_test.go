package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// links returns the texts of the links in the rows of the first table.
func (b *tab) links() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("tbody th a")].map((a) => a.innerText)`)
}

// TestFilter: the names form filters the list, and its links work.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base)
	b.open("/names")
	all := []string{hostChecked, "k.example.com", "ns1.k.example.com", hostShop, hostStatus}
	if got := b.links(); !slices.Equal(got, all) {
		t.Errorf("the names are %q, want %q", got, all)
	}
	b.click(`input[name=q]`)
	b.keys("SHOP")
	b.click("main button")
	b.waits("list with one name", `location.search.includes("q=SHOP") && document.querySelectorAll("tbody tr").length === 1`)
	if got := b.links(); !slices.Equal(got, []string{hostShop}) {
		t.Errorf("the filter leaves %q", got)
	}
	b.click("tbody th a")
	b.waitsText("h1", hostShop)
	b.click(`.world a[href*="from=AU"] use`)
	b.waitsText(".answer", "For a client in AU, GEO-OC")
	b.click("#search input") // on every page
	b.keys("nothing like this" + kb.Enter)
	b.waitsText("#live", "No name fits")
}

// TestPages: a list of many names has pages that link to one another.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	var hosts []string
	for i := range 150 {
		hosts = append(hosts, fmt.Sprintf("app-%03d.k.example.com", i))
	}
	s.write("eu/a.yaml", manifest("a", "192.0.2.1", "", hosts[:50]...)+manifest("b", "192.0.2.2", "", hosts[50:100]...)+manifest("c", "192.0.2.3", "", hosts[100:]...))
	s.start(hosts[0])
	b := newTab(t, s.base)
	b.open(pathOf("/names", "q", "app-"))
	seen := b.links()
	b.click("a.next")
	b.waitsText("tbody", hosts[149])
	if seen = append(seen, b.links()...); !slices.Equal(seen, hosts) {
		t.Errorf("the pages have %d names, want %d: %q", len(seen), len(hosts), seen)
	}
}

// TestExplain: the form explains the answer to a query from the same client.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base)
	for _, from := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"} {
		t.Run(strings.ReplaceAll(from, "/", "-"), func(t *testing.T) {
			b.t = t
			b.open("/explain")
			b.click("input[name=name]")
			b.keys(hostShop)
			b.click("input[name=from]")
			b.keys(from)
			b.click("main button")
			b.waitsText("#answer", "NOERROR")
			m, err := s.ask(hostShop, from)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, rr := range m.Answer {
				want = append(want, strings.Join(strings.Fields(rr.String()), " "))
			}
			var got []string
			for line := range strings.Lines(eval[string](b, `document.querySelector(".answer pre").textContent`)) {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			if len(want) < 4 || !slices.Equal(got, want) {
				t.Errorf("the page says\n%s\nthe server answers\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			address := strings.Fields(want[len(want)-1])[4]
			if got := b.text(".steps .addresses .address"); got != address {
				t.Errorf("the page explains %s, and the answer is %s", got, address)
			}
			if got := eval[int](b, `document.querySelectorAll("tr.taken").length`); got != 1 {
				t.Errorf("%d members are taken, want 1", got)
			}
		})
	}
	b.t = t
}

// TestExplainWrong: an invalid question stays in the form, with an error message.
func TestExplainWrong(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.excuse(true) // the browser logs the status 400
	path := pathOf("/explain", "name", hostShop, "from", "nowhere")
	b.open(path)
	b.waitsText("[role=alert]", "neither an address nor a network")
	if got := eval[string](b, `document.querySelector("input[name=from]").value`); got != "nowhere" {
		t.Errorf("the form has %q", got)
	}
	// The page polls again, and does not report the server as lost.
	eval[bool](b, `window.alarm = document.querySelector("#live [role=alert]"), true`)
	boottest.WaitOr(t, func() string { return "the page has not looked again" }, func() bool { return b.asked(path) > 3 })
	if !eval[bool](b, `lost.hidden && alarm.isConnected`) {
		t.Error("a page that is as it was says so again")
	}
}

// everyPage returns all pages of the small world.
func everyPage() []string {
	return []string{
		"/", "/names", pathOf("/names", "q", "shop", "zone", "k.example.com", "state", ""), pathOf("/name", "name", hostStatus), pathOf("/name", "name", hostShop),
		pathOf("/name", "name", hostChecked), "/targets", "/conflicts", "/explain", pathOf("/explain", "name", hostShop, "from", "198.51.100.7"),
		pathOf("/explain", "name", hostChecked, "type", "A"), pathOf("/explain", "name", "nothing.k.example.com", "type", "TXT"),
		pathOf("/explain", "name", hostShop, "from", "IE"),
	}
}

// TestEveryPage: pages load only from the server, and without errors.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	b.troubled(s)
	for _, path := range everyPage() {
		b.open(path)
		b.waits("map", mapDrawn)
		asked := b.asked(path)
		boottest.WaitOr(t, func() string { return path + " has not looked again" }, func() bool { return b.asked(path) > asked })
		if got := eval[int](b, `document.styleSheets.length`); got != 1 {
			t.Errorf("%s has %d style sheets, want 1", path, got)
		}
		if got := eval[[]string](b, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`); len(got) > 0 {
			t.Errorf("%s has several elements with the ids %q", path, got)
		}
	}
	if b.asked("/assets/world.svg") == 0 {
		t.Error("the map was not asked for: nothing was seen")
	}
}

// TestWatch: a tab notices errors in a page; else the other tests would see nothing.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := openTab(t, s.base)
	for _, c := range []struct{ what, script, noticed string }{
		{"an exception", `setTimeout(() => { throw new Error("thrown here") }, 0), true`, "thrown here"},
		{"an error", `console.error("written here"), true`, "written here"},
		{"a style", `document.body.setAttribute("style", "color: red"), true`, "policy: style-src-attr"},
		{"another host", `document.body.append(Object.assign(new Image(), {src: "http://127.0.0.1:1/a.png"})), true`, "policy: img-src"},
		{"a script", `document.body.append(Object.assign(document.createElement("script"), {textContent: "1"})), true`, "policy: script-src-elem"},
		{"a missing file", `document.body.append(Object.assign(new Image(), {src: "/assets/missing.png"})), true`, "404"},
	} {
		b.open("/")
		eval[bool](b, c.script)
		boottest.WaitOr(t, func() string { return fmt.Sprintf("%s was not noticed: %q", c.what, b.wrong()) }, func() bool {
			return slices.ContainsFunc(b.wrong(), func(fault string) bool { return strings.Contains(fault, c.noticed) })
		})
	}
}

// TestNoScript: all pages work without scripts.
func TestNoScript(t *testing.T) {
	t.Parallel()
	s := newSmall(t, "")
	b := newTab(t, s.base, quick)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for _, path := range everyPage() {
		b.open(path)
		b.waits("map", mapDrawn)
		if got := eval[int](b, `document.querySelectorAll("h1").length`); got != 1 {
			t.Errorf("%s has %d headings", path, got)
		}
	}
	b.open("/names")
	b.click("input[name=q]")
	b.keys("shop" + kb.Enter)
	b.waits("list with one name", `location.search.includes("q=shop") && document.querySelectorAll("tbody tr").length === 1`)
	b.click("tbody th a")
	b.waitsText("h1", hostShop)
	b.click("summary")
	b.waits("details that are closed", `!document.querySelector("details").open`)
	b.click("input[name=from]")
	b.keys("198.51.100.7")
	b.click("main button")
	b.waitsText("tr.taken", "GEO-NA")
	if got := b.asked(pathOf("/name", "name", hostShop)); got != 2 {
		t.Errorf("the page was asked for %d times, and opened 2 times: a script has run", got)
	}
}

// TestExplainSteady: the page does not redraw the answer at each poll.
func TestExplainSteady(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	const host = "drawn.k.example.com"
	for i, c := range clusters {
		s.write(c+"/a.yaml", manifest("drawn", fmt.Sprintf("192.0.2.%d", i+1), balanced("GEO-EU", true), host))
	}
	s.start(host)
	path := pathOf("/explain", "name", host, "from", "192.0.2.0/24")
	boottest.WaitOr(t, func() string { return "the members are not known" },
		func() bool { return strings.Count(s.get(path), "25 %") >= len(clusters) })
	b := newTab(t, s.base, quick)
	b.open(path)
	eval[bool](b, `window.row = document.querySelector("tr.taken"), true`)
	boottest.WaitOr(t, func() string { return "the page does not look" }, func() bool { return b.asked(path) > 8 })
	if !eval[bool](b, `row.isConnected && announce.innerText === ""`) {
		t.Errorf("the page has changed, and says %q", b.text("#announce"))
	}
}
