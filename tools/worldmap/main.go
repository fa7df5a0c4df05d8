// Command worldmap makes console/assets/world.svg: one path for each country, by its ISO 3166-1
// alpha-2 code, for the console to colour and number. It reads countries-50m.json of the npm package
// world-atlas, which is Natural Earth's data (public domain) as TopoJSON:
//
//	npm pack world-atlas && tar xzf world-atlas-*.tgz
//	go run ./tools/worldmap package/countries-50m.json > console/assets/world.svg
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
)

const (
	width     = 1000.0 // of the picture, in its units
	south     = -57.0  // degrees: Antarctica has no clients
	north     = 84.0
	tolerance = 0.45 // how far a simplified border may be from the real one
	smallest  = 2.5  // the area below which a country is shown as a dot, and an island left out
	dot       = 2.4  // the radius of such a dot
)

// topology is what is read of TopoJSON.
type topology struct {
	Objects struct {
		Countries struct{ Geometries []geometry }
	}
	Arcs      [][][2]int
	Transform struct{ Scale, Translate [2]float64 }
}

type geometry struct {
	Type       string
	Arcs       json.RawMessage
	ID         string
	Properties struct{ Name string }
}

type point struct{ x, y float64 }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: worldmap countries-50m.json > world.svg")
		os.Exit(2)
	}
	if err := draw(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worldmap:", err)
		os.Exit(1)
	}
}

// draw writes the picture of the file at path.
func draw(path string, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var t topology
	if err := json.Unmarshal(data, &t); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	shapes, err := t.shapes()
	if err != nil {
		return err
	}
	top, bottom := project(point{0, north}).y, project(point{0, south}).y
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %.0f %.0f %.0f\">\n", top, width, bottom-top)
	fmt.Fprintln(w, "<!-- made by tools/worldmap from Natural Earth's data, which is in the public domain -->")
	for _, s := range shapes {
		d, at, radius := s.outline()
		fmt.Fprintf(w, "<path id=\"%s\" data-room=\"%s %s %s\" d=\"%s\"/>\n", s.id, text(at.x), text(at.y), text(radius), d)
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// code returns the alpha-2 code of a country; "" for land without one.
func code(g geometry) string {
	if g.Properties.Name == "Kosovo" {
		return "XK"
	}
	n, err := strconv.Atoi(g.ID)
	if err != nil {
		return ""
	}
	r, err := language.EncodeM49(n)
	if err != nil || !r.IsCountry() {
		return ""
	}
	return r.String()
}

// lines returns the arcs as longitudes and latitudes, simplified. One that crosses the antimeridian goes
// on beyond 180 degrees.
func (t *topology) lines() [][]point {
	arcs := make([][]point, len(t.Arcs))
	for i, arc := range t.Arcs {
		x, y := 0, 0
		for _, d := range arc {
			x, y = x+d[0], y+d[1]
			at := point{float64(x)*t.Transform.Scale[0] + t.Transform.Translate[0], float64(y)*t.Transform.Scale[1] + t.Transform.Translate[1]}
			if n := len(arcs[i]); n > 0 {
				at = beside(at, arcs[i][n-1])
			}
			arcs[i] = append(arcs[i], at)
		}
		arcs[i] = simplify(arcs[i])
	}
	return arcs
}

// beside returns p on the same side of the antimeridian as o, be that beyond 180 degrees.
func beside(p, o point) point {
	p.x -= 360 * math.Round((p.x-o.x)/360)
	return p
}

// project is the Equal Earth projection (Šavrič, Patterson and Jenny, 2018), scaled to the picture.
func project(at point) point {
	lon, lat := at.x, at.y
	const a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
	theta := math.Asin(math.Sqrt(3) / 2 * math.Sin(lat*math.Pi/180))
	t2 := theta * theta
	t6 := t2 * t2 * t2
	x := 2 * math.Sqrt(3) * lon * math.Pi / 180 * math.Cos(theta) / (3 * (9*a4*t6*t2 + 7*a3*t6 + 3*a2*t2 + a1))
	y := theta * (a4*t6*t2 + a3*t6 + a2*t2 + a1)
	const half = 2.7066299836960748 // x at 180 degrees on the equator
	scale := width / 2 / half
	return point{width/2 + x*scale, width/4 - y*scale}
}

// simplify leaves out points that are near to the line between others in the picture (Douglas and
// Peucker, 1973).
func simplify(line []point) []point {
	if len(line) < 3 {
		return line
	}
	first, last := line[0], line[len(line)-1]
	far, at := 0.0, 0
	for i := 1; i < len(line)-1; i++ {
		if d := distance(project(line[i]), project(first), project(last)); d > far {
			far, at = d, i
		}
	}
	if far <= tolerance {
		return []point{first, last}
	}
	return append(simplify(line[:at+1]), simplify(line[at:])[1:]...)
}

// distance returns how far p is from the line between a and b.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return math.Hypot(p.x-a.x, p.y-a.y)
	}
	return math.Abs(dy*p.x-dx*p.y+b.x*a.y-b.y*a.x) / length
}

// polygons returns the rings of each polygon of a geometry, as longitudes and latitudes.
func (g *geometry) polygons(arcs [][]point) (list [][][]point, err error) {
	var polygons [][][]int
	switch g.Type {
	case "Polygon":
		polygons = make([][][]int, 1)
		err = json.Unmarshal(g.Arcs, &polygons[0])
	case "MultiPolygon":
		err = json.Unmarshal(g.Arcs, &polygons)
	default:
		err = fmt.Errorf("it is a %s", g.Type)
	}
	for _, polygon := range polygons {
		var rings [][]point
		for _, ring := range polygon {
			var points []point
			for _, i := range ring {
				arc := arcs[max(i, ^i)]
				if i < 0 { // the arc backwards
					arc = slices.Clone(arc)
					slices.Reverse(arc)
				}
				for _, p := range arc[min(len(points), 1):] {
					if n := len(points); n > 0 {
						p = beside(p, points[n-1])
					}
					points = append(points, p)
				}
			}
			rings = append(rings, points)
		}
		list = append(list, rings)
	}
	return list, err
}

// clip returns what of a ring of longitudes and latitudes, turned by some degrees, lies on the map, in
// the units of the picture (Sutherland and Hodgman, 1974).
func clip(ring []point, turn float64) []point {
	part := make([]point, len(ring))
	for i, p := range ring {
		part[i] = point{p.x + turn, p.y}
	}
	for _, side := range [...]float64{1, -1} {
		inside := func(p point) bool { return side*p.x <= 180 }
		var kept []point
		for i := 1; i < len(part); i++ {
			a, b := part[i-1], part[i]
			if inside(a) != inside(b) {
				kept = append(kept, point{side * 180, a.y + (b.y-a.y)*(side*180-a.x)/(b.x-a.x)})
			}
			if inside(b) {
				kept = append(kept, b)
			}
		}
		if len(kept) > 0 {
			kept = append(kept, kept[0])
		}
		part = kept
	}
	for i := range part {
		part[i] = project(part[i])
	}
	return part
}

// outline returns the path of a shape: its rings, or a dot where it is too small to be seen; and where a number
// has the most room on it.
func (s *shape) outline() (path string, at point, radius float64) {
	var d strings.Builder
	rings := s.rings
	slices.SortStableFunc(rings, func(a, b []point) int { return cmp.Compare(math.Abs(area(b)), math.Abs(area(a))) })
	for _, ring := range rings {
		if math.Abs(area(ring)) < smallest {
			break
		}
		for i, p := range ring[:len(ring)-1] {
			op := byte('L')
			if i == 0 {
				op = 'M'
			}
			d.WriteByte(op)
			d.WriteString(text(p.x) + " " + text(p.y))
		}
		d.WriteByte('Z')
	}
	if d.Len() > 0 {
		at, radius = room(rings[0])
		return d.String(), at, radius
	}
	var places []point
	for _, p := range s.dots {
		places = append(places, project(p))
	}
	if len(rings) > 0 {
		places = append(places, centre(rings[0]))
	}
	for _, c := range places {
		fmt.Fprintf(&d, "M%s %sa%g %g 0 1 0 %g 0a%g %g 0 1 0 %g 0Z", text(c.x-dot), text(c.y), dot, dot, 2*dot, dot, dot, -2*dot)
	}
	return d.String(), places[0], dot
}

func text(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// area returns the area of a ring, with the sign of its direction.
func area(ring []point) (sum float64) {
	for i := 1; i < len(ring); i++ {
		sum += ring[i-1].x*ring[i].y - ring[i].x*ring[i-1].y
	}
	return sum / 2
}

// centre returns the middle of the box around a ring.
func centre(ring []point) point {
	low, high := bounds(ring)
	return point{(low.x + high.x) / 2, (low.y + high.y) / 2}
}

// bounds returns two corners of that box.
func bounds(ring []point) (low, high point) {
	low, high = ring[0], ring[0]
	for _, p := range ring {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
	}
	return low, high
}
