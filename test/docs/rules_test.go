package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// ruleHeading matches the numbers of sections and rules in docs/rules.md.
	ruleHeading = regexp.MustCompile(`(?m)^(?:## |\*\*)([0-9]+(?:\.[0-9]+)?)(?: |\*\* )`)
	// ruleCitation matches "rule 5.4", "rules 5.3 to 5.6" and "rules 4.6, 3.6 and 7.5", also across
	// lines of a comment.
	ruleCitation = regexp.MustCompile(`(?i)\brules?` + ruleGap + ruleNumber + `(?:(?:,|` + ruleGap + `(?:and|or|to)|,` + ruleGap + `(?:and|or))` + ruleGap + ruleNumber + `)*`)
)

const (
	ruleGap    = `(?:[ \t]+|[ \t]*\n[ \t]*(?:(?://|#|\*)[ \t]*)?)`
	ruleNumber = `[0-9]+(?:\.[0-9]+)?`
)

// TestRulesExist: docs/rules.md has each rule that code, scenarios or texts cite.
func TestRulesExist(t *testing.T) {
	text, err := os.ReadFile("docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := make(map[string]bool)
	for _, m := range ruleHeading.FindAllSubmatch(text, -1) {
		if rules[string(m[1])] {
			t.Errorf("docs/rules.md has %s twice", m[1])
		}
		rules[string(m[1])] = true
	}
	cited := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".txtar", ".md", ".txt"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, at := range ruleCitation.FindAllIndex(content, -1) {
			for _, number := range regexp.MustCompile(ruleNumber).FindAllString(string(content[at[0]:at[1]]), -1) {
				if cited++; !rules[number] {
					t.Errorf("%s:%d: there is no rule %s in docs/rules.md", path, 1+strings.Count(string(content[:at[0]]), "\n"), number)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) < 60 || cited < 500 {
		t.Errorf("found %d rules, cited %d times", len(rules), cited)
	}
}
