package docs

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
)

// TestDocsLinks follows the relative links of all texts: each leads to a file of this repository,
// and an anchor to one of its headings. Tables are whole: a line after a blank line is not a row.
func TestDocsLinks(t *testing.T) {
	texts, err := doctest.Texts(".")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, text := range texts {
		content, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		followed, faults := followLinks(t, text, string(content))
		links += followed
		if regexp.MustCompile(`\|\n\n\|.*\n([^|]|\|[^-])`).Match(content) {
			faults = append(faults, "a blank line cuts a table in two")
		}
		for _, fault := range faults {
			t.Errorf("%s: %s", text, fault)
		}
	}
	if links < 250 {
		t.Errorf("found %d links", links)
	}
}

// TestDocsLinksBite: the test finds broken links.
func TestDocsLinksBite(t *testing.T) {
	for link, want := range map[string]string{
		"zones.md":                 "",
		"zones.md#who-owns-a-name": "",
		"#here":                    "",
		"#here-1":                  "",
		"../README.md#syntax":      "",
		"<zones.md>":               "",
		"zones.md \"title\"":       "",
		"https://example.com/no":   "",
		"../config":                "",
		"zone.md":                  "leads nowhere",
		"CHANGELOG.md":             "leads nowhere",
		"zones.md#who-owns-names":  "leads to no heading",
		"#here-2":                  "leads to no heading",
		"../config#here":           "leads to no heading",
		"../../outside.md":         "leads out of the repository",
		"/docs/zones.md":           "leads out of the repository",
	} {
		content := "# Here\n\n## Here\n\nSee [it](" + link + ").\n\n~~~ md\n[no](nothing.md)\n~~~\nNor `[no](nothing.md)`.\n"
		dir := t.TempDir()
		boottest.WriteFile(t, filepath.Join(dir, "text.md"), content)
		links, faults := followLinksIn(t, "docs/text.md", filepath.Join(dir, "text.md"), content)
		if got := strings.Join(faults, "; "); want == "" && got != "" || !strings.Contains(got, want) || links > 1 {
			t.Errorf("%s: %d links, %q, want %q", link, links, got, want)
		}
	}
}

func followLinks(t *testing.T, text, content string) (links int, faults []string) {
	t.Helper()
	return followLinksIn(t, text, text, content)
}

// followLinksIn follows the links in content, as if it were the text at file.
func followLinksIn(t *testing.T, text, file, content string) (links int, faults []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(<?([^)\s>]+)>?[^)]*\)`).FindAllStringSubmatch(prose(content), -1) {
		if u, err := url.Parse(m[1]); err == nil && u.Scheme != "" {
			continue
		}
		links++
		path, anchor, _ := strings.Cut(m[1], "#")
		target := filepath.Join(filepath.Dir(text), path)
		outside := !filepath.IsLocal(target) || strings.HasPrefix(path, "/")
		if path == "" {
			target = file
		}
		info, err := os.Stat(target)
		switch {
		case outside:
			faults = append(faults, fmt.Sprintf("the link %s leads out of the repository", m[1]))
		case err != nil:
			faults = append(faults, fmt.Sprintf("the link %s leads nowhere: %v", m[1], err))
		case anchor != "" && (info.IsDir() || !slices.Contains(anchors(t, target), anchor)):
			faults = append(faults, fmt.Sprintf("the link %s leads to no heading of %s", m[1], target))
		}
	}
	return links, faults
}

// prose returns a text without code blocks and code in backquotes.
func prose(text string) string {
	text = regexp.MustCompile("(?ms)^(```|~~~).*?^(```|~~~)$").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
}

// anchors returns the anchors of a text's headings: lower case, words joined by hyphens, without
// other punctuation.
func anchors(t *testing.T, path string) (all []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?ms)^(```|~~~).*?^(```|~~~)$").ReplaceAllString(string(content), "")
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*?) *$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		name = strings.ReplaceAll(name, " ", "-")
		anchor := name
		for n := 1; slices.Contains(all, anchor); n++ { // repeated headings are numbered
			anchor = fmt.Sprint(name, "-", n)
		}
		all = append(all, anchor)
	}
	return all
}

// TestDocsNameTests: a test that a text links to is in the linked file.
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
