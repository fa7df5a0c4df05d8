package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// crd is the part of a CustomResourceDefinition that the page needs.
type crd struct {
	Spec struct {
		Group string
		Names struct{ Kind string }

		Versions []struct {
			Name            string
			Served, Storage bool
			Schema          struct{ OpenAPIV3Schema schema }
		}
	}
}

// schema is the schema of one field.
type schema struct {
	Type, Description, Format string
	Properties                map[string]schema
	Items                     *schema
	AdditionalProperties      *schema
	Required                  []string
	Enum                      []any
	Default                   any
	Minimum, Maximum          *float64
	MaxItems                  *int
	Rules                     []struct{ Message string } `json:"x-kubernetes-validations"`
}

// field is one row.
type field struct{ path, kind, def, bounds, what string }

// objects writes the fields of our kinds.
func objects(b *strings.Builder, module, _ string) error {
	files, err := filepath.Glob(filepath.Join(module, "config", "crd", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRDs: %v", err)
	}
	b.WriteString("## Objects\n\nThe kinds of [config/crd](../config/crd), with type, default and bounds. A field without a type is a\n" +
		"string. Elsewhere:\n" +
		"[statuses](write-back.md#what-is-written), [DNSEndpoints](zones.md#dnsrecords-and-dnsendpoints),\n" +
		"[Secrets](providers.md#secrets).\n\n")
	told := make(map[field]place)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var c crd
		if err := yaml.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := c.write(b, told); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// place is where a field has its row: the kind, and the field around it.
type place struct{ kind, parent string }

// write writes one kind. Versions share items for common fields; other items name their version.
// Fields that another place describes share a row that links there.
func (c *crd) write(b *strings.Builder, told map[field]place) error {
	var names []string
	var rows []field
	in := make(map[field][]string)
	for _, v := range c.Spec.Versions {
		name := code(v.Name)
		if v.Storage && len(c.Spec.Versions) > 1 {
			name += " (stored)"
		}
		names = append(names, name)
		for _, f := range v.Schema.OpenAPIV3Schema.fields("") {
			if in[f] == nil {
				rows = append(rows, f)
			}
			in[f] = append(in[f], v.Name)
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s has no fields", c.Spec.Names.Kind)
	}
	// Rows of the same field stand together, in the order of first appearance.
	order := make(map[string]int)
	for _, f := range rows {
		if _, ok := order[f.path]; !ok {
			order[f.path] = len(order)
		}
	}
	slices.SortStableFunc(rows, func(x, y field) int { return order[x.path] - order[y.path] })
	fmt.Fprintf(b, "### %s\n\n%s, %s\n\n", c.Spec.Names.Kind, code(c.Spec.Group), strings.Join(names, " and "))
	shared, groups := share(c.Spec.Names.Kind, rows, told)
	for _, f := range rows {
		if at, ok := shared[f.path]; ok {
			parent, _ := f.split()
			key := [2]place{{c.Spec.Names.Kind, parent}, at}
			if fields := groups[key]; fields != nil {
				item(b, strings.Join(fields, ", ")+" of "+code(parent)+": "+at.link(c.Spec.Names.Kind))
				delete(groups, key)
			}
			continue
		}
		path := code(f.path)
		if len(in[f]) < len(c.Spec.Versions) {
			path += " of " + strings.Join(in[f], ", ")
		}
		item(b, path+f.text())
	}
	b.WriteString("\n")
	return nil
}

// share finds the fields that another place describes, with that place, and groups them by both
// places. If the other field has a different name, at least three fields must agree.
func share(kind string, rows []field, told map[field]place) (shared map[string]place, groups map[[2]place][]string) {
	elsewhere, count := make(map[string]place), make(map[[2]place]int)
	for _, f := range rows {
		leaf, at := f, place{kind: kind}
		at.parent, leaf.path = f.split()
		switch first, ok := told[leaf]; {
		case !ok:
			told[leaf] = at
		case first != at && at.parent != "": // a row of another version is not another place
			elsewhere[f.path] = first
			count[[2]place{at, first}]++
		}
	}
	shared, groups = make(map[string]place), make(map[[2]place][]string)
	for _, f := range rows {
		parent, name := f.split()
		first, ok := elsewhere[f.path]
		_, below := shared[parent]
		key := [2]place{{kind, parent}, first}
		if !ok || !below && last(parent) != last(first.parent) && count[key] < 3 {
			continue
		}
		if shared[f.path] = first; !below {
			groups[key] = append(groups[key], code(name))
		}
	}
	return shared, groups
}

// link returns a link to a place from the table of a kind.
func (p place) link(from string) string {
	if p.kind == from {
		return "as in " + code(p.parent)
	}
	return "as in " + code(p.parent) + " of [" + p.kind + "](#" + strings.ToLower(p.kind) + ")"
}

// text returns the text after a field's name.
func (f field) text() string {
	var parts []string
	if f.kind != "string" && f.kind != "object" {
		parts = append(parts, f.kind)
	}
	if f.def == "required" {
		parts = append(parts, f.def)
	} else if f.def != "" {
		parts = append(parts, "default "+f.def)
	}
	if f.bounds != "" {
		parts = append(parts, f.bounds)
	}
	text := brackets(strings.Join(parts, "; "))
	if f.what != "" {
		text += ": " + f.what
	}
	return text
}

// split returns the path of the field around a field, and the field's own name.
func (f field) split() (parent, name string) {
	at := strings.LastIndex(f.path, ".")
	return f.path[:max(at, 0)], f.path[at+1:]
}

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// fields returns the rows of an object's fields.
func (s *schema) fields(prefix string) (all []field) {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if prefix == "" && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			continue
		}
		p := s.Properties[name]
		if f := p.field(prefix+name, slices.Contains(s.Required, name)); prefix != "" && f.text() != "" {
			all = append(all, f)
		}
		if inner, suffix := p.inner(); inner != nil {
			all = append(all, inner.fields(prefix+name+suffix+".")...)
		}
	}
	return all
}

// inner returns the schema whose fields get rows of their own, and the suffix of the field's name.
func (s *schema) inner() (*schema, string) {
	switch {
	case s.selector() || s.condition():
		return nil, ""
	case s.Items != nil:
		if s.Items.condition() || len(s.Items.Properties) == 0 {
			return nil, ""
		}
		return s.Items, "[]"
	case s.AdditionalProperties != nil:
		return nil, ""
	}
	return s, ""
}

// selector reports whether the schema is a label selector, and condition whether it is a Kubernetes
// condition.
func (s *schema) selector() bool {
	_, labels := s.Properties["matchLabels"]
	return labels && len(s.Properties) == 2
}

func (s *schema) condition() bool {
	_, when := s.Properties["lastTransitionTime"]
	return when
}

// kind describes the type in words.
func (s *schema) kind() string {
	switch {
	case s.selector():
		return "label selector"
	case s.condition():
		return "condition"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.kind()
	case s.Format == "date-time":
		return "time"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// These match what a description says, at its end or in its middle, about a missing field.
var (
	defaultAtEnd = regexp.MustCompile(`; ([^;.]*(?:\.[^;. ]+)*) (?:if it is (?:0 or )?(?:not set|empty)|without it)((?:, and [^.]*)?)\.`)
	defaultFirst = regexp.MustCompile(` is (\S+) if it is not set\.`)
)

// These match the field's or type's name at the start of a description or a rule's message: the
// page shows it already.
var (
	ownName = regexp.MustCompile(`^(?:[a-z][A-Za-z]*|[A-Z][A-Za-z]+) (?:(?:is|are|reports|says?) |((?:gives|has|makes|means|names|selects|tells) ))`)
	mustBe  = regexp.MustCompile(`^[A-Za-z]+(?: threshold)? must be `)
)

// field returns the row of a field.
func (s *schema) field(path string, required bool) field {
	what := strings.Join(strings.Fields(s.Description), " ")
	f := field{path: path, kind: s.kind(), bounds: s.bounds()}
	if m := defaultAtEnd.FindStringSubmatch(what); m != nil {
		f.def, what = m[1]+m[2], strings.Replace(what, m[0], ".", 1)
	} else if m := defaultFirst.FindStringSubmatch(what); m != nil {
		f.def = m[1]
	}
	switch {
	case required:
		f.def = "required"
	case s.Default != nil:
		f.def = fmt.Sprint(s.Default)
	}
	f.def, f.what = plain(f.def), plain(strings.TrimSuffix(ownName.ReplaceAllString(what, "$1"), "."))
	if strings.HasPrefix(f.what, "means the same as ") {
		f.bounds = ""
	}
	return f
}

// bounds describes what an API server refuses. It leaves out patterns, which repeat the rest,
// lengths of texts, and rules of objects.
func (s *schema) bounds() string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, code(fmt.Sprint(v)))
		}
		add("%s", strings.Join(values, ", "))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		add("%.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Maximum != nil:
		add("at most %.0f", *s.Maximum)
	case s.Minimum != nil:
		add("at least %.0f", *s.Minimum)
	}
	if s.MaxItems != nil {
		add("up to %d entries", *s.MaxItems)
	}
	if s.Items != nil && len(s.Items.Properties) == 0 {
		if each := s.Items.bounds(); each != "" {
			add("each %s", each)
		}
	}
	for _, r := range s.Rules {
		if len(s.Properties) == 0 { // else it is about how fields go together
			add("%s", plain(mustBe.ReplaceAllString(r.Message, "")))
		}
	}
	return strings.Join(all, "; ")
}
