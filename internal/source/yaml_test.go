package source

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// parsed returns the values of one document, or why it is refused.
func parsed(text string) (values []string, trouble string) {
	p := part{7, []byte(text)}
	if err := p.each(false, func(v []byte) { values = append(values, string(v)) }); err != nil {
		trouble = p.inFile(err)
	}
	return values, trouble
}

// TestYAMLAliasesAreBounded parses short documents that expand to gigabytes: a long string many
// times, a long list a few times, and lists of lists.
func TestYAMLAliasesAreBounded(t *testing.T) {
	var fields strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&fields, "k%d: [a,a,a,a,a,a,a,a],", i)
	}
	for name, text := range map[string]string{
		"long string": `big: &b "` + strings.Repeat("x", 100_000) + "\"\nuse:\n" + strings.Repeat("- *b\n", 20_000),
		"many values": "big: &b [" + strings.Repeat("a,", 100_000) + "]\nuse: [" + strings.Repeat("*b,", 10) + "]",
		"powers":      bomb(),
		"merged":      "big: &b {" + fields.String() + "}\nuse:\n" + strings.Repeat("- {<<: *b}\n", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			var values []string
			var trouble string
			n := allocated(func() { values, trouble = parsed(text) })
			if len(values) > 0 || !strings.Contains(trouble, "document at line 7: its aliases expand to") || !strings.Contains(trouble, "write them out") {
				t.Errorf("%d values, trouble %q", len(values), trouble)
			}
			if most := 16<<20 + 400*uint64(len(text)); n > most {
				t.Errorf("%d bytes of text took %d bytes, at most %d are wanted", len(text), n, most)
			}
		})
	}
}

func TestYAMLAliases(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"alias", "a: &x [1, b]\nc: *x", `{"a":[1,"b"],"c":[1,"b"]}`},
		{"merge", "a: &x {k: v}\nc: {<<: *x, l: w}", `{"a":{"k":"v"},"c":{"k":"v","l":"w"}}`},
		{"merge below a key of its own", "a: &x {k: v}\nc: {<<: *x, k: w}", `{"a":{"k":"v"},"c":{"k":"w"}}`},
		{"a name again", "a: &x 1\nb: *x\nc: &x 2\nd: *x", `{"a":1,"b":1,"c":2,"d":2}`},
		{"as a key", "&x a: 1\nb: *x", `{"a":1,"b":"a"}`},
		{"wildcard in quotes", "a: '*.example.com & more'", `{"a":"*.example.com \u0026 more"}`},
		{"many that are short", "a: &x long enough\nb: [" + strings.Repeat("*x, ", 999) + "*x]", `{"a":"long enough","b":[` + strings.Repeat(`"long enough",`, 999) + `"long enough"]}`},
		{"in quotes", `a: "&b *b"`, `{"a":"\u0026b *b"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if values, trouble := parsed(tt.text); trouble != "" || len(values) != 1 || values[0] != tt.want {
				t.Errorf("got %q, trouble %q", values, trouble)
			}
		})
	}
	for _, text := range []string{"a: *x", "a: &x [*x]", "&x a: {b: *x, c: *y}"} {
		if values, trouble := parsed(text + " # &"); trouble == "" {
			t.Errorf("%q gives %q", text, values)
		}
	}
}

// TestYAMLDocumentIsBounded checks that documents with too many bytes or values are refused before
// they are parsed.
func TestYAMLDocumentIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"long":        "a: |\n" + strings.Repeat(" "+strings.Repeat("x", 1000)+"\n", maxYAML/1000),
		"lines":       strings.Repeat("- a\n", maxMarks),
		"flow list":   "a: [" + strings.Repeat("a,", maxMarks) + "]",
		"flow map":    "a: {" + strings.Repeat("a,", maxMarks) + "}",
		"empty lists": "a: [" + strings.Repeat("[],", maxMarks/2) + "]",
		"lists in it": strings.Repeat("- - a\n", maxMarks/2),
		"keys":        strings.Repeat("? a\n", maxMarks),
		"values":      strings.Repeat("a:\n", maxMarks),
	} {
		t.Run(name, func(t *testing.T) {
			var values []string
			var trouble string
			n := allocated(func() { values, trouble = parsed(text) })
			if len(values) > 0 || !strings.Contains(trouble, "document at line 7: too large") || !strings.Contains(trouble, "Separate the objects") {
				t.Errorf("%d values, trouble %q", len(values), trouble)
			}
			if n > 1<<20+uint64(len(text)) { // the test copies the text once
				t.Errorf("%d bytes of text took %d bytes", len(text), n)
			}
		})
	}
	// The largest object that fits into etcd is read.
	if values, trouble := parsed("a: |\n" + strings.Repeat("  some: {text, of, a, manifest}\n", 3<<19/32)); trouble != "" || len(values) != 1 {
		t.Errorf("%d values, trouble %q", len(values), trouble)
	}
}

// TestJSONListIsBounded reads a long list of non-objects: neither the list nor its messages may
// take many times the memory of the text.
func TestJSONListIsBounded(t *testing.T) {
	const items = 1 << 20
	text := []byte(`{"apiVersion":"v1","kind":"List","items":[` + strings.Repeat("1,", items-1) + "1]}")
	r := &objectReader{cluster: "c", selection: &Selection{}}
	n := allocated(func() {
		if err := (part{1, text}).each(true, func(v []byte) { r.read(v, head{}, 0) }); err != nil {
			t.Error(err)
		}
	})
	if len(r.faults) != maxFaults || r.more != items-maxFaults {
		t.Errorf("%d faults and %d more", len(r.faults), r.more)
	}
	if n > uint64(len(text)) {
		t.Errorf("%d bytes of text took %d bytes", len(text), n)
	}
}
