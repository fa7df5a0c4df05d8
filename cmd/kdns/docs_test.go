package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
)

// commandLine returns the arguments of a kdns or kubectl kdns command; ok is false for other commands.
func commandLine(c doctest.Command) (args []string, ok bool) {
	switch {
	case c.Program() == "kdns", c.Program() == "kubectl-kdns":
		return c.Args[1:], true
	case c.Program() == "kubectl" && len(c.Args) > 1 && c.Args[1] == "kdns":
		return c.Args[2:], true
	}
	return nil, false
}

// lineFault returns the error that the program would report for a command line before it does any work, or nil.
// Inline in prose, a command may omit its arguments.
func lineFault(args []string, inline bool) error {
	o := new(options)
	root := newRootOf(false, o)
	root.InitDefaultVersionFlag()
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	asks := func(name string) bool {
		f := c.Flags().Lookup(name)
		return f != nil && f.Changed
	}
	if inline || asks("help") || asks("version") {
		return nil
	}
	if !c.Runnable() || c.HasSubCommands() {
		return fmt.Errorf("%s wants a command", c.CommandPath())
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// TestDocsCommandLines: the command lines in all texts are valid.
func TestDocsCommandLines(t *testing.T) {
	inRoot(t)
	commands, err := doctest.All(".")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, c := range commands {
		if args, ok := commandLine(c); ok {
			lines++
			if err := lineFault(args, c.Inline); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
	if lines < 5 {
		t.Errorf("%d command lines", lines)
	}
}

// TestDocsCommandLinesBite: wrong command lines are reported.
func TestDocsCommandLinesBite(t *testing.T) {
	for line, want := range map[string]string{
		"bin/kdns explain a.example --from 192.0.2.1": "",
		"kdns explain":                                    "accepts 1 arg",
		"kdns explan a.example":                           "unknown command",
		"kdns explain a.example --form 192.0.2.1":         "unknown flag: --form",
		"kubectl kdns list names shop --state failing":    "",
		"kubectl kdns list name":                          "wants a command",
		"kubectl-kdns list":                               "wants a command",
		"kdns list zones x":                               "unknown command",
		"kdns list zones -o tabel":                        "must be one of",
		"kdns list zones --timeout 5":                     "invalid argument",
		"kdns preview -f DIR --against URL --prune":       "",
		"kdns --version":                                  "",
		"kdns completion bash":                            "",
		"kdns check -f - --help":                          "",
		"kubectl get pods; kdns check -f a --corefile a ": "",
	} {
		found := "no command line"
		for _, c := range doctest.Commands("f", "~~~ sh\n"+line+"\n~~~\n") {
			if args, ok := commandLine(c); ok {
				found = ""
				if err := lineFault(args, false); err != nil {
					found = err.Error()
				}
			}
		}
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", line, found, want)
		}
	}
	if err := lineFault([]string{"explain"}, true); err != nil {
		t.Errorf("a command that is named in prose: %v", err)
	}
}

// TestDocsHaveAllCommands: docs/kdns.md has every command, and only existing flags.
func TestDocsHaveAllCommands(t *testing.T) {
	inRoot(t)
	const file = "docs/kdns.md"
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	names, flags := known(newRoot(false))
	if len(names) < 7 || len(flags) < 12 {
		t.Fatalf("%q, %v", names, flags)
	}
	said := ""
	for _, s := range doctest.Spans(file, string(text)) {
		said += strings.TrimPrefix(s.Text, "kdns ") + "\n"
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `( |$)`).MatchString(said) {
			t.Errorf("%s lacks the command %s", file, name)
		}
	}
	for line := range strings.Lines(said) {
		if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.HasPrefix(first, "-") &&
			!slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name+" ", first+" ") }) {
			continue // another program's flag
		}
		for _, m := range regexp.MustCompile(`(?:^|[ \[])(--[a-z-]+)`).FindAllStringSubmatch(line, -1) {
			if !flags[m[1]] {
				t.Errorf("%s has the flag %s: no command has it", file, m[1])
			}
		}
	}
}

// TestDocsShow: the terminal output in docs/kdns.md is what the commands print. The other server of compare is Knot.
func TestDocsShow(t *testing.T) {
	inRoot(t)
	const file, other = "docs/kdns.md", "192.0.2.1"
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	addr := startKnot(t, "", map[string]string{"k.example.com.": otherZone})
	shown := 0
	for _, block := range doctest.Console.FindAllStringSubmatch(string(text), -1) {
		for _, c := range doctest.ShownIn(block[1]) {
			shown++
			got := kdns(t, "", strings.Fields(strings.Replace(c.Line, " "+other+" ", " "+addr+" ", 1))[1:]...)
			printed := doctest.Collapse(strings.ReplaceAll(got.errs+got.out, addr, other+":53"))
			if printed != strings.TrimRight(c.Want, "\n") && printed != c.Want {
				t.Errorf("%s prints\n%s\nwant\n%s", c.Line, printed, c.Want)
			}
		}
	}
	if shown < 5 {
		t.Errorf("%s shows %d commands", file, shown)
	}
}

// known returns the runnable commands below c, and the flags of all of them.
func known(c *cobra.Command) (names []string, flags map[string]bool) {
	flags = make(map[string]bool)
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
	}
	_, name, below := strings.Cut(c.CommandPath(), " ")
	if below && c.Runnable() && !c.HasSubCommands() {
		names = append(names, name)
	}
	for _, sub := range c.Commands() {
		more, of := known(sub)
		names = append(names, more...)
		maps.Copy(flags, of)
	}
	return names, flags
}
