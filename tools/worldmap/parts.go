package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// part is a piece of what Natural Earth draws as one country, and ISO 3166-1 has a code of its own for.
type part struct {
	code, of                 string // of is Natural Earth's name for the whole
	west, south, east, north float64
}

// parts are all of these. Each polygon within a box is the part's.
var parts = []part{
	{"BQ", "Netherlands", -69, 11, -62, 18},
	{"CC", "Indian Ocean Ter.", 96, -13, 98, -11},
	{"CX", "Indian Ocean Ter.", 105, -11, 106, -10},
	{"GF", "France", -55, 2, -51, 6},
	{"GP", "France", -62, 15.8, -61, 16.6},
	{"MQ", "France", -61.3, 14.3, -60.8, 14.9},
	{"RE", "France", 55, -22, 56, -20},
	{"SJ", "Norway", -10, 70.5, -7, 72},
	{"SJ", "Norway", 10, 74, 34, 81},
	{"TK", "New Zealand", -173, -10, -171, -8},
	{"YT", "France", 45, -13.1, 45.4, -12.6},
}

// specks are what the data of this scale lacks: each place is a dot.
var specks = map[string][]point{
	"BV": {{3.4, -54.4}},
	"GI": {{-5.35, 36.14}},
	"TV": {{179.2, -8.5}},
	"UM": {{166.6, 19.3}, {-177.4, 28.2}, {-169.5, 16.7}, {-160, -0.4}}, // Wake, Midway, Johnston and Jarvis
}

// shape is what is drawn for one code.
type shape struct {
	id    string
	rings [][]point // in the units of the picture
	dots  []point   // degrees, where there are no rings
}

// shapes returns what is drawn, in the order of the codes, with what has none first.
func (t *topology) shapes() ([]*shape, error) {
	arcs := t.lines()
	byID := make(map[string]*shape)
	of := func(id string) *shape {
		if byID[id] == nil {
			byID[id] = &shape{id: id}
		}
		return byID[id]
	}
	taken := make(map[part]bool)
	all := t.Objects.Countries.Geometries
	slices.SortStableFunc(all, func(a, b geometry) int { return cmp.Compare(code(a), code(b)) })
	nameless := 0
	for _, g := range all {
		whole := code(g)
		if whole == "AQ" {
			continue
		}
		polygons, err := g.polygons(arcs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Properties.Name, err)
		}
		for _, polygon := range polygons {
			id := whole
			if i := slices.IndexFunc(parts, func(p part) bool { return p.of == g.Properties.Name && p.has(polygon[0]) }); i >= 0 {
				id, taken[parts[i]] = parts[i].code, true
			} else if id == "" { // land that has no code of its own
				if nameless++; len(polygons) > 1 {
					return nil, fmt.Errorf("%s has several polygons and no code", g.Properties.Name)
				}
				id = "land-" + strconv.Itoa(nameless)
			}
			s := of(id)
			for _, ring := range polygon {
				for _, turn := range [...]float64{-360, 0, 360} { // what lies beyond an edge is at the other one
					if piece := clip(ring, turn); len(piece) > 0 {
						s.rings = append(s.rings, piece)
					}
				}
			}
		}
	}
	for _, p := range parts {
		if !taken[p] {
			return nil, fmt.Errorf("%s has no polygon that is %s", p.of, p.code)
		}
	}
	for id, places := range specks {
		if s := of(id); s.rings == nil {
			s.dots = places
		}
	}
	list := make([]*shape, 0, len(byID))
	for _, s := range byID {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *shape) int {
		if low := strings.HasPrefix(a.id, "land-"); low != strings.HasPrefix(b.id, "land-") {
			if low {
				return -1
			}
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	return list, nil
}

// has tells whether a ring lies in the part's box.
func (p *part) has(ring []point) bool {
	return !slices.ContainsFunc(ring, func(at point) bool {
		return at.x < p.west || at.x > p.east || at.y < p.south || at.y > p.north
	})
}
