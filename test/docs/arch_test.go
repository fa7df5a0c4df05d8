package docs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/coredns-kuadrant/kuadrant"

// rooms lists the rooms that each room may import. A room is a folder of the module; "" is its
// root. docs/architecture.md shows the picture.
var rooms = map[string][]string{
	"":                      {"internal/corefile", "internal/coredns", "internal/engine", "internal/fastpath", "internal/console", "internal/inspect", "api", "internal/source", "records", "records/pool", "records/rdata", "geo", "health"},
	"internal/engine":       {"api", "internal/source", "records", "health", "geo", "internal/controller", "internal/state", "internal/tree", "internal/watchfile"},
	"api":                   {"internal/jsonwalk", "internal/tree"},
	"api/v1":                {},
	"api/v1alpha1":          {"api/v1"},
	"api/v1alpha2":          {"api/v1", "api/v1alpha1"},
	"api/kubizone/v1alpha1": {"api/v1"},
	"internal/coredns":      {},
	"internal/fastpath":     {},
	"internal/source":       {"api", "api/v1", "api/v1alpha1", "api/kubizone/v1alpha1", "internal/direct", "internal/jsonwalk", "internal/near", "internal/rewatch", "internal/tree"},
	"records":               {"api", "geo", "health", "internal/tree", "records/endpoint", "records/owner", "records/pool", "records/rdata", "records/status", "records/zone", "internal/boolean"},
	"records/status":        {"api", "health", "internal/tree", "records/endpoint", "records/owner", "records/pool", "records/rdata", "records/zone"},
	"records/zone":          {"api", "internal/tree", "records/endpoint", "records/owner", "records/pool", "records/rdata", "internal/boolean"},
	"records/owner":         {"api", "internal/tree", "records/endpoint"},
	"records/pool":          {"api", "geo", "health", "internal/near", "internal/tree", "records/endpoint", "records/owner", "records/rdata"},
	"records/endpoint":      {"api", "geo", "health", "internal/tree", "records/rdata"},
	"records/rdata":         {"api"},
	"internal/controller":   {"internal/direct", "internal/rewatch", "internal/tree", "api", "api/v1", "api/v1alpha1", "api/kubizone/v1alpha1"},
	"health":                {},
	"geo":                   {"internal/watchfile"},
	"internal/state":        {"api"},
	"internal/inspect":      {"api", "internal/near", "records", "records/pool", "geo", "health"},
	"internal/corefile":     {"internal/engine", "internal/near", "api", "health", "records", "records/rdata", "internal/source", "internal/watchfile"},
	"internal/console":      {"internal/inspect", "internal/direct", "records", "internal/boolean"},
	"plugin":                {""},
	"cmd/coredns":           {"plugin"},
	"cmd/kdns":              {"", "internal/corefile", "api", "internal/console", "geo", "internal/inspect", "internal/near", "records", "internal/source"},
	"internal/boolean":      {},
	"internal/direct":       {},
	"internal/jsonwalk":     {},
	"internal/near":         {},
	"internal/rewatch":      {},
	"internal/tree":         {},
	"internal/watchfile":    {},
}

// toolRooms hold programs and test helpers: they may import any room, and no room may import them.
var toolRooms = []string{"internal/boottest", "internal/doctest", "internal/geotest", "internal/kubetest", "internal/peertest", "records/recordstest", "test", "tools", "bench"}

// foreign lists packages of other modules that are restricted, with the rooms that may import them.
var foreign = map[string][]string{
	"github.com/coredns/":    {"", "internal/coredns", "internal/corefile", "plugin", "cmd/coredns"},
	"github.com/prometheus/": {""},
	"k8s.io/client-go":       {"internal/engine", "internal/source", "internal/controller", "internal/rewatch"},
}

// impure are imports that records must not have: it is a pure function.
var impure = []string{"os", "net/http", "context", "log", "log/slog", "k8s.io/", "github.com/fsnotify/", "math/rand"}

// TestArchitecture checks the direct imports of every non-test file against docs/architecture.md.
func TestArchitecture(t *testing.T) {
	fset := token.NewFileSet()
	seen := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "build" || name == "bin" || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := goparser.ParseFile(fset, path, nil, goparser.ImportsOnly)
		if err != nil {
			return err
		}
		room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		seen[room] = true
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if why := forbidden(room, imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		if !seen[room] {
			t.Errorf("room %q has no file: take it out of the table", room)
		}
	}
}

// forbidden returns why room may not import a package; "" if it may.
func forbidden(room, imported string) string {
	if isTool(room) {
		return ""
	}
	allowed, known := rooms[room]
	if !known {
		return "the room is not in the table"
	}
	if own, ok := strings.CutPrefix(imported, module); ok {
		if !slices.Contains(allowed, strings.TrimPrefix(own, "/")) {
			return "no arrow leads there"
		}
		return ""
	}
	for prefix, may := range foreign {
		if strings.HasPrefix(imported, prefix) && !slices.Contains(may, room) {
			return "only " + strings.Join(may, ", ") + " may"
		}
	}
	if (room == "records" || strings.HasPrefix(room, "records/")) && slices.ContainsFunc(impure, func(i string) bool {
		return imported == i || strings.HasSuffix(i, "/") && strings.HasPrefix(imported, i) || strings.HasPrefix(imported, i+"/")
	}) {
		return "records is pure"
	}
	return ""
}

func isTool(room string) bool {
	return slices.ContainsFunc(toolRooms, func(r string) bool { return room == r || strings.HasPrefix(room, r+"/") })
}

// TestRecordsHasNoClock checks that records neither reads the clock nor starts a goroutine.
func TestRecordsHasNoClock(t *testing.T) {
	files, err := filepath.Glob("records/*.go")
	rooms, roomsErr := filepath.Glob("records/*/*.go")
	if files = append(files, rooms...); err != nil || roomsErr != nil || len(rooms) == 0 {
		t.Fatalf("find files: %v, %v, %d files", err, roomsErr, len(files))
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, use := range clockUses(t, path) {
			t.Errorf("%s: records uses no %s", use.where, use.what)
		}
	}
}

type use struct{ where, what string }

// clockUses finds calls of time.Now and go statements in a file.
func clockUses(t *testing.T, path string) (uses []use) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := goparser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			uses = append(uses, use{fset.Position(n.Pos()).String(), "goroutine"})
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Tick"}, n.Sel.Name) {
				uses = append(uses, use{fset.Position(n.Pos()).String(), "time." + n.Sel.Name})
			}
		}
		return true
	})
	return uses
}

// TestRecordsNamesItsFiles: the list of files in records/doc.go, a newcomer's map, is complete and
// has no deleted files.
func TestRecordsNamesItsFiles(t *testing.T) {
	text, err := os.ReadFile("records/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[a-z0-9_]+\.go\b`).FindAllString(string(text), -1)
	files, err := filepath.Glob("records/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		f = filepath.Base(f)
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !slices.Contains(named, f) {
			t.Errorf("records/doc.go does not name %s", f)
		}
	}
	for _, f := range named {
		if _, err := os.Stat(filepath.Join("records", f)); err != nil {
			t.Errorf("records/doc.go names %s: %v", f, err)
		}
	}
}

// TestOpensNoListener: no part of the plugin listens, except the console, which is off by default, and the fast path, beside CoreDNS.
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
					switch {
					case path == "console.go":
						consoles++
						return true
					case room == "internal/fastpath": // where CoreDNS listens already
						return true
					}
					t.Errorf("%s: %s.%s", fset.Position(n.Pos()), p.Name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 100 || consoles != 2 { // one checks that the port is free
		t.Errorf("%v; saw %d files, and %d places where the console listens", err, seen, consoles)
	}
}
