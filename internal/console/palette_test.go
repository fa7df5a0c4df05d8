package console

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rgb is a colour in linear red, green and blue.
type rgb [3]float64

// palettes returns the colours of the style sheet by name, for light and dark mode.
func palettes(t *testing.T) [2]map[string]rgb {
	t.Helper()
	css, err := files.ReadFile("assets/console.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	var both [2]map[string]rgb
	for i, text := range []string{light, dark} {
		both[i] = make(map[string]rgb)
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseUint(m[2], 16, 32)
			var c rgb
			for k := range c {
				if v := float64(n>>(16-8*k)&255) / 255; v <= 0.04045 {
					c[k] = v / 12.92
				} else {
					c[k] = math.Pow((v+0.055)/1.055, 2.4)
				}
			}
			both[i][m[1]] = c
		}
	}
	return both
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

// times multiplies a colour by a matrix.
func times(m [3]rgb, c rgb) (r rgb) {
	for i := range r {
		r[i] = m[i][0]*c[0] + m[i][1]*c[1] + m[i][2]*c[2]
	}
	return r
}

// eyes are kinds of colour vision, as matrices (Machado, Oliveira and Fernandes, 2009).
var eyes = map[string][3]rgb{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.01182, 0.04294, 0.968881}},
}

// oklab converts a colour to OKLab (Ottosson, 2020), where distances match perception.
func oklab(c rgb) rgb {
	cones := times([3]rgb{
		{0.4122214708, 0.5363325363, 0.0514459929},
		{0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005},
	}, c)
	for i, v := range cones {
		cones[i] = math.Cbrt(v)
	}
	return times([3]rgb{
		{0.2104542553, 0.793617785, -0.0040720468},
		{1.9779984951, -2.428592205, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.808675766},
	}, cones)
}

// TestPalette: each map colour has a contrast of at least 3:1 to its background, and any two differ with every colour
// vision.
func TestPalette(t *testing.T) {
	const least = 0.07 // in OKLab, where black and white are 1 apart
	for i, p := range palettes(t) {
		scheme := []string{"light", "dark"}[i]
		var names []string
		for k := range colours {
			names = append(names, fmt.Sprintf("c%d", k))
		}
		for _, name := range names {
			for _, under := range []string{"sheet", "paper"} {
				if got := contrast(p[name], p[under]); got < 3 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, name, under, got)
				}
			}
		}
		names = append(names, "land")
		for k, a := range names {
			for _, b := range names[:k] {
				for who, m := range eyes {
					x, y := oklab(times(m, p[a])), oklab(times(m, p[b]))
					if got := math.Sqrt(math.Pow(x[0]-y[0], 2) + math.Pow(x[1]-y[1], 2) + math.Pow(x[2]-y[2], 2)); got < least {
						t.Errorf("%s: with %s, %s and %s are %.3f apart, want %.2f", scheme, who, a, b, got, least)
					}
				}
			}
		}
	}
}
