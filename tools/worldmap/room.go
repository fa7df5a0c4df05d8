package main

import "math"

// room returns where in a ring there is the most room for a number, and how far the border is from there: the
// centre of a large circle within, to a tenth of its radius or so.
func room(ring []point) (at point, radius float64) {
	low, high := bounds(ring)
	at = centre(ring)
	step := max(high.x-low.x, high.y-low.y) / 24
	for range 4 { // each look is finer, and around the best place so far
		best := at
		for y := low.y; y <= high.y; y += step {
			for x := low.x; x <= high.x; x += step {
				if p := (point{x, y}); inside(p, ring) {
					if r := clearance(p, ring); r > radius {
						best, radius = p, r
					}
				}
			}
		}
		at = best
		low, high = point{at.x - step, at.y - step}, point{at.x + step, at.y + step}
		step /= 4
	}
	return at, radius
}

// inside tells whether a ring goes around p.
func inside(p point, ring []point) (in bool) {
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		if (a.y > p.y) != (b.y > p.y) && p.x < a.x+(b.x-a.x)*(p.y-a.y)/(b.y-a.y) {
			in = !in
		}
	}
	return in
}

// clearance returns how far p is from a ring.
func clearance(p point, ring []point) float64 {
	near := math.Inf(1)
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		dx, dy := b.x-a.x, b.y-a.y
		along := 0.0
		if square := dx*dx + dy*dy; square > 0 {
			along = min(1, max(0, ((p.x-a.x)*dx+(p.y-a.y)*dy)/square))
		}
		near = min(near, math.Hypot(p.x-a.x-along*dx, p.y-a.y-along*dy))
	}
	return near
}
