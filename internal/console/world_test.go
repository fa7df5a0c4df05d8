package console

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// notDrawn are the countries that the map lacks, with the reason.
var notDrawn = map[string]string{
	"AQ": "the map ends at 57 degrees south; nobody but some stations is there, and the table has it",
}

// TestMapHasEveryCountry: each country has a shape on the map and room for a number, except those listed here.
func TestMapHasEveryCountry(t *testing.T) {
	m := worldMap()
	for _, c := range geo.Countries() {
		at, ok := m.countries[c.Code]
		switch why := notDrawn[c.Code]; {
		case !ok && why == "":
			t.Errorf("%s is not on the map", c.Code)
		case ok && why != "":
			t.Errorf("%s is on the map, which should lack it: %s", c.Code, why)
		case ok && (at.radius <= 0 || at.x <= 0 || at.x >= 1000 || at.y <= 0 || at.y >= 444):
			t.Errorf("%s has no room for a number: %+v", c.Code, at)
		}
	}
	if n := len(m.countries) + len(notDrawn); n != len(geo.Countries()) {
		t.Errorf("the map has %d countries, want %d", len(m.countries), len(geo.Countries())-len(notDrawn))
	}
}

// TestMapParts: a territory with its own code is not drawn as part of another country.
func TestMapParts(t *testing.T) {
	data, err := files.ReadFile("assets/world.svg")
	if err != nil {
		t.Fatal(err)
	}
	// What follows is in the units of the picture.
	start := regexp.MustCompile(`M([\d.]+) ([\d.]+)`) // of each polygon
	for _, c := range []struct {
		code                   string
		west, east, top, below float64
	}{
		{"FR", 480, 530, 60, 110},
		{"NL", 500, 530, 60, 80},
		{"NO", 500, 580, 15, 70},
		{"GF", 340, 360, 220, 245},
		{"SJ", 480, 570, 9, 30},
		{"RE", 640, 660, 320, 340},
		{"YT", 615, 635, 290, 305},
		{"CX", 780, 800, 280, 300},
		{"TK", 10, 40, 270, 295},
	} {
		_, rest, _ := strings.Cut(string(data), `<path id="`+c.code+`"`)
		path, _, _ := strings.Cut(rest, "/>")
		found := start.FindAllStringSubmatch(path, -1)
		if len(found) == 0 {
			t.Errorf("%s has no path", c.code)
		}
		for _, f := range found {
			x, _ := strconv.ParseFloat(f[1], 64)
			y, _ := strconv.ParseFloat(f[2], 64)
			if x < c.west || x > c.east || y < c.top || y > c.below {
				t.Errorf("%s has a polygon at %g %g", c.code, x, y)
			}
		}
	}
}

// worldOf renders a map of n destinations: consecutive countries go to consecutive destinations, the last nowhere.
func worldOf(t *testing.T, n int) string {
	t.Helper()
	w := &inspect.World{Name: "a.example.com", Type: "A"}
	for i := range n {
		w.Destinations = append(w.Destinations, inspect.Destination{
			Geo:   []string{fmt.Sprintf("GEO-%02d", i)},
			Class: []string{"up", "down"}[i%2], Countries: 1,
		})
	}
	all := geo.Countries()
	for i, c := range all {
		to := i % n
		if i == len(all)-1 {
			to = -1
		}
		w.Countries = append(w.Countries, inspect.CountryGoes{Code: c.Code, Name: "Country " + c.Code, To: to})
	}
	var b strings.Builder
	if err := templates()["name"].ExecuteTemplate(&b, "world", w); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMapTexts: text, not only colour, says where a country goes.
func TestMapTexts(t *testing.T) {
	const grey = "From here on all are grey"
	few, many := worldOf(t, colours), worldOf(t, 12)
	for _, want := range []string{
		"<title>Country AD: GEO-00, up</title>", "<title>Country AE: GEO-01, down</title>", "<title>Country ZW: nowhere</title>",
		`class="land"><title>Country ZW`,
		`<span class="nth">8</span> <b>GEO-07</b>`,
	} {
		if !strings.Contains(few, want) {
			t.Errorf("the map lacks %s:\n%.2000s", want, few)
		}
	}
	if strings.Contains(few, grey) || strings.Count(many, grey) != 1 {
		t.Errorf("of 8 destinations the grey ones are told apart %d times, want 0; of 12 %d times, want 1", strings.Count(few, grey),
			strings.Count(many, grey))
	}
	if before, _, _ := strings.Cut(many, grey); !strings.Contains(before, "GEO-06") || strings.Contains(before, "<b>GEO-07") {
		t.Error("the word on grey ones does not stand before the first of them")
	}
	for n := 1; n <= 12; n++ {
		if want := fmt.Sprintf(">%d</text>", n); !strings.Contains(many, want) {
			t.Errorf("destination %d has no number on the map", n)
		}
	}
}

// TestMapSmallOnTop: small countries are drawn after their neighbours, which would hide them.
func TestMapSmallOnTop(t *testing.T) {
	var all []inspect.CountryGoes
	for _, c := range geo.Countries() {
		all = append(all, inspect.CountryGoes{Code: c.Code})
	}
	at := func(code string) int {
		return slices.IndexFunc(drawn(all), func(c inspect.CountryGoes) bool { return c.Code == code })
	}
	for _, pair := range [][2]string{{"AD", "ES"}, {"GI", "ES"}, {"AD", "FR"}, {"HK", "CN"}, {"LI", "CH"}} {
		if at(pair[0]) < at(pair[1]) {
			t.Errorf("%s is drawn before %s", pair[0], pair[1])
		}
	}
}
