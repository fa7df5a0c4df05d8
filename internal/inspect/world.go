package inspect

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// World says where the clients of each country go, by country and continent alone.
type World struct {
	// Name and Type are the question.
	Name string `json:"name"`
	Type string `json:"type"`
	// Destinations are where clients go, by number of countries; empty if there is no choice.
	Destinations []Destination `json:"destinations"`
	// Countries are all countries, by code.
	Countries []CountryGoes `json:"countries,omitempty"`
	// Finer are members' codes of subdivisions and AS numbers.
	Finer []string `json:"finer,omitempty"`
	// Away are the geographies whose countries go elsewhere because their members are worse.
	Away []Away `json:"away,omitempty"`
}

// Away is a geography that fails over.
type Away struct {
	// Geo is its code, Class its best member's class, and Countries how many countries go elsewhere.
	Geo       string `json:"geo"`
	Class     string `json:"class"`
	Countries int    `json:"countries"`
}

// Destination is a set of members to draw from.
type Destination struct {
	// Geo are the codes of its members. Class is their state.
	Geo   []string `json:"geo"`
	Class string   `json:"class"`
	// Members are those that may be drawn.
	Members []Share `json:"members"`
	// Countries is how many go there.
	Countries int `json:"countries"`
}

// Share is one member's part of the draws.
type Share struct {
	// Member is its set identifier. Owner is its object, and Gateway the source of its addresses; "" for none.
	// Share is the part of the draws, from 0 to 1.
	Member  string         `json:"member"`
	Owner   records.Object `json:"owner"`
	Gateway string         `json:"gateway,omitempty"`
	Share   float64        `json:"share"`
}

// CountryGoes says where the clients of one country go.
type CountryGoes struct {
	// Code is that of ISO 3166. Name is the English name. Continent is a geo code.
	Code      string `json:"code"`
	Name      string `json:"name"`
	Continent string `json:"continent"`
	// To is the index in destinations; -1 for none.
	To int `json:"to"`
	// Match is how the destination's code fits the country.
	Match pool.Match `json:"match,omitempty"`
	// Away is the nearer geo code whose members are worse; "" for none.
	Away string `json:"away,omitempty"`
}

// Locate implements geo.Locator. It ignores the network.
func (p *place) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return (*geo.Codes)(p), 1 }

// CountryNames are the names of all countries in English, by code.
var CountryNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string)
	english := display.English.Regions()
	for _, c := range geo.Countries() {
		if r, err := language.ParseRegion(c.Code); err == nil {
			names[c.Code] = english.Name(r)
		}
		names[c.Code] = cmp.Or(names[c.Code], c.Code)
	}
	return names
})

// World says where the clients of each country go. The error is a *RequestError.
func (v *View) World(q Question) (*World, error) {
	query, z, err := v.query(q)
	if err != nil {
		return nil, err
	}
	query.Client = netip.IPv4Unspecified()
	w := &World{Name: trim(query.Name), Destinations: []Destination{}}
	by := make(map[string]*Destination)
	var order, to []string // keys of destinations, and each country's; "" for none
	for _, c := range geo.Countries() {
		at := place{geo.CodeCountry: c.Code, geo.CodeContinent: c.Continent}
		query.Locator = &at
		var a records.Answer
		x := v.Snapshot.Explain(z, &query, &a)
		w.Type = x.Type
		choice := chosen(x)
		if choice == nil {
			return w, nil
		}
		key := ""
		if d := destination(choice); len(d.Members) > 0 {
			if key = d.key(); by[key] == nil {
				by[key], order = &d, append(order, key)
			}
			by[key].Countries++
		}
		to = append(to, key)
		w.Countries = append(w.Countries, CountryGoes{
			Code: c.Code, Name: CountryNames()[c.Code], Continent: c.Continent, Match: choice.Match, Away: w.away(choice),
		})
		w.Finer = finer(w.Finer, choice)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(by[b].Countries, by[a].Countries) })
	for _, key := range order {
		w.Destinations = append(w.Destinations, *by[key])
	}
	for i, key := range to {
		w.Countries[i].To = slices.Index(order, key)
	}
	return w, nil
}

// away counts a country that a nearer geography fails over for, and returns its code; "" for none.
func (w *World) away(c *records.Choice) string {
	var near *records.Candidate
	for i := range c.Members {
		m := &c.Members[i]
		switch {
		case m.Verdict != pool.VerdictWorse || !m.Match.Nearer(c.Match):
		case near == nil || m.Match.Nearer(near.Match) || m.Match == near.Match && pool.CompareClasses(m.Class, near.Class) < 0:
			near = m
		}
	}
	if near == nil {
		return ""
	}
	i := slices.IndexFunc(w.Away, func(a Away) bool { return a.Geo == near.Geo && a.Class == near.Class })
	if i < 0 {
		i, w.Away = len(w.Away), append(w.Away, Away{Geo: near.Geo, Class: near.Class})
	}
	w.Away[i].Countries++
	return near.Geo
}

// chosen returns the last draw at the first name with one; nil for none.
func chosen(x *records.Explanation) *records.Choice {
	for i := range x.Steps {
		if n := len(x.Steps[i].Choices); n > 0 {
			return &x.Steps[i].Choices[n-1]
		}
	}
	return nil
}

// destination returns the set that a draw is made from.
func destination(c *records.Choice) Destination {
	d := Destination{Class: c.Class}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Share == 0 {
			continue
		}
		if m.Class == pool.WeightedUp.String() {
			d.Class = m.Class // whatever is unchecked beside it
		}
		d.Members = append(d.Members, Share{m.Member, m.Owner, m.Gateway, m.Share})
		if !slices.Contains(d.Geo, m.Geo) {
			d.Geo = append(d.Geo, m.Geo)
		}
	}
	return d
}

// key returns a text unique to the destination.
func (d *Destination) key() string {
	var b strings.Builder
	b.WriteString(d.Class)
	for _, m := range d.Members {
		b.WriteString("\n" + m.Member + " " + m.Owner.Cluster + " " + strconv.FormatFloat(m.Share, 'g', 9, 64))
	}
	b.WriteString("\n" + strings.Join(d.Geo, " "))
	return b.String()
}

// finer returns codes, with those of a choice's members that no whole country has, each once.
func finer(codes []string, c *records.Choice) []string {
	for i := range c.Members {
		code := c.Members[i].Geo
		place := geo.Client(code)
		if place != nil && (place[geo.CodeAS] != "" || place[geo.CodeSubdivision] != "") && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}
