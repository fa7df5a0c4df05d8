package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var update = flag.Bool("update", false, "rewrite what testdata/*.txt says of decoded objects with what was seen")

// decoders has how an object of each kind is read.
var decoders = [api.NumKinds]func(text []byte) (api.Object, error){
	decoder(api.DecodeGateway), decoder(api.DecodePolicy), decoder(api.DecodeProbe), decoder(api.DecodeZone),
	decoder(api.DecodeRecord), decoder(api.DecodeDNSRecord), decoder(api.DecodeDNSEndpoint), decoder(api.DecodeSecret),
}

func decoder[T api.Object](decode func(string, []byte) (T, error)) func([]byte) (api.Object, error) {
	return func(text []byte) (api.Object, error) {
		if o, err := decode("c", text); err == nil {
			return o, nil
		} else {
			return nil, err
		}
	}
}

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return b
}

// written is one case of testdata/*.txt: an object, what it means, and what the API server says to it. README.md there has
// the form.
type written struct {
	file, name string
	kind       api.Kind
	text       string // YAML, or JSON
	short      string // as it stands in the file, without what is around it
	lines      []string
	base       bool     // the cases that follow say where they differ from this one
	want       []string // the lines that begin with "= "
	// sent is true where the API server is asked too; refused is part of its answer, "" where it takes the object.
	sent    bool
	refused string
	differ  bool // it and the decoder do not agree
}

var repeated = regexp.MustCompile(`<(\d+)×([^>]*)>`)

// expand puts in place what the files write in short.
func expand(text string) string {
	text = strings.ReplaceAll(text, "TARGET", "targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web}")
	return repeated.ReplaceAllStringFunc(text, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.ReplaceAll(m[2], "#", strconv.Itoa(i)))
		}
		return all.String()
	})
}

// cases reads a file of testdata. All of its cases are for the kind that it says, or for another that is given with the
// object around them.
func cases(t testing.TB, file string) (all []*written) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kind api.Kind
	head := ""
	for block := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		w := &written{file: filepath.Base(file), lines: strings.Split(block, "\n")}
		if name, ok := strings.CutPrefix(w.lines[0], "@head "); ok {
			if kind, ok = api.ParseKind(name); !ok {
				t.Fatalf("%s: there is no kind %q", file, name)
			}
			head = strings.Join(w.lines[1:], "\n")
			continue
		}
		w.kind, w.text = kind, w.read()
		if w.short = w.text; !strings.HasPrefix(w.text, `{"`) { // that is JSON, and all of it
			w.text = w.inside(head)
		}
		all = append(all, w)
	}
	return all
}

// read takes the lines apart, and returns the object's text.
func (w *written) read() string {
	var text []string
	for _, line := range w.lines {
		key, value, _ := strings.Cut(line, " ")
		switch {
		case key == "#":
			w.name = value
		case key == "@base":
			w.base = true
		case key == "=":
			w.want = append(w.want, line)
		case strings.HasPrefix(line, "schema"):
			_, w.refused, _ = strings.Cut(line, "refused: ")
			w.sent, w.differ = true, w.differ || strings.HasPrefix(line, "schema alone")
		case line == "decoding alone":
			w.differ = true
		default:
			text = append(text, line)
		}
	}
	if w.name == "" && len(text) > 0 {
		w.name = text[0]
	}
	return strings.Join(text, "\n")
}

// inside returns the object of a case: its text in the place of CASE, or behind the head.
func (w *written) inside(head string) string {
	object := strings.Replace(head, "CASE", w.text, 1)
	if !strings.Contains(head, "CASE") {
		object += "\n" + w.text
	}
	object = "kind: " + w.kind.String() + "\n" + object
	if !strings.Contains(object, "\napiVersion: ") {
		version := "v1alpha1"
		if w.kind == api.KindGateway || w.kind == api.KindDNSPolicy || w.kind == api.KindSecret {
			version = "v1"
		}
		object = "apiVersion: " + w.kind.APIVersion(version) + "\n" + object
	}
	return expand(object)
}

// json returns the object as the decoder is given it.
func (w *written) json(t testing.TB) []byte {
	t.Helper()
	if strings.HasPrefix(w.text, `{"`) {
		return []byte(w.text)
	}
	return toJSON(t, w.text)
}

// fields returns all that there is to say of an object.
func fields(t testing.TB, o api.Object) map[string]any {
	t.Helper()
	var text bytes.Buffer
	if err := api.Encode(&text, o); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&text)
	d.UseNumber()
	all := make(map[string]any)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if s, ok := o.(*api.Secret); ok { // of which less is written
		delete(all, "unlabelled")
		if s.Invalid != "" {
			all["invalid"] = s.Invalid
		}
		for _, h := range s.Headers {
			headers, _ := all["headers"].([]any)
			all["headers"] = append(headers, h.Name+": "+h.Value)
		}
	}
	return all
}

// differences returns a line for each field that is not as in base; "-" stands for nothing, and for what is zero.
func differences(path string, base, o any) (lines []string) {
	if reflect.DeepEqual(base, o) {
		return nil
	}
	was, _ := base.(map[string]any)
	is, object := o.(map[string]any)
	before, _ := base.([]any)
	list, _ := o.([]any)
	switch {
	case object && (was != nil || path == ""):
		keys := maps.Clone(is)
		maps.Copy(keys, was)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			lines = append(lines, differences(strings.TrimPrefix(path+"."+key, "."), was[key], is[key])...)
		}
		return lines
	case len(list) > 0 && len(list) == len(before):
		for i := range list {
			lines = append(lines, differences(fmt.Sprintf("%s[%d]", path, i), before[i], list[i])...)
		}
		return lines
	}
	value, isText := o.(string)
	if o == nil {
		value = "-"
	} else if !isText || !strings.HasSuffix(path, "nvalid") && path != "fault" {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(o)
		value = strings.TrimSpace(b.String())
	}
	if len(value) > 1000 {
		value = fmt.Sprintf("%.100s… (%d octets)", value, len(value))
	}
	return []string{"= " + path + " " + value}
}

// TestCases decodes what stands in testdata, and compares with what is said of it there.
func TestCases(t *testing.T) {
	for _, file := range files(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var base map[string]any
		at := 0
		for _, w := range cases(t, file) {
			old := strings.Join(w.lines, "\n")
			at += bytes.Index(content[at:], []byte("\n\n"+old+"\n")) + 2
			t.Run(strings.TrimSuffix(w.file, ".txt")+"/"+w.name, func(t *testing.T) { base = w.check(t, base) })
			content = slices.Concat(content[:at], []byte(strings.Join(w.lines, "\n")), content[at+len(old):])
		}
		if *update {
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func files(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(all) == 0 {
		t.Fatal("there are no cases", err)
	}
	return all
}

// check decodes one case, and returns the object that the next one is compared with.
func (w *written) check(t *testing.T, base map[string]any) map[string]any {
	var got []string
	if o, err := decoders[w.kind](w.json(t)); err != nil {
		got = []string{"= error " + err.Error()}
	} else {
		seen := fields(t, o)
		if w.base {
			base = nil
		}
		got = differences("", base, seen)
		if w.base {
			base = seen
		}
		refused := seen["invalid"] != nil || seen["checkInvalid"] != nil || seen["fault"] != nil
		if w.sent && (refused != (w.refused != "")) != w.differ {
			t.Errorf("the decoder refuses it: %v, and the schema says %q", refused, w.refused)
		}
	}
	if !slices.Equal(got, w.want) && !*update {
		t.Errorf("it is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(w.want, "\n"))
	}
	rest := slices.DeleteFunc(slices.Clone(w.lines), func(line string) bool { return strings.HasPrefix(line, "= ") })
	at := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, "schema") || line == "decoding alone" })
	if at < 0 {
		at = len(rest)
	}
	w.lines = slices.Insert(rest, at, got...)
	return base
}

// everywhere returns the object of a case by its kind: a case of check.txt stands in objects of three kinds.
func (w *written) everywhere() map[api.Kind]string {
	all := map[api.Kind]string{w.kind: w.text}
	if w.file == "check.txt" {
		for kind, spec := range map[api.Kind]string{
			api.KindProbe: "{address: 192.0.2.1, CASE}", api.KindDNSRecord: "{rootHost: a.example.org, healthCheck: {CASE}}",
		} {
			other := written{kind: kind, text: w.short}
			all[kind] = other.inside("metadata: {name: p, namespace: shop}\nspec: " + spec)
		}
	}
	return all
}

// TestChecksAreReadAlike: a check means the same in a policy, a DNSRecord and a probe.
func TestChecksAreReadAlike(t *testing.T) {
	type result struct {
		check          *api.HealthCheck
		invalid, fault string
	}
	for _, w := range cases(t, "testdata/check.txt") {
		seen := make(map[api.Kind]result)
		for kind, text := range w.everywhere() {
			o, err := decoders[kind](toJSON(t, text))
			if err != nil {
				t.Fatal(err)
			}
			switch o := o.(type) {
			case *api.DNSPolicy:
				seen[kind] = result{o.HealthCheck, o.CheckInvalid + o.Invalid, o.Fault}
			case *api.DNSRecord:
				seen[kind] = result{o.HealthCheck, o.CheckInvalid + o.Invalid, o.Fault}
			case *api.HealthCheckProbe:
				at := strings.NewReplacer("spec.", "spec.healthCheck.")
				seen[kind] = result{&o.Check, at.Replace(o.Invalid), at.Replace(o.Fault)}
			}
		}
		if want := seen[w.kind]; !reflect.DeepEqual(seen[api.KindProbe], want) || !reflect.DeepEqual(seen[api.KindDNSRecord], want) {
			t.Errorf("%s: %+v", w.name, seen)
		}
	}
}
