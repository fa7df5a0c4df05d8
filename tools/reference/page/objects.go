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

// crd is what the page needs of a CustomResourceDefinition.
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

// schema is that of one field.
type schema struct {
	Type, Description, Format string
	Properties                map[string]schema
	Items                     *schema
	AdditionalProperties      *schema
	Required                  []string
	Enum                      []any
	Default                   any
	Minimum, Maximum          *float64
	MaxLength, MaxItems       *int
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
	b.WriteString("## Objects\n\nThe kinds of [config/crd](../config/crd), field by field. Bounds are those of the CRDs: an API server refuses what is beyond; from elsewhere an object is\n" +
		"taken as [zones.md](zones.md) and [health.md](health.md) say. Of Gateways, [DNSEndpoints](zones.md#dnsrecords-and-dnsendpoints) and [Secrets](providers.md#secrets), whose CRDs are others', the\n" +
		"fields stand there. Versions of one kind are the same object, read and written in either form.\n\n")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var c crd
		if err := yaml.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := c.write(b); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// write writes one kind: rows that all versions have, and for others which one has them.
func (c *crd) write(b *strings.Builder) error {
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
	// The rows of a field beside each other, in the order in which it is first seen.
	order := make(map[string]int)
	for _, f := range rows {
		if _, ok := order[f.path]; !ok {
			order[f.path] = len(order)
		}
	}
	slices.SortStableFunc(rows, func(x, y field) int { return order[x.path] - order[y.path] })
	fmt.Fprintf(b, "### %s\n\n%s, %s\n\n", c.Spec.Names.Kind, code(c.Spec.Group), strings.Join(names, " and "))
	table(b, "field", "type", "default", "bounds", "what")
	for _, f := range rows {
		path := code(f.path)
		if len(in[f]) < len(c.Spec.Versions) {
			path += " of " + strings.Join(in[f], ", ")
		}
		row(b, path, f.kind, f.def, f.bounds, f.what)
	}
	b.WriteString("\n")
	return nil
}

// fields returns the rows of what lies in an object.
func (s *schema) fields(prefix string) (all []field) {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if prefix == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		p := s.Properties[name]
		all = append(all, p.field(prefix+name, slices.Contains(s.Required, name)))
		if inner, suffix := p.inner(); inner != nil {
			all = append(all, inner.fields(prefix+name+suffix+".")...)
		}
	}
	return all
}

// inner returns the schema whose fields get rows of their own, and what is put behind the field's name.
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

// selector reports whether it is a selector of labels, and condition whether it is a condition, as all of Kubernetes has them.
func (s *schema) selector() bool {
	_, labels := s.Properties["matchLabels"]
	return labels && len(s.Properties) == 2
}

func (s *schema) condition() bool {
	_, when := s.Properties["lastTransitionTime"]
	return when
}

// kind returns the type in words.
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

// A description says at its end, or in its middle, what counts where the field is missing.
var (
	defaultAtEnd = regexp.MustCompile(`; ([^;.]*(?:\.[^;. ]+)*) (?:if it is (?:0 or )?(?:not set|empty)|without it)((?:, and [^.]*)?)\.`)
	defaultFirst = regexp.MustCompile(` is (\S+) if it is not set\.`)
)

// typeName is the name of a Go type at the beginning of a description that is the type's.
var typeName = regexp.MustCompile(`^[A-Z][A-Za-z]+ is `)

// field returns the row of a field.
func (s *schema) field(path string, required bool) field {
	what := strings.Join(strings.Fields(s.Description), " ")
	if m := typeName.FindString(what); m != "" {
		what = path[strings.LastIndex(path, ".")+1:] + " is " + what[len(m):]
	}
	if path == "spec" {
		what = "what the owner wants" // versions that share a type say it in other words
	}
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
	f.def, f.what = plain(f.def), plain(strings.TrimSuffix(what, "."))
	return f
}

// bounds returns what an API server refuses, in words; patterns are left out, which say the same as the rest.
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
	if s.MaxLength != nil {
		add("up to %d characters", *s.MaxLength)
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
		add("%s", plain(r.Message))
	}
	return strings.Join(all, "; ")
}
