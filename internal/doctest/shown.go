package doctest

import (
	"os/exec"
	"regexp"
	"strings"
)

// These match what the texts show of a terminal, of objects, and of Corefiles. The first group is
// the content.
var (
	Console   = regexp.MustCompile("(?s)```console\n(.*?)```")
	YAML      = regexp.MustCompile("(?s)~~~ yaml\n(.*?)~~~")
	Corefiles = regexp.MustCompile("(?s)~~~ corefile\n(.*?)~~~")
)

// Shown is a line that a text says to type, and the output that it shows.
type Shown struct{ Line, Want string }

// ShownIn returns the lines typed in a terminal block, with their output.
func ShownIn(block string) (all []Shown) {
	for _, c := range strings.Split(block, "$ ")[1:] {
		line, want, _ := strings.Cut(c, "\n")
		all = append(all, Shown{line, Collapse(want)})
	}
	return all
}

// Run runs the line with another server port and other replacements, and returns what it prints.
func (c Shown) Run(port string, oldnew ...string) (string, error) {
	line := strings.NewReplacer(append(oldnew, "-p 1053", "-p "+port)...).Replace(c.Line)
	out, err := exec.Command("bash", "-c", line).CombinedOutput()
	return Collapse(string(out)), err
}

// Collapse collapses the white space of each line: dig pads its columns.
func Collapse(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
