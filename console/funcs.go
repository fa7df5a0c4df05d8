package console

import (
	"encoding/xml"
	"html/template"
	"strconv"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// funcs are what templates can call.
var funcs = template.FuncMap{
	"glyph":   glyph,
	"class":   inspect.ClassText,
	"word":    inspect.WordText,
	"words":   func(a records.AddressState) string { return inspect.WordsText(&a) },
	"sources": func(n records.NameState) string { return inspect.SourcesText(&n) },
	"check":   func(c records.CheckState) string { return inspect.CheckText(&c) },
	"found":   func(s records.Step) string { return inspect.FoundText(&s) },
	"verdict": func(m records.Candidate, c records.Choice) string { return inspect.VerdictText(&m, &c) },
	"match":   inspect.MatchText,
	"client":  func(x *records.Explanation) string { return upperFirst(inspect.ClientText(x)) },
	"percent": inspect.ShareText,
	"whose":   inspect.WhoseText,
	"plural":  inspect.Plural,
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"stamp":   stamp,
	"pair": func(n int, class string) struct {
		N     int
		Class string
	} {
		return struct {
			N     int
			Class string
		}{n, class}
	},
	"upper":  upperFirst,
	"colour": colour,
	"mapbox": func() string { return worldMap().box },
	"lands":  func() []string { return worldMap().lands },
	"drawn":  drawn,
}

// glyph returns a sign for a class, so that colour is not all that tells them apart.
func glyph(class string) string {
	switch class {
	case "up":
		return "●"
	case "unknown", "pending":
		return "◐"
	case "drained", "drained-unknown":
		return "▽"
	}
	return "✕"
}

// colours is how many destinations have a colour of their own: the last one is that of all others.
const colours = 8

// colour returns the class of a destination's colour.
func colour(to int) string {
	if to < 0 {
		return "land"
	}
	return "c" + strconv.Itoa(min(to, colours-1))
}

// upperFirst returns a sentence that begins with a capital letter.
func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// picture is what the map has.
type picture struct {
	box       string
	countries map[string]bool
	lands     []string // without a code
}

// worldMap is what assets/world.svg has.
var worldMap = sync.OnceValue(func() *picture {
	p := &picture{countries: make(map[string]bool)}
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
		for _, a := range start.Attr {
			switch {
			case start.Name.Local == "svg" && a.Name.Local == "viewBox":
				p.box = a.Value
			case a.Name.Local == "id" && strings.HasPrefix(a.Value, "land-"):
				p.lands = append(p.lands, a.Value)
			case a.Name.Local == "id":
				p.countries[a.Value] = true
			}
		}
	}
})

// drawn returns those of the countries that the map has.
func drawn(all []inspect.CountryGoes) (list []inspect.CountryGoes) {
	for _, c := range all {
		if worldMap().countries[c.Code] {
			list = append(list, c)
		}
	}
	return list
}
