package deploy

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// runbookSections returns the sections of docs/runbooks.md by their headings.
func runbookSections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(s, "\n")
		if _, ok := sections[name]; ok {
			t.Errorf("two sections are called %s", name)
		}
		sections[name] = body
	}
	return sections
}

// TestRunbooks: every alert links to its section, and every section has its alert and all its
// parts.
func TestRunbooks(t *testing.T) {
	sections := runbookSections(t)
	severities := []string{"critical", "warning", "info"}
	alerts := make(map[string]bool)
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		alerts[r.Alert] = true
		if _, ok := sections[r.Alert]; !ok {
			t.Errorf("docs/runbooks.md has no section %s", r.Alert)
		}
		if want := "https://" + "github.com/coredns-kuadrant/kuadrant" + "/blob/main/docs/runbooks.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s leads to %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !slices.Contains(severities, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: labels %v, annotations %v", r.Alert, r.Labels, r.Annotations)
		}
	}
	for name, body := range sections {
		if !alerts[name] {
			t.Errorf("docs/runbooks.md has a section %s: there is no such alert", name)
		}
		for _, part := range []string{"\n* User impact: ", "\n* Do: "} {
			if !strings.Contains(body, part) {
				t.Errorf("the section %s lacks %q", name, part)
			}
		}
		if !strings.Contains(body, "\n* Look: ") && !strings.Contains(body, "\n* Log: ") {
			t.Errorf("the section %s says nowhere to look", name)
		}
	}
}

// metricInText matches the names of metrics in a text.
var metricInText = regexp.MustCompile(`\bcoredns_[a-z_]*[a-z]`)

// TestRunbookMetrics: every metric in docs/runbooks.md and docs/operations.md exists.
func TestRunbookMetrics(t *testing.T) {
	v := &vocabulary{exported: exportedMetrics(t), used: make(map[string]bool)}
	named := 0
	sections := runbookSections(t)
	sections["docs/operations.md"] = operationsDoc(t)
	for section, body := range sections {
		for _, name := range metricInText.FindAllString(body, -1) {
			named++
			if _, ok := v.labels(name); !ok && !v.exported[name].histogram {
				t.Errorf("%s: there is no metric %s", section, name)
			}
		}
	}
	if named < 20 {
		t.Errorf("%d metrics are named", named)
	}
}

// TestRunbookLogLines: every log line that a page of docs quotes is written somewhere, here or in
// CoreDNS. A quotation follows "log" or "log says", or has an …, which stands for any text.
func TestRunbookLogLines(t *testing.T) {
	literals := sourceLiterals(t)
	written := func(quotation string) bool {
		return slices.ContainsFunc(literals, func(text string) bool { return quotes(quotation, text) })
	}
	quotations := make(map[string][]string) // by their place
	for section, body := range runbookSections(t) {
		for _, item := range regexp.MustCompile(`(?m)^\* Log: (.*(?:\n  .*)*)`).FindAllStringSubmatch(body, -1) {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(item[1], -1) {
				quotations[section] = append(quotations[section], m[1])
			}
		}
	}
	quotation := regexp.MustCompile("\\blog(?:\\s+says)?\\s+`([^`]+)`(?: or `([^`]+)`)?|`([^`]*…[^`]*)`|`[^`]*`")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page == "docs/runbooks.md" || page == "docs/architecture.md" { // its … is for file names
			continue
		}
		text := regexp.MustCompile("(?ms)^(```|~~~).*?^(```|~~~)$").ReplaceAllString(boottest.ReadFile(t, page), "")
		for _, m := range quotation.FindAllStringSubmatch(text, -1) {
			for _, q := range m[1:] {
				if q != "" {
					quotations[page] = append(quotations[page], q)
				}
			}
		}
	}
	quoted := 0
	for where, all := range quotations {
		for _, q := range all {
			quoted++
			if !written(q) {
				t.Errorf("%s: nothing writes %q", where, q)
			}
		}
	}
	if quoted < 40 || len(quotations["docs/operations.md"]) < 10 {
		t.Errorf("%d lines are quoted: %q", quoted, quotations)
	}
	for _, wrong := range []string{"cannot reach the moon at …", "not accepted (zone …) notify …", "it is damaged: …"} {
		if written(wrong) {
			t.Errorf("%q is found", wrong)
		}
	}
}

// quotes reports whether a quotation matches a text with fmt verbs: the text has the parts between
// …, numbers and names in this order.
func quotes(quotation, text string) bool {
	for _, part := range regexp.MustCompile(`…|\S*["0-9]\S*`).Split(strings.Join(strings.Fields(quotation), " "), -1) {
		part = strings.TrimSpace(part)
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// sourceLiterals returns the string constants of the code that writes to the log.
func sourceLiterals(t *testing.T) (all []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/coredns/coredns").Output()
	if err != nil {
		t.Fatal(err)
	}
	coredns := strings.TrimSpace(string(out))
	for _, dir := range []string{".", "internal/engine", "internal/source", "internal/controller", "records", "records/endpoint", "records/owner", "records/pool", "records/status", "records/zone", "health", "internal/state", "geo", filepath.Join(coredns, "core/dnsserver"), filepath.Join(coredns, "plugin/loop"), filepath.Join(coredns, "plugin/reload")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", dir, files, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, text)
				}
				return true
			})
		}
	}
	return all
}
