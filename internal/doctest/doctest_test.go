package doctest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestSplit splits a shell line.
func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		`dig @a x A +short | tail -n 1   # the last`: `[dig @a x A +short] [tail -n 1]`,
		`a 'b c' "d e"f \g`:                          `[a b_c d_ef g]`,
		`x=$(kubectl get a)`:                         `[kubectl get a]`,
		`A=1 B=2 make t && go x; y &`:                `[make t] [go x] [y]`,
		`a > b 2>&1 < c d`:                           `[a d]`,
		`echo $(( ($(date) % 5) )) $(b)`:             `[echo $((_($(date)_%_5)_)) $(b)]`,
		`# nothing`:                                  ``,
		`do sudo a; done`:                            `[a] [done]`,
		`a 'open`:                                    `[a open]`,
	} {
		var got []string
		for _, args := range split(line) {
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], " ", "_")
			}
			got = append(got, fmt.Sprint(args))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
}

const text = "# Head\n\nProse with `make help`, `a word` and `helm install\nx --set a=b`.\n\n" + // 1 to 5
	"    make run   # indented\n    go run ./x\n\nNot `kubectl` here:\n    make nothing, a part of the paragraph\n\n" + // to 11
	"~~~ sh\ncd config/x\nkubectl apply -k .\ncat > f <<EOF\nmake wrong\nEOF\nmake two \\\n  three\nls\n~~~\n\n" + // to 22
	"```console\n$ bin/kdns list zones\nmake output\n```\n\n~~~ txt\nmake text\nother text\ncd NAME\ngo run ./z\n~~~\n\n" +
	"| `kubectl a \\| grep b` | c |\n\n1. One:\n\n       dig a\n"

// TestCommands finds commands in blocks of all kinds and in prose, each with its place.
func TestCommands(t *testing.T) {
	var got []string
	for _, c := range Commands("f", text) {
		said := fmt.Sprint(c.Line, " ", strings.Join(c.Args, " "))
		if c.Dir != "" {
			said += " in " + c.Dir
		}
		if c.Inline {
			said += " inline"
		}
		if c.Elsewhere {
			said += " elsewhere"
		}
		got = append(got, said)
	}
	want := []string{
		"6 make run", "7 go run ./x",
		"13 cd config/x in config/x", "14 kubectl apply -k . in config/x", "15 cat in config/x", "18 make two three in config/x", "20 ls in config/x",
		"24 bin/kdns list zones", "29 make text", "31 cd NAME in NAME elsewhere", "32 go run ./z in NAME elsewhere",
		"39 dig a",
		"3 make help inline", "3 helm install x --set a=b inline", "9 kubectl inline", "35 kubectl a inline",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAll checks that the project's own texts have commands.
func TestAll(t *testing.T) {
	all, err := All("../..")
	if err != nil {
		t.Fatal(err)
	}
	programs := make(map[string]int)
	for _, c := range all {
		programs[c.Program()]++
	}
	for program, least := range map[string]int{"make": 10, "kubectl": 50, "dig": 50, "helm": 5, "go": 5, "kdns": 3} {
		if programs[program] < least {
			t.Errorf("%d times %s", programs[program], program)
		}
	}
	if _, err := All(t.TempDir()); err == nil {
		t.Error("no texts, and no error")
	}
}
