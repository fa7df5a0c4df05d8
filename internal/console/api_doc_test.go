package console

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	reference "github.com/coredns-kuadrant/kuadrant/tools/reference/page"
)

// TestAPIPageIsCurrent: docs/api.md is what would be made of the comments of the types.
func TestAPIPageIsCurrent(t *testing.T) {
	want, err := reference.MakeAPI("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + reference.APIFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/api.md is old: run make reference")
	}
}

// TestAPIPageHasAll: docs/api.md has every field of every answer, in the table of its type, with what it is, and no others.
func TestAPIPageHasAll(t *testing.T) {
	text, err := os.ReadFile("../../" + reference.APIFile)
	if err != nil {
		t.Fatal(err)
	}
	tables := make(map[string]map[string]bool)
	for section := range strings.SplitSeq(string(text), "\n## ") {
		name, rest, _ := strings.Cut(section, "\n")
		tables[name] = make(map[string]bool)
		for line := range strings.Lines(rest) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) != 3 || !strings.HasPrefix(cells[0], "| `") {
				continue
			}
			if len(cells[2]) < 10 || cells[1] == "" {
				t.Errorf("%s: %s is not told", name, cells[0])
			}
			tables[name][strings.Trim(cells[0], "| `")] = true
		}
	}
	seen := make(map[reflect.Type]bool)
	for _, v := range []any{
		Server{},
		[]inspect.Zone{},
		inspect.NamePage{},
		records.Tree{},
		inspect.TargetPage{},
		inspect.Troubles{},
		records.Explanation{},
		inspect.World{},
		inspect.Preview{},
		Failure{},
	} {
		checkTable(t, tables, seen, reflect.TypeOf(v))
	}
	if len(seen) < 25 {
		t.Errorf("%d types are too few to tell", len(seen))
	}
}

// checkTable compares the fields of a type, and of those in it, with their tables.
func checkTable(t *testing.T, tables map[string]map[string]bool, seen map[reflect.Type]bool, of reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if seen[of] || of.Kind() != reflect.Struct || !strings.Contains(of.PkgPath(), "kuadrant") {
		return
	}
	seen[of] = true
	fields := make(map[string]bool)
	for _, f := range fieldsOf(of) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" {
			continue
		}
		if fields[key] = true; !tables[of.Name()][key] {
			t.Errorf("docs/api.md lacks %s of %s", key, of.Name())
		}
		checkTable(t, tables, seen, f.Type)
	}
	for key := range tables[of.Name()] {
		if !fields[key] {
			t.Errorf("docs/api.md has %s of %s, which there is not", key, of.Name())
		}
	}
}

// fieldsOf returns the fields of a struct, and of those that are embedded in it.
func fieldsOf(of reflect.Type) (all []reflect.StructField) {
	for i := range of.NumField() {
		if f := of.Field(i); f.Anonymous {
			all = append(all, fieldsOf(f.Type)...)
		} else {
			all = append(all, f)
		}
	}
	return all
}
