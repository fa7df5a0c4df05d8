package docs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// quickStep matches the steps of docs/quick-start.md: a block of commands, the announcement that
// the next one is for another terminal, a number to type into the newest of these, a page to open,
// a word to see on it, and the end of all other terminals.
var quickStep = regexp.MustCompile("(?s)```console\n(.*?)```|((?i:in (?:one|another) terminal))|Type `(\\d+)`|<(http://localhost:[^>]+)>|\\*\\*([^*]+)\\*\\*|(Ctrl-C)")

// TestQuickStart follows docs/quick-start.md from its first line to its last. The commands must
// print what the text shows, and words in bold must be on the page opened last. Ports, and the
// directories of the examples and of the API server's data, differ from the text.
func TestQuickStart(t *testing.T) {
	needQuickStart(t)
	w := newWalk(t)
	done := make(map[string]int)
	for _, step := range quickStep.FindAllStringSubmatch(quickStartText(t, w.data), -1) {
		switch commands, another, number, page, word := step[1], step[2], step[3], step[4], step[5]; {
		case commands != "":
			for _, c := range doctest.ShownIn(commands) {
				done["command"]++
				w.command(c)
			}
			w.elsewhere = false
		case another != "":
			w.elsewhere = true
		case number != "":
			done["number"]++
			w.number(number)
		case page != "":
			done["page"]++
			w.page = page
			w.sees("")
		case word != "":
			done["word"]++
			w.sees(word)
		default:
			done["end"]++
			w.interrupt()
		}
	}
	// The regular expression must not have missed a part of the text.
	if done["command"] < 13 || len(w.terminals) != 3 || done["number"] != 2 || done["page"] < 2 || done["word"] < 7 || done["end"] != 1 {
		t.Errorf("found %d other terminals, and of the steps %v", len(w.terminals), done)
	}
	if _, err := os.Stat(w.data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data of the API server are left: %v", err)
	}
}

// needQuickStart skips the test if something that the text uses is missing: `make kube` would have
// to build it first. It fails the test if the environment requires it.
func needQuickStart(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	asked := exec.Command("make", "--question", "build/bin/kube-apiserver", "build/bin/kubectl")
	asked.Env = withoutMake(os.Environ())
	out, err := asked.CombinedOutput()
	for _, file := range []string{"bin/coredns", "bin/kdns"} {
		if _, missing := os.Stat(file); err == nil {
			err = missing
		}
	}
	if err == nil {
		return
	}
	said := fmt.Sprintf("what the text uses is not built, or is older than its source: %v: run `make build kube-apiserver kubectl`\n%s", err, out)
	if os.Getenv("CI") == "true" || os.Getenv("KUADRANT_REQUIRE_KUBE") == "1" {
		t.Fatal(said)
	}
	t.Skip(said)
}

// withoutMake removes the variables that make passes to its commands.
func withoutMake(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") })
}

// quickStartText returns the text with other ports, a copy of its examples with these ports, and
// another directory for the API server's data.
func quickStartText(t *testing.T, data string) string {
	t.Helper()
	others := []string{
		"1053", fmt.Sprint(peertest.FreePort(t)),
		"8090", fmt.Sprint(peertest.FreePort(t)),
		"8081", fmt.Sprint(peertest.FreePort(t)),
	}
	const examples = "examples/quick-start"
	dir := t.TempDir()
	files, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		boottest.ReplaceIn(t, filepath.Join(examples, f.Name()), filepath.Join(dir, f.Name()), others...)
	}
	text, err := os.ReadFile("docs/quick-start.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(append(others, examples, dir, "$PWD/build/kube", data, "build/kube", data)...).Replace(string(text))
}

// TestQuickStartShows: the text shows the actual Corefile, and a part of the actual objects, and it
// drains a Gateway with the same policy with another weight.
func TestQuickStartShows(t *testing.T) {
	read := func(path ...string) string {
		content, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	text, objects := read("docs", "quick-start.md"), read("examples", "quick-start", "shop.yaml")
	for _, c := range []struct {
		block   *regexp.Regexp
		content string
	}{{doctest.Corefiles, read("examples", "quick-start", "Corefile")}, {doctest.YAML, objects}} {
		if shown := c.block.FindAllStringSubmatch(text, -1); len(shown) != 1 || !strings.Contains(c.content, shown[0][1]) {
			t.Errorf("the text shows %q, which is no part of\n%s", shown, c.content)
		}
	}
	_, drained, _ := strings.Cut(read("examples", "quick-start", "drain.yaml"), "\n") // without the comment
	if whole := strings.Replace(drained, "weight: 0", "weight: 100", 1); whole == drained || !strings.Contains(objects, whole) {
		t.Errorf("drain.yaml has more than another weight:\n%s", drained)
	}
}
