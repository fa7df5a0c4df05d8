package docs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retired are words that meant several things each: docs/architecture.md has those to use.
var retired = regexp.MustCompile(`(?i)^(told|said|words?|gates?|keepers?|shel(f|ves)|vacanc(y|ies))$`)

// parts finds the words of a name in mixed caps, or with underscores.
var parts = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// TestRetiredNames: no type, exported identifier or file is named by a retired word.
func TestRetiredNames(t *testing.T) {
	for name, want := range map[string]bool{"wordless": false, "Gateway": false, "APIGate": true, "gate_test": true, "toldZone": true} {
		if is := isRetired(name); is != want {
			t.Errorf("%s is retired: %v", name, is)
		}
	}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "build" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		if isRetired(strings.TrimSuffix(d.Name(), ".go")) {
			t.Errorf("%s: the file's name has a retired word", path)
		}
		file, err := goparser.ParseFile(fset, path, nil, goparser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, id := range named(n) {
				if isRetired(id.Name) {
					t.Errorf("%s: %s has a retired word", fset.Position(id.Pos()), id.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isRetired reports whether one of the words of a name is retired.
func isRetired(name string) bool {
	all := parts.FindAllString(strings.ReplaceAll(name, "API", "Api"), -1)
	return slices.ContainsFunc(all, retired.MatchString)
}

// named returns the names that a node declares: types, and exported identifiers.
func named(n ast.Node) (all []*ast.Ident) {
	switch n := n.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.FuncDecl:
		all = []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		all = n.Names
	case *ast.Field:
		all = n.Names
	}
	return slices.DeleteFunc(slices.Clone(all), func(id *ast.Ident) bool { return !id.IsExported() })
}
