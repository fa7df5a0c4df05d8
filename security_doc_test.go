package kuadrant

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/engine"
)

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
	s, cfg := newServer(), new(engine.Options)
	if c, err := s.openConsole(cfg); err != nil || c != nil {
		t.Errorf("without the property, the console listens: %v", err)
	}
}
