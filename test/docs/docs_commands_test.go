package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
)

// docChecker finds mistakes in the commands of texts, as far as possible without running them. The
// tests of kdns check its own lines.
type docChecker struct {
	targets, goTools map[string]bool
	tests            map[string][]string // by folder: tests, benchmarks, fuzz targets
	values           map[string]any      // the schema of the chart's values
}

func newDocChecker(t *testing.T) *docChecker {
	t.Helper()
	d := &docChecker{targets: make(map[string]bool), goTools: make(map[string]bool), tests: make(map[string][]string)}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(read("Makefile"), -1) {
		d.targets[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\t[a-z][\w.-]*/\S*?([a-z-]+)(?:/v\d+)?$`).FindAllStringSubmatch(read("tools/go.tool.mod"), -1) {
		d.goTools[m[1]] = true
	}
	if err := json.Unmarshal([]byte(read("charts/kuadrant-coredns/values.schema.json")), &d.values); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") || slices.Contains([]string{"build", "bin", "testdata"}, e.Name())) {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`).FindAllStringSubmatch(read(path), -1) {
				d.tests[filepath.Dir(path)] = append(d.tests[filepath.Dir(path)], m[1])
			}
		}
		return err
	})
	if err != nil || len(d.targets) < 20 || len(d.goTools) < 5 || len(d.tests["."]) < 30 {
		t.Fatalf("%v; %d targets, %v, %d tests", err, len(d.targets), d.goTools, len(d.tests["."]))
	}
	return d
}

// faults returns the mistakes in a command.
func (d *docChecker) faults(c doctest.Command) (faults []string) {
	if len(c.Args) < 2 || c.Elsewhere {
		return nil
	}
	args := c.Args[1:]
	for _, arg := range args {
		if path := arg[strings.LastIndex(arg, "=")+1:]; ownPath(path) && !exists(c.Dir, path) && !exists("", path) {
			faults = append(faults, "there is no "+path)
		}
	}
	switch c.Program() {
	case "make":
		faults = append(faults, d.make(args)...)
	case "kubectl":
		faults = append(faults, kubectlFaults(c.Dir, args)...)
	case "helm":
		faults = append(faults, d.helm(args)...)
	case "dig", "kdig":
		faults = append(faults, digFaults(args)...)
	case "go":
		faults = append(faults, d.gotool(args)...)
	case "cd":
		if !exists("", c.Dir) {
			faults = append(faults, "there is no folder "+c.Dir)
		}
	}
	return faults
}

// ownFolders are folders of the project that texts name.
var ownFolders = []string{"bench", "charts", "cmd", "config", "docs", "examples", "internal", "test", "testdata", "tools"}

// ownPath reports whether a word is the path of a file or folder of the project, without
// placeholders for the reader.
func ownPath(text string) bool {
	folder, rest, ok := strings.Cut(text, "/")
	return ok && slices.Contains(ownFolders, folder) && !strings.ContainsAny(text, "<>{}[]$… ") && !strings.Contains(text, "...") &&
		!regexp.MustCompile(`(^|/)[A-Z]+(/|$)`).MatchString(rest)
}

// exists reports whether a file or folder exists, or one that matches a pattern.
func exists(dir, path string) bool {
	found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(path)))
	return err == nil && len(found) > 0
}

func (d *docChecker) make(args []string) (faults []string) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && strings.ToUpper(arg) != arg && !d.targets[arg] {
			faults = append(faults, "the Makefile has no target "+arg)
		}
	}
	return faults
}

// kubectlVerbs are the kubectl commands that a text may name; kdns is our plugin.
var kubectlVerbs = strings.Fields("annotate api-resources api-versions apply attach auth certificate cluster-info completion config cordon cp create debug delete describe diff drain " +
	"edit events exec explain expose get kdns kustomize label logs options patch port-forward proxy replace rollout run scale set taint top uncordon version wait krew plugin")

// kubectlFaults checks the verb, and the paths after -f and -k.
func kubectlFaults(dir string, args []string) (faults []string) {
	verb := ""
	for i := 0; i < len(args) && verb == ""; i++ {
		switch arg := args[i]; {
		case slices.Contains([]string{"-n", "--namespace", "--context", "--kubeconfig"}, arg):
			i++
		case !strings.HasPrefix(arg, "-"):
			verb = arg
		}
	}
	if verb != "" && strings.ToUpper(verb) != verb && verb != "..." && !slices.Contains(kubectlVerbs, verb) {
		return []string{"kubectl has no " + verb}
	}
	if !slices.Contains([]string{"apply", "create", "delete", "diff", "replace"}, verb) {
		return nil
	}
	for i, arg := range args[:len(args)-1] {
		path := args[i+1]
		switch {
		case !ownPath(path) && (dir == "" || strings.HasPrefix(path, "-")):
		case arg == "-k" || arg == "--kustomize":
			if !exists(dir, path+"/kustomization.yaml") {
				faults = append(faults, "there is nothing for kustomize in "+filepath.Join(dir, path))
			}
		case (arg == "-f" || arg == "--filename") && !ownPath(path) && !exists(dir, path): // ownPath checks the others
			faults = append(faults, "there is no "+filepath.Join(dir, path))
		}
	}
	return faults
}

var helmVerbs = strings.Fields("completion create dependency env get history install lint list package plugin pull push registry repo rollback search show status template test uninstall upgrade verify version")

// helm checks the verb, the chart and the names of values.
func (d *docChecker) helm(args []string) (faults []string) {
	if verb := args[0]; !strings.HasPrefix(verb, "-") && !slices.Contains(helmVerbs, verb) {
		faults = append(faults, "helm has no "+verb)
	}
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimPrefix(arg, "./"), "charts/") })
	if at < 0 {
		return faults
	}
	if chart := args[at]; !exists(chart, "Chart.yaml") {
		return append(faults, "there is no chart in "+chart)
	}
	for i, arg := range args {
		flag, text, joined := strings.Cut(arg, "=")
		if !slices.Contains([]string{"--set", "--set-string", "--set-file", "--set-json"}, flag) {
			continue
		}
		if !joined && i+1 < len(args) {
			text = args[i+1]
		}
		for _, m := range regexp.MustCompile(`(?:^|,)([A-Za-z][\w.\[\]-]*)=`).FindAllStringSubmatch(text, -1) {
			if !d.value(m[1]) {
				faults = append(faults, "the chart has no value "+m[1])
			}
		}
	}
	return faults
}

// value reports whether the chart's schema has a value, such as zones[0].name.
func (d *docChecker) value(name string) bool {
	at := d.values
	resolve := func() {
		if ref, ok := at["$ref"].(string); ok {
			definitions, _ := d.values["definitions"].(map[string]any)
			at, _ = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
	}
	for part := range strings.SplitSeq(name, ".") {
		key, index, isList := strings.Cut(part, "[")
		resolve()
		properties, closed := at["properties"].(map[string]any)
		if !closed || at["patternProperties"] != nil {
			return at != nil && at["type"] != "string" // a map with arbitrary keys
		}
		next, ok := properties[key].(map[string]any)
		if !ok {
			return false
		}
		at = next
		if resolve(); isList {
			if at, ok = at["items"].(map[string]any); !ok || !strings.HasSuffix(index, "]") {
				return false
			}
		}
	}
	return true
}

// digFlags are the words that dig or kdig accept after +, without the prefix no.
var digFlags = strings.Fields("aaflag aaonly additional adflag alignment all alpn answer authority badcookie besteffort bufsize cdflag class cmd coflag comments cookie crypto defname dns64prefix dnssec do " +
	"doflag domain edns ednsflags ednsnegotiation ednsopt expandaaaa expire fail generic header header-only https https-get identify idn idnin idnout ignore json keepalive keepopen mapped multiline ndots nsid nssearch " +
	"onesoa opcode optall opttext padding proxy qid qr question quic raflag rdflag recurse retry rrcomments search short showallmessages showbadcookie showbadvers showsearch split stats subnet tcflag tcp time timeout " +
	"tls tls-ca tls-certfile tls-host tls-hostname tls-keyfile tls-pin tls-sni topdown trace tries ttl ttlid ttlunits unexpected unknownformat vc yaml zflag zoneversion")

// digFaults checks the flags.
func digFaults(args []string) (faults []string) {
	for _, arg := range args {
		flag, isFlag := strings.CutPrefix(arg, "+")
		flag, _, _ = strings.Cut(flag, "=")
		known := func(name string) bool {
			return slices.ContainsFunc(digFlags, func(f string) bool { return f == name || len(name) >= 3 && strings.HasPrefix(f, name) })
		}
		switch {
		case isFlag && !known(flag) && !known(strings.TrimPrefix(flag, "no")):
			faults = append(faults, "dig knows no "+arg)
		case strings.HasPrefix(arg, "-") && !regexp.MustCompile(`^-(?:[46mruvhdi]|[bcfkpqtxyEGHSVn]\S*)$`).MatchString(arg):
			faults = append(faults, "dig knows no "+arg)
		}
	}
	return faults
}

// gotool checks the packages, tests and flags of go commands.
func (d *docChecker) gotool(args []string) (faults []string) {
	dirs := []string{}
	for _, arg := range args[1:] {
		dir := filepath.Clean(strings.TrimSuffix(arg, "/..."))
		if !strings.HasPrefix(arg, "./") || strings.HasSuffix(arg, ".go") {
			continue
		}
		if dirs = append(dirs, dir); !exists(dir, "*.go") && !strings.HasSuffix(arg, "/...") {
			faults = append(faults, "there is no package "+arg)
		}
	}
	switch args[0] {
	case "run":
		if len(dirs) > 0 && len(faults) == 0 {
			faults = append(faults, unknownFlags(dirs[0], args)...)
		}
	case "test":
		for i, arg := range args[:len(args)-1] {
			if arg == "-run" || arg == "-bench" || arg == "-fuzz" {
				faults = append(faults, d.noTest(args[i+1], dirs)...)
			}
		}
	case "tool":
		for _, arg := range args[1:] {
			file, modfile := strings.CutPrefix(arg, "-modfile=")
			switch {
			case modfile && !exists("", strings.TrimLeft(file, "./")):
				faults = append(faults, "there is no "+file)
			case !strings.HasPrefix(arg, "-") && !d.goTools[arg]:
				faults = append(faults, "tools/go.tool.mod has no "+arg)
			}
			if !strings.HasPrefix(arg, "-") {
				break
			}
		}
	}
	return faults
}

// unknownFlags returns the flags after a package's path that its source does not define.
func unknownFlags(dir string, args []string) (faults []string) {
	source := ""
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		source += string(text)
	}
	at := slices.IndexFunc(args, func(arg string) bool { return filepath.Clean(arg) == dir })
	for _, arg := range args[at+1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && !regexp.MustCompile(`flag\.\w+\((?:&[\w.]+, )?"`+regexp.QuoteMeta(name)+`"`).MatchString(source) {
			faults = append(faults, fmt.Sprintf("%s has no flag -%s", dir, name))
		}
	}
	return faults
}

// noTest returns a fault if no test in the folders matches a pattern; without folders, it searches
// the project.
func (d *docChecker) noTest(pattern string, dirs []string) []string {
	pattern, _, _ = strings.Cut(pattern, "/")
	re, err := regexp.Compile(pattern)
	if err != nil {
		return []string{err.Error()}
	}
	if pattern == "^$" || strings.ToUpper(pattern) == pattern {
		return nil
	}
	for dir, names := range d.tests {
		if (len(dirs) == 0 || slices.Contains(dirs, dir)) && slices.ContainsFunc(names, re.MatchString) {
			return nil
		}
	}
	return []string{"there is no test " + pattern}
}

// TestDocsCommands checks every command in the README, in docs/ and in the charts' READMEs.
func TestDocsCommands(t *testing.T) {
	d := newDocChecker(t)
	commands, err := doctest.All(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		for _, fault := range d.faults(c) {
			t.Errorf("%v: %s", c, fault)
		}
	}
	if len(commands) < 150 {
		t.Errorf("%d commands", len(commands))
	}
}

// TestDocsPaths: the project's files and folders that texts name exist.
func TestDocsPaths(t *testing.T) {
	texts, err := doctest.Texts(".")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range texts {
		if !doctest.Current(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range doctest.Spans(file, string(text)) {
			if ownPath(s.Text) {
				if named++; !exists("", s.Text) {
					t.Errorf("%s:%d: there is no %s", s.File, s.Line, s.Text)
				}
			}
		}
	}
	if named < 40 {
		t.Errorf("%d paths", named)
	}
}
