package source

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // "line:text"
	}{
		{"empty", "", nil},
		{"one", "a: 1\n", []string{"1:a: 1\n"}},
		{"no line feed at the end", "a: 1", []string{"1:a: 1"}},
		{"two", "a: 1\n---\nb: 2\n", []string{"1:a: 1\n", "2:---\nb: 2\n"}},
		{"leading marker", "---\na: 1\n", []string{"1:---\na: 1\n"}},
		{"comment in front", "# x\n\n---\na: 1\n", []string{"1:# x\n\n---\na: 1\n"}},
		{"directive", "%YAML 1.1\n---\na: 1\n---\nb: 1\n", []string{"1:%YAML 1.1\n---\na: 1\n", "4:---\nb: 1\n"}},
		{"directive after an end", "a: 1\n...\n%YAML 1.1\n---\nb: 1\n", []string{"1:a: 1\n", "3:%YAML 1.1\n---\nb: 1\n"}},
		{"bare document after an end", "a: 1\n...\nb: 1\n", []string{"1:a: 1\n", "3:b: 1\n"}},
		{"empty ones", "---\n---\n# c\n---\n\n---\na: 1\n---\n", []string{"6:---\na: 1\n"}},
		{"content on the marker's line", "--- {a: 1}\n--- # c\nb: 1\n", []string{"1:--- {a: 1}\n", "2:--- # c\nb: 1\n"}},
		{"comment on the marker's line alone", "--- # c\n---\t\na: 1\n", []string{"2:---\t\na: 1\n"}},
		{"carriage returns", "a: 1\r\n---\r\nb: 2\r\n...\r\nc: 3\r\n", []string{"1:a: 1\r\n", "2:---\r\nb: 2\r\n", "5:c: 3\r\n"}},
		{"not markers", "a: |\n  ---\n  ...\nb: 1\n----\n---x\n", []string{"1:a: |\n  ---\n  ...\nb: 1\n----\n---x\n"}},
		{"comments after content", "a: 1\n# end\n", []string{"1:a: 1\n# end\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for p := range split([]byte(tt.text)) {
				got = append(got, fmt.Sprintf("%d:%s", p.line, p.text))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("split(%q)\n got %q\nwant %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestSplitEndsEarly(t *testing.T) {
	for range split([]byte("a: 1\n---\nb: 1\n---\nc: 1\n")) {
		break
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		json       bool
		want       string // the values, joined; or the error
	}{
		{"yaml", "a: [1, x]", false, `{"a":[1,"x"]}`},
		{"marker on top", "---\na: 1", false, `{"a":1}`},
		{"json", `{"a": 1}`, true, `{"a": 1}`},
		{"json stream", "{\"a\": 1}\n{\"b\": 2}", true, `{"a": 1} {"b": 2}`},
		{"json stream in yaml", "{\"a\": 1}\n{\"b\": 2}", false, `{"a": 1} {"b": 2}`},
		{"flow style", "{a: 1, # c\n b: 2,}", false, `{"a":1,"b":2}`},
		{"flow style in json", "{a: 1}", true, "line 10"},
		{"broken yaml", "a: 1\nb: [", false, "line 11"},
		{"tab", "a:\n\tb: 1", false, "line 11"},
		{"broken json", "{\"a\": 1}\n\n{\"b\": x}", true, "line 12"},
		{"truncated json", "{\"a\": 1}\n{\"b\":", true, "line 11"},
		{"no value in json", "  \n", true, ""},
		{"not a number", "a: .nan", false, "NaN"},
		{"key that is a list", "? [a]\n: 1", false, "document at line 10"},
		{"key twice", "a: 1\nb:\n- c: 1\n  d: 2\n  c: 1", false, `line 14: the key "c" is in one mapping twice; remove one`},
		{"key twice in flow style", "{a: 1, b: {c: 1,\n'c': 2}}", false, `line 11: the key "c" is in one mapping twice`},
		{"key twice in json", "{\"a\": 1}\n{\"b\": [{\"c\": 1,\n\"\\u0063\": 2}]}", true, `line 12: the key "c" is in one mapping twice`},
		{"key twice in json in yaml", "{\"b\": [{\"c\": 1,\n\"c\": 2}]}", false, `line 11: the key "c" is in one mapping twice`},
		{"key twice in a Secret", "kind: Secret\ndata: {token: a, token: b}", false, `line 11: the key "token" is in one mapping twice`},
		{"value for a key in a Secret", "kind: Secret\ndata: {'x: s3cret': a, 'x: s3cret': b}", false, `line 11: the key "x…" is in one mapping twice`},
		{"number and text", "1: a\n\"1\": b", false, `line 11: the key "1" is in one mapping twice`},
		{"two numbers", "16: a\n0x10: b", false, `line 11: the key "16" is in one mapping twice`},
		{"two booleans", "yes: a\n'true': b", false, `line 11: the key "true" is in one mapping twice`},
		{"in two mappings", "a: {b: 1}\nc: [{b: 1}, {b: 2}]\nb: 1\n'yes ': 1\nyes: 1\nYes, it is: 2", false, `{"Yes, it is":2,"a":{"b":1},"b":1,"c":[{"b":1},{"b":2}],"true":1,"yes ":1}`},
		{"a text with a line", "\"line 3\": a\nline 3: b", false, `line 11: the key "line…" is in one mapping twice`},
		{"long cause", "? [" + strings.Repeat("a, ", 1000) + "]\n: 1", false, "…"},
		{"aliases that multiply", bomb(), false, "aliases expand to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := part{10, []byte(tt.text)}
			var values []string
			err := p.each(tt.json, func(v []byte) { values = append(values, string(v)) })
			got := strings.Join(values, " ")
			if err != nil && len(values) > 0 {
				t.Errorf("handed over %q", values)
			}
			if err != nil {
				got = p.inFile(err)
			}
			if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// bomb is a short text that expands to 10^9 values.
func bomb() string {
	b := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		one := fmt.Sprintf("*a%d", i-1)
		b += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(one+",", 9)+one)
	}
	return b
}

func TestRead(t *testing.T) {
	const (
		gw = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"namespace":"a","name":"g"}}`
		p2 = `{"apiVersion":"kuadrant.io/v1alpha2","kind":"DNSPolicy","metadata":{"name":"p"}}`
	)
	deep := gw
	for range maxListDepth + 1 {
		deep = `{"apiVersion":"v1","kind":"List","items":[` + deep + `]}`
	}
	for _, tt := range []struct {
		name, text string
		want       []string // objects
		ignored    string
		faults     []string // one word of each
	}{
		{"gateway", gw, []string{"Gateway a/g"}, "", nil},
		{"gateway v1beta1", strings.Replace(gw, "/v1", "/v1beta1", 1), []string{"Gateway a/g"}, "", nil},
		{"policy, default namespace", p2, []string{"DNSPolicy default/p"}, "", nil},
		{
			"list", `{"apiVersion":"v1","kind":"List","items":[` + gw + `,` + p2 + `,null]}`,
			[]string{"Gateway a/g", "DNSPolicy default/p"},
			"", nil,
		},
		{
			"typed list", `{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicyList","items":[{"metadata":{"name":"x"}},` + p2 + `]}`,
			[]string{"DNSPolicy default/x", "DNSPolicy default/p"},
			"", nil,
		},
		{
			"list in list", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[` + gw + `]}]}`,
			[]string{"Gateway a/g"},
			"", nil,
		},
		{"too deep", deep, nil, "", []string{"nested"}},
		{
			"other kinds",
			`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Service"},{"apiVersion":"v1","kind":"Service"},{"apiVersion":"x/v1","kind":"AllowList"}]}`, nil, `1 "AllowList" of "x/v1", 2 "Service" of "v1"`, nil,
		},
		{"no kind", `{"apiVersion":"kubi.zone/v1alpha1","metadata":{"name":"x"}}`, nil, `1 "" of "kubi.zone/v1alpha1"`, nil},
		{"neither", `{"metadata":{"name":"x"}}`, nil, `1 "" of ""`, nil},
		{"null", "null", nil, "", nil},
		{"text", `"x"`, nil, "", []string{"apiVersion"}},
		{"kind of another type", `{"kind":1}`, nil, "", []string{"kind"}},
		{"no name", strings.Replace(gw, `"name"`, `"nam"`, 1), nil, "", []string{"metadata.name"}},
		{"bad and good", `{"apiVersion":"v1","kind":"List","items":[3,` + gw + `]}`, []string{"Gateway a/g"}, "", []string{"apiVersion"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &objectReader{cluster: "c", selection: &Selection{}}
			r.read([]byte(tt.text), head{}, 0)
			var got []string
			for _, o := range r.objects {
				got = append(got, o.ref.Kind.String()+" "+o.ref.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("objects %q, want %q", got, tt.want)
			}
			if text := r.ignoredText(); text != tt.ignored {
				t.Errorf("ignored %q, want %q", text, tt.ignored)
			}
			if len(r.faults) != len(tt.faults) {
				t.Fatalf("faults %q, want %q", r.faults, tt.faults)
			}
			for i, word := range tt.faults {
				if !strings.Contains(r.faults[i], word) {
					t.Errorf("fault %q has no %q", r.faults[i], word)
				}
			}
		})
	}
}

func TestIgnoredIsBounded(t *testing.T) {
	r := &objectReader{selection: &Selection{}}
	for i := range 1000 {
		r.ignore(head{"v1", fmt.Sprint(i, strings.Repeat("x", i*100))})
	}
	if text := r.ignoredText(); len(r.ignored) > maxIgnored+1 || len(text) > 2000 || !strings.Contains(text, "others") {
		t.Errorf("%d kinds, %d characters", len(r.ignored), len(text))
	}
}

// FuzzDirectory reads arbitrary bytes as a manifest, first as a file's first content, then as its
// second. It checks that the file's good objects survive content that cannot be parsed.
func FuzzDirectory(f *testing.F) {
	f.Add([]byte(manifest("a", "g")), false)
	f.Add([]byte("a: |\n  ---\n...\n%YAML 1.1\n--- {a: 1}\n---\n- &a [*a]\n"), false)
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","items":[{"kind":"List","items":[null,1,{}]}]}`), true)
	f.Add([]byte("{\"a\":1}{\"b\""), true)
	f.Add([]byte("\xef\xbb\xbfa: 1\r\n---\r\n\xff\xfe"), false)
	f.Add([]byte(bomb()), false)
	good := []byte(manifest("good", "g"))
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		path := "x.yaml"
		if json {
			path = "x.json"
		}
		opts := &Directory(DirectoryOptions{Cluster: "c"}).(*directory).opts
		d := &directoryRun{opts: opts, store: newClusterStore("c", api.Pools{}), files: map[string]*file{}}
		first := &file{path: path}
		d.files["x"] = first
		d.parse(first, data)
		if first.whole != (first.trouble == "") {
			t.Errorf("whole %v, trouble %q", first.whole, first.trouble)
		}
		d.collect(slices.Sorted(maps.Keys(d.files)))
		d.store.cluster(d.progress())
		if d.parse(first, data) && first.whole {
			t.Error("the same content is a change")
		}

		second := &file{path: "y.yaml"}
		d.files["y"] = second
		d.parse(second, good)
		second.path = path
		d.parse(second, data)
		d.collect(slices.Sorted(maps.Keys(d.files)))
		d.store.cluster(d.progress())
		if _, ok := d.store.last.Gateways.Get("good/g"); !ok && second.trouble != "" {
			t.Errorf("the object is lost: %s", second.trouble)
		}
		for name, g := range d.store.last.Gateways.All() {
			if g.Name != name || g.Cluster != "c" {
				t.Errorf("object %q of cluster %q stands under %q", g.Name, g.Cluster, name)
			}
		}
		n, rest := 0, len(data)
		for p := range split(data) {
			rest -= len(p.text)
			if n = p.line; n < 1 || n > 1+bytes.Count(data, []byte("\n")) || rest < 0 {
				t.Errorf("document at line %d of %q", n, data)
			}
		}
	})
}

// manifest is a Gateway with a host and an address, as YAML.
func manifest(ns, name string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: %s, name: %s}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: %s.example.com, port: 80, protocol: HTTP}]
status:
  addresses: [{type: IPAddress, value: 192.0.2.1}]
`, ns, name, name)
}

// policyManifest is a DNSPolicy for the Gateway of the same name, as YAML.
func policyManifest(ns, name, version string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/%s
kind: DNSPolicy
metadata: {namespace: %s, name: %s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %s}
`, version, ns, name, name)
}
