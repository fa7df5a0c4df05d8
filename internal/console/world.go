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

// colours is how many destinations have a colour of their own: the last one is that of all others.
const colours = 8

// colour returns the class of a destination's colour.
func colour(to int) string {
	if to < 0 {
		return "land"
	}
	return "c" + strconv.Itoa(min(to, colours-1))
}

// shared reports whether a destination, of so many, is the first of several with one colour.
func shared(to, of int) bool { return to == colours-1 && of > colours }

// goes says where a country goes, in a few words.
func goes(w *inspect.World, c inspect.CountryGoes) string {
	if c.To < 0 {
		return "nowhere"
	}
	d := &w.Destinations[c.To]
	return strings.Join(d.Geo, ", ") + ", " + inspect.ClassText(d.Class) + inPlaceOf(c)
}

// inPlaceOf says which geography a country would go to if it were as good; "" for none.
func inPlaceOf(c inspect.CountryGoes) string {
	if c.Away == "" {
		return ""
	}
	return ", in place of " + c.Away
}

// picture is what the map has.
type picture struct {
	box       string
	countries map[string]spot
	lands     []string // without a code
}

// spot is where a country has the most room for a number: the centre of a circle on it, in the units of the map.
type spot struct{ x, y, radius float64 }

// worldMap is what assets/world.svg has.
var worldMap = sync.OnceValue(func() *picture {
	p := &picture{countries: make(map[string]spot)}
	data, err := files.ReadFile("assets/world.svg")
	if err != nil {
		return p // a test sees to it that it is there
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

// spotOf reads a spot: three numbers.
func spotOf(s string) (at spot) {
	for i, word := range strings.Fields(s) {
		if v, err := strconv.ParseFloat(word, 64); err == nil && i < 3 {
			*[...]*float64{&at.x, &at.y, &at.radius}[i] = v
		}
	}
	return at
}

// smallSpot is the radius up to which a country is drawn on top of its neighbours.
const smallSpot = 2.4

// drawn returns those of the countries that the map has, the small ones last: neighbours would hide them.
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

// mapNumber is the number of a destination, on one of its countries.
type mapNumber struct {
	X, Y string
	N    int
	Big  bool // there is room for it on a phone too, or else the destination has none there
}

// How much room a country must have for a number, on a wide screen and on a phone: a radius in the units of the map.
const (
	roomy      = 6
	roomyPhone = 14
)

// numbers returns the numbers that tell several destinations apart on the map, so that colour is not all that does: on each country
// that has room for one, and on the largest of each destination.
func numbers(w *inspect.World) (list []mapNumber) {
	if len(w.Destinations) < 2 {
		return nil
	}
	at := worldMap().countries
	largest := make(map[int]string) // codes, by destination
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

// decimal writes a coordinate.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
