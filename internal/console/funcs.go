package console

import (
	"html/template"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
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
	"upper":   upperFirst,
	"colour":  colour,
	"shared":  shared,
	"goes":    goes,
	"numbers": numbers,
	"next":    func(i int) int { return i + 1 },
	"mapbox":  func() string { return worldMap().box },
	"lands":   func() []string { return worldMap().lands },
	"drawn":   drawn,
}

// glyph returns a sign for a class, so that colour is not all that tells them apart.
func glyph(class string) string {
	switch class {
	case "up":
		return "●"
	case "unchecked", "pending":
		return "○"
	case "unknown":
		return "◐"
	case "drained", "drained-unknown":
		return "▽"
	}
	return "✕"
}

// upperFirst returns a sentence that begins with a capital letter.
func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
