// Command messages prints every text of the product that users read, with its kind, file and line:
// metrics, log lines, Events, the command line, errors, conditions. It skips tests.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := list("."); err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

// kind is a kind of texts, identified by the call or key around them, or by their file.
type kind struct {
	name         string
	around, file *regexp.Regexp
}

// kinds are all kinds. The first match counts.
var kinds = []kind{
	{"metric", regexp.MustCompile(`^(Help|describe)$`), never},
	{"info", regexp.MustCompile(`^([iI]nfof?|tell)$`), never},
	{"warning", regexp.MustCompile(`^([wW]arn(ingf?|f)?|[lL]ogf|write|once)$`), never},
	{"event", never, regexp.MustCompile(`/events\.go$`)},
	{"command line", never, regexp.MustCompile(`^(cmd/kdns|internal/inspect)/`)},
	{"error", regexp.MustCompile(`^(Errorf?|Errf|New|wanted)$`), never},
	{"condition", never, regexp.MustCompile(`^(records|api)/`)},
	{"other", never, regexp.MustCompile(``)},
}

var never = regexp.MustCompile(`^\b$`)

// skipped matches folders without texts of the product.
var skipped = regexp.MustCompile(`^(test|tools|bench|examples|docs|charts|records/recordstest|internal/[a-z]*test|\..+)$`)

// list prints the texts of a module.
func list(module string) error {
	root := os.DirFS(module)
	return fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped.MatchString(path):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		if err == nil {
			ast.Walk(visitor{set: set, path: path}, file)
		}
		return err
	})
}

// visitor prints the strings of a file that have several words.
type visitor struct {
	set    *token.FileSet
	path   string
	around []string // names of the calls and keys around a node
}

// Visit implements ast.Visitor.
func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return nil
	case *ast.Field:
		n.Tag = nil
	case *ast.CallExpr:
		v.around = append(slices.Clip(v.around), nameOf(n.Fun))
	case *ast.KeyValueExpr:
		v.around = append(slices.Clip(v.around), nameOf(n.Key))
	case *ast.BinaryExpr, *ast.BasicLit:
		text, ok := textOf(n.(ast.Expr))
		if !ok {
			return v
		}
		if strings.Contains(strings.TrimSpace(text), " ") {
			i := slices.IndexFunc(kinds, v.isOf)
			fmt.Printf("%s\t%s:%d\t%q\n", kinds[i].name, v.path, v.set.Position(n.Pos()).Line, text)
		}
		return nil
	}
	return v
}

func (v visitor) isOf(k kind) bool {
	return k.file.MatchString(v.path) || slices.ContainsFunc(v.around, k.around.MatchString)
}

// textOf returns the text of a string or a sum of strings, with … for other operands.
func textOf(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, first := textOf(e.X)
		right, second := textOf(e.Y)
		return cmp.Or(left, "…") + cmp.Or(right, "…"), e.Op == token.ADD && (first || second)
	}
	return "", false
}

// nameOf returns the last part of a name: Errorf for fmt.Errorf.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
