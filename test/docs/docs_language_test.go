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

// wordsOf returns the string constants whose names begin with one of the prefixes, in the files
// that match a pattern.
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

// TestDocLanguage: every condition, its reasons and the reasons of Events appear in a text that says
// what to do.
func TestDocLanguage(t *testing.T) {
	words := append(wordsOf(t, "records/*.go", "reason", "Reason", "condition"), wordsOf(t, "internal/engine/events.go", "event")...)
	words = append(words, wordsOf(t, "records/*/*.go", "reason", "Reason", "condition")...)
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
	// These concern a policy as a whole: only their message is shown, as a part of that of the
	// condition Enforced.
	unseen := map[string]bool{"InconsistentAddresses": true, "GatewayUnreadable": true, "InvalidAnnotation": true}
	for _, word := range words {
		if !unseen[word] && !regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).MatchString(texts) {
			t.Errorf("no text says what %s means", word)
		}
	}
}
