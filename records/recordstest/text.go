package recordstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Texts translates the short form. It remembers the ages of objects: one that is written again
// keeps its age.
type Texts struct{ ages map[string]int }

// Object is one object as an API server has it.
type Object struct {
	Kind api.Kind
	Name string // namespace/name
	doc  map[string]any
}

// epoch is the age of the first object.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Objects returns the objects of a text, in a cluster.
func (x *Texts) Objects(cluster, text string) (all []*Object, err error) {
	for number, block := range blocks(text) {
		o, err := x.object(cluster, block)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// YAML returns the objects of a text as documents, each on one line.
func (x *Texts) YAML(cluster, text string) ([]byte, error) {
	all, err := x.Objects(cluster, text)
	var out strings.Builder
	for _, o := range all {
		out.WriteString("---\n" + string(o.JSON()) + "\n")
	}
	return []byte(out.String()), err
}

// JSON returns the object as an API server sends it.
func (o *Object) JSON() []byte {
	text, err := json.Marshal(o.doc)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return text
}

// blocks yields the lines with content, by number, each with its continuation lines.
func blocks(text string) func(yield func(number int, block []string) bool) {
	return func(yield func(int, []string) bool) {
		var block []string
		number, first := 0, 0
		for line := range strings.Lines(text) {
			number++
			trimmed := strings.TrimSpace(line)
			switch {
			case trimmed == "" || trimmed[0] == '#':
				continue
			case (line[0] == ' ' || line[0] == '\t') && block != nil:
				block = append(block, trimmed)
				continue
			case block != nil && !yield(first, block):
				return
			}
			block, first = []string{trimmed}, number
		}
		if block != nil {
			yield(first, block)
		}
	}
}

// cut returns the first word of a text, which may have spaces in brackets and quotes, and the rest.
func cut(text string) (first, rest string) {
	depth, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote && text[i-1] != '\\' {
				quote = 0
			}
		case c == '"', c == '\'' && (i == 0 || text[i-1] == '='):
			quote = c
		case c == '{', c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case (c == ' ' || c == '\t') && depth == 0:
			return text[:i], strings.TrimSpace(text[i:])
		}
	}
	return text, ""
}

// pair splits KEY=VALUE; ok is false for other words.
func pair(word string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(word, "=")
	if strings.HasPrefix(value, "'") {
		value = strings.Trim(value, "'")
	}
	return key, value, ok && key != "" && !strings.ContainsAny(key, "\"'\\; :")
}

func (x *Texts) object(cluster string, block []string) (*Object, error) {
	first, rest := cut(block[0])
	name, rest := cut(rest)
	k, ok := kinds[first]
	if !ok {
		return nil, fmt.Errorf("no kind %q: write gateway, policy, zone, record, dnsrecord, dnsendpoint, secret or probe", first)
	}
	namespace, bare, ok := strings.Cut(name, "/")
	if !ok {
		return nil, fmt.Errorf("word %q: write NAMESPACE/NAME after %s", name, first)
	}
	o := &Object{Kind: k.kind, Name: name, doc: map[string]any{"apiVersion": k.version, "kind": k.kind.String()}}
	o.set("metadata", map[string]any{"namespace": namespace, "name": bare})
	if x.ages == nil {
		x.ages = make(map[string]int)
	}
	key := cluster + " " + first + " " + name
	if _, ok := x.ages[key]; !ok {
		x.ages[key] = len(x.ages)
	}
	o.set("metadata.creationTimestamp", epoch.Add(time.Duration(x.ages[key])*time.Second).Format(time.RFC3339))
	if k.begin != nil {
		k.begin(o, bare)
	}
	if k.endpoints {
		for rest != "" {
			word, more := cut(rest)
			if !o.said(k, word) {
				block, more = append([]string{"", rest}, block[1:]...), ""
			}
			rest = more
		}
		return o, o.endpoints(block[1:])
	}
	return o, o.words(k, strings.Join(append([]string{rest}, block[1:]...), " "))
}

// words reads the words of a line after kind and name.
func (o *Object) words(k kind, text string) error {
	unnamed := k.unnamed
	for text = strings.TrimSpace(text); text != ""; {
		if k.kind == api.KindRecord && len(unnamed) == 0 {
			o.set("spec.rdata", text)
			return nil
		}
		word, rest := cut(text)
		switch {
		case o.said(k, word):
		case len(unnamed) > 0:
			o.set(unnamed[0], word)
			unnamed = unnamed[1:]
		default:
			return fmt.Errorf("word %q: a %s has no such word", word, k.kind)
		}
		text = rest
	}
	return nil
}

// said applies one word KEY=VALUE; ok is false if it is not one.
func (o *Object) said(k kind, word string) (ok bool) {
	key, value, isPair := pair(word)
	if !isPair {
		key, value = word+"!", "true" // a flag
	}
	if strings.HasPrefix(key, "spec.") || strings.HasPrefix(key, "status.") || strings.HasPrefix(key, "metadata.") {
		field(key)(o, value)
		return true
	}
	for _, set := range [...]setter{k.words[key], everywhere[key]} {
		if set != nil {
			set(o, value)
			return true
		}
	}
	if k.kind == api.KindSecret && isPair {
		o.at("stringData")[key] = value
		return true
	}
	return false
}

// at returns the object at a path, and creates it if it is missing.
func (o *Object) at(path string) map[string]any {
	m := o.doc
	for step := range strings.SplitSeq(path, ".") {
		next, ok := m[step].(map[string]any)
		if !ok {
			next = make(map[string]any)
			m[step] = next
		}
		m = next
	}
	return m
}

func (o *Object) set(path string, value any) {
	m := o.doc
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		m, path = o.at(path[:i]), path[i+1:]
	}
	m[path] = value
}

// add appends to a list.
func (o *Object) add(path string, value any) {
	in, name := o.at(path[:strings.LastIndexByte(path, '.')]), path[strings.LastIndexByte(path, '.')+1:]
	list, _ := in[name].([]any)
	in[name] = append(list, value)
}

// setter applies the value of a key.
type setter func(o *Object, value string)

// str sets a string, and field any YAML value.
func str(path string) setter { return func(o *Object, value string) { o.set(path, value) } }

func field(path string) setter { return func(o *Object, value string) { o.set(path, parsed(value)) } }

func parsed(text string) (value any) {
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	return value
}

// mark sets one label or annotation.
func mark(in, name string) setter {
	return func(o *Object, value string) { o.at("metadata." + in)[name] = value }
}

// marks sets labels or annotations from a list of NAME:VALUE.
func marks(in string) setter {
	return func(o *Object, value string) {
		for p := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(p, ":")
			mark(in, name)(o, text)
		}
	}
}

// list splits a text at commas; nil for "" and "*".
func list(text string) (all []any) {
	if text == "" || text == "*" {
		return nil
	}
	for w := range strings.SplitSeq(text, ",") {
		all = append(all, w)
	}
	return all
}
