// Package doctest finds the commands that the project's texts tell readers to type, for tests that
// check them.
package doctest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is one command of a text: a part of a shell line between operators.
type Command struct {
	File string // relative to the module
	Line int
	Args []string // without quotes, comments, redirections and leading assignments
	// Inline is true for code in prose, which may name a command rather than give it in full.
	Inline bool
	// Dir is the folder that earlier lines changed to, relative to the module. Elsewhere is true if
	// that is not a folder of the project.
	Dir       string
	Elsewhere bool
}

// String returns the place of the command, and the command.
func (c Command) String() string {
	return fmt.Sprintf("%s:%d: %s", c.File, c.Line, strings.Join(c.Args, " "))
}

// tools are the programs that the project's texts tell readers to use. Other lines are not checked.
var tools = []string{
	"make", "kubectl", "kubectl-kdns", "kdns", "helm", "dig", "kdig", "go", "coredns", "cd", "docker", "kustomize",
	"delv", "dnssec-keygen", "dnssec-dsfromkey", "promtool", "curl",
}

// Program returns the name of the program, without the folder bin/ of make build; "" for no
// command.
func (c Command) Program() string { return program(c.Args) }

func program(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if dir, name := path.Split(args[0]); dir == "" || strings.HasSuffix(dir, "bin/") {
		return name
	}
	return args[0]
}

// Texts returns the paths of the texts in the module, relative to it.
func Texts(module string) ([]string, error) {
	var all []string
	for _, pattern := range []string{"README.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md", "charts/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s: found nothing: %w", pattern, err)
		}
		for _, file := range found {
			name, err := filepath.Rel(module, file)
			if err != nil {
				return nil, err
			}
			all = append(all, filepath.ToSlash(name))
		}
	}
	return all, nil
}

// Current reports whether a text describes the project as it is now: a changelog describes the
// past.
func Current(file string) bool { return file != "CHANGELOG.md" }

// All returns the commands of all current texts of the module.
func All(module string) (all []Command, err error) {
	texts, err := Texts(module)
	if err != nil {
		return nil, err
	}
	for _, file := range texts {
		if !Current(file) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		all = append(all, Commands(file, string(text))...)
	}
	return all, nil
}

// Span is a piece of code in prose.
type Span struct {
	File string
	Line int
	Text string
}

var (
	fence   = regexp.MustCompile("^ *(```+|~~~+) *([A-Za-z]*)")
	span    = regexp.MustCompile("`([^`]+)`")
	heredoc = regexp.MustCompile(`<<-?'?"?([A-Z]+)`)
)

// shells are the languages of blocks that hold shell lines. In a block for a terminal, a command
// follows a "$"; in other blocks, a line counts only if it starts with a tool.
var shells = []string{"sh", "bash", "shell"}

// reader goes through one text.
type reader struct {
	file     string
	commands []Command
	spans    []Span

	language, mark string // of the open block; mark is "" outside
	until          string // the end of a here-document
	open           string // a line that continues in the next one
	at             int    // where it started
	dir            string // of the block
	elsewhere      bool
	prose          []string // the open paragraph
	proseAt        int
	indented       bool // the line before was indented code, or empty
}

// Commands returns the commands of a text, including those in prose.
func Commands(file, text string) []Command {
	r := read(file, text)
	for _, s := range r.spans {
		args := split(s.Text)
		for _, one := range args {
			if slices.Contains(tools, program(one)) {
				r.commands = append(r.commands, Command{File: file, Line: s.Line, Args: one, Inline: true})
			}
		}
	}
	return r.commands
}

// Spans returns the code in a text's prose.
func Spans(file, text string) []Span { return read(file, text).spans }

func read(file, text string) *reader {
	r := &reader{file: file, indented: true}
	n := 0
	for line := range strings.Lines(text) {
		n++
		r.line(n, strings.TrimRight(line, "\r\n"))
	}
	r.paragraph()
	return r
}

func (r *reader) line(n int, line string) {
	if m := fence.FindStringSubmatch(line); m != nil && (r.mark == "" || strings.HasPrefix(m[1], r.mark)) {
		r.paragraph()
		if r.mark != "" {
			m[1], m[2] = "", ""
		}
		r.mark, r.language, r.until, r.open, r.dir, r.elsewhere, r.indented = m[1], m[2], "", "", "", false, true
		return
	}
	trimmed := strings.TrimSpace(line)
	switch {
	case r.mark != "":
		r.shell(n, trimmed)
	case trimmed == "":
		r.paragraph()
		r.indented, r.dir, r.elsewhere = true, "", false
	case r.indented && strings.HasPrefix(line, "    ") && slices.Contains(tools, program(strings.Fields(strings.TrimPrefix(trimmed, "$ ")))):
		r.language = "sh"
		r.shell(n, strings.TrimPrefix(trimmed, "$ "))
		r.language = ""
	default:
		r.indented = false
		if len(r.prose) == 0 {
			r.proseAt = n
		}
		r.prose = append(r.prose, line)
	}
}

// shell reads a line of a block.
func (r *reader) shell(n int, line string) {
	if r.until != "" {
		if line == r.until {
			r.until = ""
		}
		return
	}
	typed := slices.Contains(shells, r.language)
	if r.open != "" {
		line, n, typed = r.open+" "+line, r.at, true
		r.open = ""
	} else if text, ok := strings.CutPrefix(line, "$ "); ok {
		line, typed = text, true
	}
	if !typed && (r.language == "console" || !slices.Contains(tools, program(strings.Fields(line)))) {
		return
	}
	if text, ok := strings.CutSuffix(line, `\`); ok {
		r.open, r.at = text, n
		return
	}
	if m := heredoc.FindStringSubmatch(line); m != nil {
		r.until, line = m[1], line[:strings.Index(line, m[0])]
	}
	for _, args := range split(line) {
		if program(args) == "cd" && len(args) > 1 {
			r.dir = path.Join(r.dir, args[1])
			r.elsewhere = r.elsewhere || !filepath.IsLocal(args[1]) && args[1] != ".." || strings.ToUpper(args[1]) == args[1]
		}
		r.commands = append(r.commands, Command{File: r.file, Line: n, Args: args, Dir: r.dir, Elsewhere: r.elsewhere})
	}
}

// paragraph ends a paragraph and collects the code in it.
func (r *reader) paragraph() {
	text := strings.Join(r.prose, "\n")
	for _, m := range span.FindAllStringSubmatchIndex(text, -1) {
		code := strings.ReplaceAll(text[m[2]:m[3]], `\|`, "|")
		r.spans = append(r.spans, Span{r.file, r.proseAt + strings.Count(text[:m[0]], "\n"), strings.Join(strings.Fields(code), " ")})
	}
	r.prose = nil
}
