package page

import (
	"fmt"
	"regexp"
	"strings"
)

// Syntax is the line of one property in the README: its name and its arguments.
type Syntax struct{ Name, Args string }

// Line returns the syntax as written.
func (s Syntax) Line() string { return strings.TrimSpace(s.Name + " " + s.Args) }

var syntaxBlock = regexp.MustCompile(`(?s)kuadrant \[ZONES\.\.\.\] \{\n(.*?)\n\}`)

// Syntaxes returns the properties in the order of the README's syntax. A property in an inner block
// has the name of the outer property, a dot, and its own name.
func Syntaxes(readme string) (all []Syntax, err error) {
	block := syntaxBlock.FindStringSubmatch(readme)
	if block == nil {
		return nil, fmt.Errorf("the README has no syntax")
	}
	outer := ""
	for line := range strings.Lines(block[1]) {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		inner := strings.HasPrefix(line, "     ")
		switch {
		case name == "}":
			continue
		case inner:
			name = outer + "." + name
		default:
			outer = name
		}
		all = append(all, Syntax{name, strings.TrimSpace(strings.TrimSuffix(args, "{"))})
	}
	return all, nil
}

// scopes are the README's paragraphs before lists of properties, and their headings on the page.
var scopes = []struct{ paragraph, heading string }{
	{"\nFor the whole process;", "For the whole process, in one server block or the same in each:"},
	{"\nFor each zone;", "For each zone, the same wherever it is named:"},
	{"\nFor each server block:", "For each server block:"},
}

// scopeOf returns the scope of a property: the first in the README that names it.
func scopeOf(readme, name string) (int, error) {
	name, _, _ = strings.Cut(name, ".")
	named := regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[` ]")
	for i, s := range scopes {
		_, text, ok := strings.Cut(readme, s.paragraph)
		if i+1 < len(scopes) {
			text, _, _ = strings.Cut(text, scopes[i+1].paragraph)
		}
		if text, _, _ = strings.Cut(text, "\n## "); ok && named.MatchString(text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the README does not describe the property %s", name)
}

// corefile writes the properties.
func corefile(b *strings.Builder, _, readme string) error {
	syntaxes, err := Syntaxes(readme)
	if err != nil {
		return err
	}
	b.WriteString("## Corefile\n\nThe [README](../README.md#syntax) has the syntax.\n\n")
	for i, s := range scopes {
		b.WriteString(s.heading + "\n\n")
		table(b, "property", "meaning", "default", "bounds")
		for _, p := range syntaxes {
			scope, err := scopeOf(readme, p.Name)
			if err != nil {
				return err
			}
			if scope != i {
				continue
			}
			said, ok := Properties[p.Name]
			if !ok {
				return fmt.Errorf("tools/reference/page says nothing of %s: write it into Properties", p.Name)
			}
			line := code(p.Line())
			if outer, inner, ok := strings.Cut(p.Line(), "."); ok && strings.HasPrefix(p.Name, outer+".") {
				line = code(inner) + " of " + code(outer)
			}
			row(b, line, said.What+brackets(said.More), said.Default, said.Bounds)
		}
		b.WriteString("\n")
	}
	for name := range Properties {
		if !has(syntaxes, name) {
			return fmt.Errorf("tools/reference/page has %s in Properties, which the README's syntax has not", name)
		}
	}
	return nil
}

func has(all []Syntax, name string) bool {
	for _, s := range all {
		if s.Name == name {
			return true
		}
	}
	return false
}
