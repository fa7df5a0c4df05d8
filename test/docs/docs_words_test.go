package docs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// wordsOf returns the string constants of the files that a pattern names whose own names begin
// with one of the prefixes.
func wordsOf(t *testing.T, pattern string, prefixes ...string) (words []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %q, %v", pattern, files, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, name := range spec.Names {
				value, ok := spec.Values[i].(*ast.BasicLit)
				for _, prefix := range prefixes {
					if ok && value.Kind == token.STRING && strings.HasPrefix(name.Name, prefix) {
						word, err := strconv.Unquote(value.Value)
						if err != nil {
							t.Fatalf("%s: %s: %v", path, name.Name, err)
						}
						words = append(words, word)
					}
				}
			}
			return true
		})
	}
	return words
}

// TestDocWords: whoever sees a condition, its reason or the reason of an Event finds the word in
// a text that says what to do.
func TestDocWords(t *testing.T) {
	words := append(wordsOf(t, "records/*.go", "reason", "condition"), wordsOf(t, "events.go", "event")...)
	words = append(words, wordsOf(t, "api/verdict.go", "Condition", "ServedInPart")...)
	if len(words) < 60 {
		t.Fatalf("found %d words: %q", len(words), words)
	}
	texts := ""
	for _, name := range []string{"write-back.md", "zones.md", "providers.md"} {
		text, err := os.ReadFile(filepath.Join("docs", name))
		if err != nil {
			t.Fatal(err)
		}
		texts += string(text)
	}
	// These are about a policy as a whole: of them nothing but the message is shown, as a part
	// of that of the condition Enforced.
	unseen := map[string]bool{"InconsistentAddresses": true, "GatewayUnreadable": true, "DelegateWithoutEffect": true, "InvalidAnnotation": true}
	for _, word := range words {
		if !unseen[word] && !regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).MatchString(texts) {
			t.Errorf("no text says what %s means", word)
		}
	}
}

// TestDocCases: the files and scenarios that docs/cases.md names are there, and it names all
// scenarios.
func TestDocCases(t *testing.T) {
	text, err := os.ReadFile("docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, _ := strings.Cut(string(text), "## Where we differ")
	named := make(map[string]bool)
	for _, row := range regexp.MustCompile(`(?m)^\| .*$`).FindAllString(rows, -1) {
		for _, m := range regexp.MustCompile("`([a-z0-9_/]+(?:_test\\.go)?)`").FindAllStringSubmatch(row, -1) {
			name := m[1]
			if !strings.HasSuffix(name, ".go") {
				if !regexp.MustCompile(`^(health/|[a-z]+_)`).MatchString(name) {
					continue // another word
				}
				name = "testdata/" + name + ".txtar"
			}
			named[name] = true
			if _, err := os.Stat(name); err != nil {
				t.Errorf("docs/cases.md names %s: %v", m[1], err)
			}
		}
	}
	for _, pattern := range []string{"testdata/*.txtar", "testdata/health/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, file := range files {
			if !named[filepath.ToSlash(file)] {
				t.Errorf("docs/cases.md does not name %s", file)
			}
		}
	}
}
