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

// TestAPIPageIsCurrent: docs/api.md matches what the generator makes of the types' comments.
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

// TestAPIPageHasAll: docs/api.md lists exactly the fields of every answer, each with a description.
func TestAPIPageHasAll(t *testing.T) {
	text, err := os.ReadFile("../../" + reference.APIFile)
	if err != nil {
		t.Fatal(err)
	}
	lists := make(map[string]map[string]bool)
	for section := range strings.SplitSeq(string(text), "\n## ") {
		name, rest, _ := strings.Cut(section, "\n")
		lists[name] = make(map[string]bool)
		for _, item := range strings.Split(rest, "\n* ")[1:] {
			fields, what, ok := strings.Cut(strings.Join(strings.Fields(item), " "), ": ")
			if ok && len(what) < 5 {
				t.Errorf("%s: %s is not told", name, fields)
			}
			fields, _, _ = strings.Cut(fields, " (")
			for field := range strings.SplitSeq(fields, ", ") {
				lists[name][strings.Trim(field, "`")] = true
			}
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
		checkTable(t, lists, seen, reflect.TypeOf(v))
	}
	if len(seen) < 25 {
		t.Errorf("%d types are too few to tell", len(seen))
	}
}

// checkTable compares the fields of a type, and of the types in it, with their lists.
func checkTable(t *testing.T, lists map[string]map[string]bool, seen map[reflect.Type]bool, of reflect.Type) {
	t.Helper()
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if seen[of] || of.Kind() != reflect.Struct || !strings.Contains(of.PkgPath(), "kuadrant") {
		return
	}
	seen[of] = true
	fields := make(map[string]bool)
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			key = "the fields of [" + f.Name + "](#" + strings.ToLower(f.Name) + ")"
		} else if key == "-" || !f.IsExported() {
			continue
		}
		if fields[key] = true; !lists[of.Name()][key] {
			t.Errorf("docs/api.md lacks %s of %s", key, of.Name())
		}
		checkTable(t, lists, seen, f.Type)
	}
	for key := range lists[of.Name()] {
		if !fields[key] {
			t.Errorf("docs/api.md has %s of %s, which there is not", key, of.Name())
		}
	}
}
