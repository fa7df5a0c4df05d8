package page

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// APIFile is the path of the page of the console's API, relative to the module.
const APIFile = "docs/api.md"

const apiHead = `<!-- make reference writes this file: of the comments of the Go types in console, inspect and records -->
# The console's API

What the paths of the [console](console.md#the-api) answer, as JSON. Names have no final dot. Fields
that are zero, empty or false may be missing. Fields may be added; none changes its meaning while
the header ` + "`Kuadrant-Api`" + ` says 1. A field without a type is a string; ` + "`[]`" + ` is
a list. A boolean is true if what it says holds.

`

// answers are the results of the paths, each a type with its package, and a list of these.
var answers = []struct {
	path, of string
	list     bool
}{
	{"/api/v1/server", "console.Server", false},
	{"/api/v1/zones", "inspect.Zone", true},
	{"/api/v1/names", "inspect.NamePage", false},
	{"/api/v1/tree", "records.Tree", false},
	{"/api/v1/targets", "inspect.TargetPage", false},
	{"/api/v1/conflicts", "inspect.Troubles", false},
	{"/api/v1/explain", "records.Explanation", false},
	{"/api/v1/world", "inspect.World", false},
	{"/api/v1/preview", "inspect.Preview", false},
	{"any, where something is wrong", "console.Failure", false},
}

// MakeAPI returns the page of the API of the module in a folder.
func MakeAPI(module string) ([]byte, error) {
	d := &apiDoc{types: make(map[string]*ast.TypeSpec), docs: make(map[string]string), words: make(map[string][]string)}
	for _, room := range []string{"internal/console", "internal/inspect", "records", "records/pool", "records/status"} {
		if err := d.read(module, room); err != nil {
			return nil, err
		}
	}
	d.b.WriteString(apiHead)
	table(&d.b, "path", "answer")
	for _, a := range answers {
		list := ""
		if a.list {
			list = "[]"
		}
		where := a.path
		if strings.HasPrefix(where, "/") {
			where = code(where)
		}
		row(&d.b, where, d.link(a.of)+list)
	}
	d.b.WriteString("\n")
	var faults []error
	for i := 0; i < len(d.queue); i++ { // the queue grows in the loop
		faults = append(faults, d.write(d.queue[i]))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return []byte(strings.TrimRight(d.b.String(), "\n") + "\n"), nil
}

// apiDoc is the page in the making.
type apiDoc struct {
	b strings.Builder
	// types and docs are those of all types, and words the values of string constants, by type:
	// package.Name.
	types map[string]*ast.TypeSpec
	docs  map[string]string
	words map[string][]string
	// queue has the types that get a list, in order.
	queue []string
}

// read reads the types of one room.
func (d *apiDoc) read(module, room string) error {
	files, err := filepath.Glob(filepath.Join(module, room, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				d.readDecl(path.Base(room), g)
			}
		}
	}
	return nil
}

// readDecl reads the types and constants of one declaration.
func (d *apiDoc) readDecl(room string, g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			d.types[room+"."+s.Name.Name], d.docs[room+"."+s.Name.Name] = s, oneLine(g.Doc)
		case *ast.ValueSpec:
			of, named := s.Type.(*ast.Ident)
			if !named || g.Tok != token.CONST {
				continue
			}
			for _, v := range s.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					value, _ := strconv.Unquote(lit.Value)
					d.words[room+"."+of.Name] = append(d.words[room+"."+of.Name], code(value))
				}
			}
		}
	}
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// link returns a link to the list of a type, and queues the list.
func (d *apiDoc) link(of string) string {
	if !slices.Contains(d.queue, of) {
		d.queue = append(d.queue, of)
	}
	name := path.Ext(of)[1:]
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}

// write writes the list of a type.
func (d *apiDoc) write(of string) error {
	room, name, _ := strings.Cut(of, ".")
	what := d.docs[of]
	if what == "" {
		return fmt.Errorf("%s has no comment", of)
	}
	rows, err := d.rows(room, name)
	if err != nil {
		return err
	}
	var faults []error
	what, _, _ = strings.Cut(what, ". ")
	what = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(what, name+" "), "is "), "says ")
	fmt.Fprintf(&d.b, "## %s\n\n%s.\n\n", name, plain(upper(strings.TrimSuffix(what, "."))))
	for len(rows) > 0 {
		r := rows[0]
		if r.what == "" {
			faults = append(faults, fmt.Errorf("%s.%s has no comment", of, r.field))
		}
		n, kinds := 1, []string{r.kind} // fields that share a sentence share an item
		for n < len(rows) && rows[n].what == r.what {
			r.name += ", " + rows[n].name
			if kinds = append(kinds, rows[n].kind); !slices.Contains(kinds[:n], rows[n].kind) {
				r.kind = strings.Join(kinds, ", ")
			}
			n++
		}
		if rows = rows[n:]; r.kind == "string" {
			r.kind = ""
		}
		if r.names == nil {
			item(&d.b, r.name)
			continue
		}
		item(&d.b, r.name+brackets(r.kind)+": "+inJSON(afterNames(strings.TrimSuffix(r.what, "."), r.names), r.names))
	}
	d.b.WriteString("\n")
	return errors.Join(faults...)
}

// fieldRow is one field of a type: name is its JSON name, and names are those of all fields of the
// struct. Without names, it is an embedded type.
type fieldRow struct {
	field, name, kind, what string
	names                   map[string]string
}

// rows returns the fields of a struct.
func (d *apiDoc) rows(room, name string) (all []fieldRow, err error) {
	spec := d.types[room+"."+name]
	if spec == nil {
		return nil, fmt.Errorf("there is no type %s.%s", room, name)
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no struct", room, name)
	}
	var fields []string
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			fields = append(fields, n.Name)
		}
	}
	above, names := "", make(map[string]string) // the last comment
	for _, f := range st.Fields.List {
		if doc := oneLine(f.Doc); doc != "" {
			above = doc
		} else if doc := oneLine(f.Comment); doc != "" {
			above = doc
		}
		if len(f.Names) == 0 {
			in, inner := typeIn(room, f.Type)
			all = append(all, fieldRow{field: inner, name: "the fields of " + d.link(in+"."+inner), what: inner})
			continue
		}
		if f.Tag == nil {
			continue // unexported
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if key == "-" {
			continue
		}
		for _, n := range f.Names {
			names[n.Name] = key
			all = append(all, fieldRow{n.Name, code(key), d.kind(room, f.Type), partAbout(above, n.Name, fields), names})
		}
	}
	return all, nil
}

// typeIn returns the package and name of a type.
func typeIn(room string, t ast.Expr) (string, string) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeIn(room, t.X)
	case *ast.SelectorExpr:
		return t.X.(*ast.Ident).Name, t.Sel.Name
	case *ast.Ident:
		return room, t.Name
	}
	return "", ""
}

// kind describes a type in words.
func (d *apiDoc) kind(room string, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.ArrayType:
		if of := d.kind(room, t.Elt); of != "string" {
			return of + "[]"
		}
		return "strings"
	case *ast.MapType:
		return "map of " + d.kind(room, t.Value)
	}
	in, name := typeIn(room, t)
	of := in + "." + name
	switch {
	case of == "time.Time":
		return "time"
	case in == "netip":
		return "string"
	case name == "string":
		return "string"
	case name == "bool":
		return "boolean"
	case d.types[of] == nil:
		return "number"
	case len(d.words[of]) > 0:
		return "one of " + strings.Join(d.words[of], ", ")
	}
	if _, is := d.types[of].Type.(*ast.StructType); is {
		return d.link(of)
	}
	return d.kind(in, d.types[of].Type)
}

// partAbout returns the part of a comment about a field: from where a sentence or clause begins
// with its name to where one begins with another field's name. If none begins with it, it returns
// the parts that name the field.
func partAbout(comment, field string, fields []string) string {
	type start struct {
		at    int
		field string
	}
	var starts []start
	for _, f := range fields {
		for _, m := range regexp.MustCompile(`(?:^|[.;] (?:and )?)(`+f+`)\b`).FindAllStringSubmatchIndex(comment, -1) {
			starts = append(starts, start{m[2], f})
		}
	}
	slices.SortFunc(starts, func(a, b start) int { return a.at - b.at })
	var own, other []string
	mentions := regexp.MustCompile(`\b` + field + `\b`)
	for i, s := range starts {
		end := len(comment)
		if i+1 < len(starts) {
			end = starts[i+1].at
		}
		part := strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(comment[s.at:end]), " and"), ";. "), ",")
		switch {
		case s.field == field:
			own = append(own, part)
		case mentions.MatchString(part):
			other = append(other, part)
		}
	}
	if own == nil {
		own = other
	}
	return strings.Join(own, ". ")
}

// afterNames removes the field names at the start of a comment: the page shows them next to it.
func afterNames(comment string, names map[string]string) string {
	if len(names) == 0 {
		return comment
	}
	field := `(?:` + strings.Join(slices.Sorted(maps.Keys(names)), "|") + `)`
	return regexp.MustCompile(`^`+field+`(?:(?:, | and )`+field+`)* (?:(?:is|are|says?|reports(?: whether)?) )?`).ReplaceAllString(comment, "")
}

// qualified matches a field of another type, or a type of another package, as comments name it.
var qualified = regexp.MustCompile(`\b(?:[A-Za-z]+\.)?([A-Z][A-Za-z]+)\.([A-Z][A-Za-z]+)\b`)

// inJSON replaces Go field names in a comment with their JSON names.
func inJSON(comment string, names map[string]string) string {
	comment = qualified.ReplaceAllStringFunc(comment, func(s string) string {
		last := s[strings.LastIndexByte(s, '.')+1:]
		return code(strings.ToLower(last[:1]) + last[1:])
	})
	parts := strings.Split(comment, "`")
	for i := range parts {
		if i%2 == 0 {
			for field, name := range names {
				parts[i] = regexp.MustCompile(`\b`+field+`\b`).ReplaceAllString(parts[i], "\x00"+name+"\x00")
			}
		}
	}
	return plain(inWords.Replace(strings.ReplaceAll(strings.Join(parts, "`"), "\x00", "`")))
}

// inWords replaces words that make sense only in Go.
var inWords = strings.NewReplacer("nil for", "missing for", "nil where", "missing where", "it is not valid where", "empty where", "MaxPage", "1000")

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
