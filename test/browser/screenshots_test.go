package browser

import (
	"net/url"
	"testing"
)

// screens are the screens that pictures are taken of.
var screens = []struct {
	name          string
	width, height int64
	phone         bool
}{{"desktop", 1280, 900, false}, {"phone", 390, 844, true}}

// schemes are the colour schemes.
var schemes = []string{"light", "dark"}

// shown is one page of which pictures are taken.
type shown struct{ name, path string }

// pathOf returns the path of a page with parameters, from names and values in turn.
func pathOf(path string, pairs ...string) string {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// mostHeight is how far down pictures go, in CSS pixels.
const mostHeight = 1800

// photograph takes pictures of pages, in all screens and schemes, or each screen in one scheme.
func (b *tab) photograph(world string, all bool, pages ...shown) {
	b.t.Helper()
	for _, p := range pages {
		b.open(p.path)
		for i, s := range screens {
			b.size(s.width, s.height, s.phone)
			for k, scheme := range schemes {
				if !all && i != k {
					continue
				}
				b.scheme(scheme)
				b.waits("map", mapDrawn)
				b.picture(world+"-"+p.name+"-"+s.name+"-"+scheme, mostHeight)
			}
		}
	}
}

// mapDrawn is true where the page has no map, or has drawn its countries.
const mapDrawn = `(() => { const map = document.querySelector(".world svg"); if (!map) return true;
	const uses = [...map.querySelectorAll("use")]; return uses.length > 200 && uses.every((u) => u.getBBox().width > 0); })()`

// TestScreenshots leaves pictures of the console with 3 and with 10,000 names.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	t.Run("3", func(t *testing.T) {
		s := newSmall(t, "")
		b := newTab(t, s.base)
		b.open("/targets")
		b.waitsText("main", "good")
		b.photograph("3", true, shown{"overview", "/"}, shown{"names", "/names"}, shown{"name", pathOf("/name", "name", hostShop)},
			shown{"explain", pathOf("/explain", "name", hostShop, "from", "198.51.100.7")})
		s.eu.off()
		b.open(pathOf("/name", "name", hostChecked))
		b.waitsText(".legend", "fails over")
		b.photograph("3-failover", true, shown{"name", pathOf("/name", "name", hostChecked)})
		b.excuse(true) // the browser notes that a status is 400
		b.troubled(s)
		b.photograph("3-trouble", false, shown{"overview", "/"}, shown{"names", "/names"}, shown{"name", pathOf("/name", "name", hostChecked)},
			shown{"targets", "/targets"}, shown{"conflicts", "/conflicts"}, shown{"explain", pathOf("/explain", "name", hostChecked, "from", "198.51.100.7")},
			shown{"wrong", pathOf("/explain", "name", hostShop, "from", "nowhere")})
	})
	t.Run("10000", func(t *testing.T) {
		s := newLarge(t)
		b := newTab(t, s.base)
		b.open("/")
		b.waitsText(".alarm.grave", "100 names with nothing up")
		b.photograph("10000", true, shown{"overview", "/"}, shown{"names", "/names"}, shown{"name", pathOf("/name", "name", "app-00000.team-00.k.example.com")},
			shown{"explain", pathOf("/explain", "name", "app-00001.team-00.k.example.com", "from", "198.51.100.7")})
		b.photograph("10000", false, shown{"failing", "/names?state=failing"}, shown{"targets", "/targets"}, shown{"conflicts", "/conflicts"})
	})
}
