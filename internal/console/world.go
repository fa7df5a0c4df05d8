package console

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// colours is the number of destination colours; all further destinations share the last.
const colours = 8

// colour returns the CSS class of a destination.
func colour(to int) string {
	if to < 0 {
		return "land"
	}
	return "c" + strconv.Itoa(min(to, colours-1))
}

// shared reports whether destination to is the first of several with one colour; of is the number of destinations.
func shared(to, of int) bool { return to == colours-1 && of > colours }

// goes describes in a few words where a country's clients go.
func goes(w *inspect.World, c inspect.CountryGoes) string {
	if c.To < 0 {
		return "nowhere"
	}
	d := &w.Destinations[c.To]
	return strings.Join(d.Geo, ", ") + ", " + inspect.ClassText(d.Class) + inPlaceOf(c)
}

// inPlaceOf returns a clause with the geo that a country would go to if that were as healthy; "" for none.
func inPlaceOf(c inspect.CountryGoes) string {
	if c.Away == "" {
		return ""
	}
	return ", in place of " + c.Away
}

// picture is the parsed map.
type picture struct {
	box       string
	countries map[string]spot
	lands     []string // paths without a country code
}

// spot is the largest free circle on a country, for a number: centre and radius in map units.
type spot struct{ x, y, radius float64 }

// worldMap parses assets/world.svg.
var worldMap = sync.OnceValue(func() *picture {
	p := &picture{countries: make(map[string]spot)}
	data, err := files.ReadFile("assets/world.svg")
	if err != nil {
		return p // a test checks that it exists
	}
	d := xml.NewDecoder(strings.NewReader(string(data)))
	for {
		token, err := d.Token()
		if err != nil {
			return p
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := make(map[string]string)
		for _, a := range start.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch id := attr["id"]; {
		case start.Name.Local == "svg":
			p.box = attr["viewBox"]
		case strings.HasPrefix(id, "land-"):
			p.lands = append(p.lands, id)
		case id != "":
			p.countries[id] = spotOf(attr["data-room"])
		}
	}
})

// spotOf parses a spot: three numbers.
func spotOf(s string) (at spot) {
	for i, word := range strings.Fields(s) {
		if v, err := strconv.ParseFloat(word, 64); err == nil && i < 3 {
			*[...]*float64{&at.x, &at.y, &at.radius}[i] = v
		}
	}
	return at
}

// smallSpot is the radius up to which a country is drawn above its neighbours, in map units.
const smallSpot = 2.4

// drawn returns the countries that the map has, small ones last, so that neighbours do not hide them.
func drawn(all []inspect.CountryGoes) (list []inspect.CountryGoes) {
	size := func(c inspect.CountryGoes) int {
		if worldMap().countries[c.Code].radius <= smallSpot {
			return 1
		}
		return 0
	}
	for _, c := range all {
		if _, ok := worldMap().countries[c.Code]; ok {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b inspect.CountryGoes) int { return cmp.Compare(size(a), size(b)) })
	return list
}

// mapNumber is a destination's number on one of its countries.
type mapNumber struct {
	X, Y string
	N    int
	Big  bool // shown on phones too: the country has room, or the destination has no other
}

// Minimum radius of a number's spot, on a wide screen and on a phone, in map units.
const (
	roomy      = 6
	roomyPhone = 14
)

// numbers returns the numbers that tell destinations apart without colour: one on each country with room, and on the
// largest country of each destination.
func numbers(w *inspect.World) (list []mapNumber) {
	if len(w.Destinations) < 2 {
		return nil
	}
	at := worldMap().countries
	largest := make(map[int]string) // country codes, by destination
	for _, c := range w.Countries {
		if before, ok := largest[c.To]; !ok || at[c.Code].radius > at[before].radius {
			largest[c.To] = c.Code
		}
	}
	for _, c := range w.Countries {
		s, first := at[c.Code], largest[c.To] == c.Code
		if c.To < 0 || s.radius == 0 || s.radius < roomy && !first {
			continue
		}
		list = append(list, mapNumber{decimal(s.x), decimal(s.y), c.To + 1, s.radius >= roomyPhone || first})
	}
	return list
}

// decimal formats a coordinate.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
