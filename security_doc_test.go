package kuadrant

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/corefile"
)

// TestSecurityDocRights: docs/security.md tells of every right that a variant gives,
// and of no other.
func TestSecurityDocRights(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:get|list|watch|create|update|patch|delete)[a-z,]* [^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1])
	}
	given := slices.Concat(readRights, writeRights, leaseRights, keptRights, clusterRights)
	slices.Sort(told)
	slices.Sort(given)
	if !slices.Equal(told, given) {
		t.Errorf("docs/security.md tells of\n%s\ngiven are\n%s", strings.Join(told, "\n"), strings.Join(given, "\n"))
	}
}

// TestDocsNameTests: a test that a text links to is in the file that the link leads to.
func TestDocsNameTests(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
			links++
			source, err := os.ReadFile(filepath.Join("docs", m[2]))
			if err != nil || !strings.Contains(string(source), "\nfunc "+m[1]+"(") {
				t.Errorf("%s: %s is not in %s (%v)", file, m[1], m[2], err)
			}
		}
	}
	if links < 10 {
		t.Errorf("%d links", links)
	}
}

// TestOpensNoListener: no part of the plugin listens on anything, but the console, which is off unless the Corefile
// has it.
func TestOpensNoListener(t *testing.T) {
	seen, consoles := 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		if _, ours := rooms[room]; err != nil || !ours || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		seen++
		fset := token.NewFileSet()
		file, err := goparser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Listen") && s.Sel.Name != "Listener" {
				if p, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"net", "http", "tls", "dns", "quic", "reuseport"}, p.Name) {
					if path == "console.go" {
						consoles++
						return true
					}
					t.Errorf("%s: %s.%s", fset.Position(n.Pos()), p.Name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 100 || consoles != 1 {
		t.Errorf("%v; saw %d files, and %d places where the console listens", err, seen, consoles)
	}
	e, cfg := newEngine(), new(corefile.Options)
	if err := e.openConsole(cfg); err != nil || e.console != nil {
		t.Errorf("without the property, the console listens: %v", err)
	}
}
