package doctest

import (
	"os/exec"
	"regexp"
	"strings"
)

// What the texts show of a terminal, of objects, and of Corefiles: the first group is the content.
var (
	Console   = regexp.MustCompile("(?s)```console\n(.*?)```")
	YAML      = regexp.MustCompile("(?s)~~~ yaml\n(.*?)~~~")
	Corefiles = regexp.MustCompile("(?s)~~~ corefile\n(.*?)~~~")
)

// Shown is a line that a text says to type, and what it says comes of it.
type Shown struct{ Line, Want string }

// ShownIn returns the lines that a terminal shows.
func ShownIn(block string) (all []Shown) {
	for _, c := range strings.Split(block, "$ ")[1:] {
		line, want, _ := strings.Cut(c, "\n")
		all = append(all, Shown{line, Words(want)})
	}
	return all
}

// Run types the line, with another port of the server, and other words of it, and returns what it prints.
func (c Shown) Run(port string, oldnew ...string) (string, error) {
	line := strings.NewReplacer(append(oldnew, "-p 1053", "-p "+port)...).Replace(c.Line)
	out, err := exec.Command("bash", "-c", line).CombinedOutput()
	return Words(string(out)), err
}

// Words folds the white space of each line, by which dig fills columns.
func Words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
