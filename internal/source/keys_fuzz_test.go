package source

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzDuplicateKey: of random documents, those in which some mapping has a key twice are refused, in YAML and in JSON, however the two are
// written, and the others are read (rule 8.1).
func FuzzDuplicateKey(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, form := range []struct{ json, block bool }{{true, false}, {false, false}, {false, true}} {
			for _, twice := range []bool{false, true} {
				w := keyWriter{rand: rand.New(rand.NewPCG(seed, 0)), json: form.json, block: form.block, twice: twice}
				text := w.mapping(0)
				err := part{1, []byte(text)}.each(form.json, func([]byte) {})
				var found *duplicateKey
				switch is := errors.As(err, &found); {
				case !twice && err != nil:
					t.Errorf("%+v: refused: %v\n%s", form, err, text)
				case twice && (!is || found.key != w.key):
					t.Errorf("%+v: %q is there twice: %v\n%s", form, w.key, err, text)
				case twice && !strings.Contains(strings.SplitAfter(text, "\n")[found.line-1], w.mark):
					t.Errorf("%+v: %q is not twice in line %d\n%s", form, w.key, found.line, text)
				}
			}
		}
	})
}

// keyWriter writes a random document. If twice, one of its mappings has a key twice: key, with the value mark.
type keyWriter struct {
	rand               *rand.Rand
	json, block, twice bool
	key, mark          string
}

// spellings are keys, each in ways to write it: those in quotes, and those that YAML alone has.
var spellings = []struct {
	key    string
	quoted []string
	plain  []string
}{
	{"name", []string{`"name"`, `"n\u0061me"`}, []string{"name", "'name'", "!!str name"}},
	{"kind", []string{`"kind"`, `"\u006bind"`}, []string{"kind", "'kind'"}},
	{"1", []string{`"1"`}, []string{"1", "'1'", "0x1", "+1"}},
	{"true", []string{`"true"`}, []string{"true", "yes", "On", "'true'"}},
	{"a.b/c", []string{`"a.b/c"`, `"a.b\u002fc"`}, []string{"a.b/c", "'a.b/c'"}},
	{"", []string{`""`}, []string{"''"}},
}

// mapping returns a mapping at a depth.
func (w *keyWriter) mapping(depth int) string {
	var lines []string
	order := w.rand.Perm(len(spellings))[:1+w.rand.IntN(len(spellings)-1)]
	for _, i := range order {
		lines = append(lines, w.spell(i)+": "+w.value(depth))
	}
	if w.twice && w.mark == "" && (depth == 0 || w.rand.IntN(3) == 0) {
		// The outermost mapping is the last that is written: if no other has one, it does.
		i := order[w.rand.IntN(len(order))]
		w.key, w.mark = spellings[i].key, `"the second"`
		lines = append(lines, w.spell(i)+": "+w.mark)
	}
	if w.block && depth == 0 {
		return strings.Join(lines, "\n") + "\n"
	}
	return "{" + strings.Join(lines, ",\n ") + "}"
}

// value returns a scalar, a list or a mapping.
func (w *keyWriter) value(depth int) string {
	switch n := w.rand.IntN(4); {
	case depth < 3 && n == 0:
		return w.mapping(depth + 1)
	case depth < 3 && n == 1:
		return fmt.Sprintf("[%s, %s]", w.value(depth+1), w.value(depth+1))
	}
	return `"value"`
}

// spell returns one of a key's spellings.
func (w *keyWriter) spell(i int) string {
	all := spellings[i].quoted
	if !w.json {
		all = append(all[:len(all):len(all)], spellings[i].plain...)
	}
	return all[w.rand.IntN(len(all))]
}
