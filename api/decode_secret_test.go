package api_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const secretHead = `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: shop, uid: u, generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", labels: {a: b, kuadrant.io/probe-headers: "true"}, annotations: {kuadrant.io/note: hidden}}
`

func decodeSecret(t testing.TB, text string) *api.Secret {
	t.Helper()
	s, err := api.DecodeSecret("c", toJSON(t, secretHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecodeSecret(t *testing.T) {
	long := strings.Repeat("x", 8<<10-len("X-Long"))
	var many strings.Builder
	for i := range 64 {
		fmt.Fprintf(&many, "  X-%02d: v\n", i)
	}
	for _, c := range []struct {
		name, text string
		want       []api.Header
	}{
		{"nothing", "", nil},
		{"null", "data: null\nstringData: null", nil},
		{"one", "type: Opaque\ndata: {test-header: dGVzdC12YWx1ZQ==}", []api.Header{{"test-header", "test-value"}}},
		{"sorted", "data: {x-b: Yg==, X-A: YQ==, X-C: Yw==}", []api.Header{{"X-A", "a"}, {"x-b", "b"}, {"X-C", "c"}}},
		{"text before data", "data: {a: eA==, b: eQ==}\nstringData: {b: z}", []api.Header{{"a", "x"}, {"b", "z"}}},
		{"text before data, which stands behind", "stringData: {b: z}\ndata: {b: eQ==}", []api.Header{{"b", "z"}}},
		{"empty values", "data: {a: null, b: ''}\nstringData: {c: null}", []api.Header{{"a", ""}, {"b", ""}, {"c", ""}}},
		{"line ends", `stringData: {a: "1\n", b: "2\r\n", c: " 3 "}`, []api.Header{{"a", "1"}, {"b", "2"}, {"c", " 3 "}}},
		{"folded base64", `data: {a: "dGVz\ndA==\n"}`, []api.Header{{"a", "test"}}},
		{"usual ones", "stringData: {Authorization: Bearer x, Cookie: a=b, User-Agent: probe, X_1.2: '\u00e9'}", []api.Header{
			{"Authorization", "Bearer x"}, {"Cookie", "a=b"}, {"User-Agent", "probe"}, {"X_1.2", "\u00e9"},
		}},
		{"as long as can be", "stringData: {X-Long: " + long + "}", []api.Header{{"X-Long", long}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := api.Secret{Headers: c.want, Meta: api.Meta{
				Name: "shop/s", Cluster: "c", UID: "u", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
				Labels: map[string]string{"a": "b", "kuadrant.io/probe-headers": "true"},
			}}
			got := decodeSecret(t, c.text)
			want.Provider = got.Provider // TestDecodeProvider
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("%v %q, want %v %q", got, values(got), &want, values(&want))
			}
		})
	}
	if s := decodeSecret(t, "stringData:\n"+many.String()); len(s.Headers) != 64 || s.Invalid != "" {
		t.Errorf("64 headers: %v", s)
	}
}

// values are the headers as they are sent.
func values(s *api.Secret) (list []string) {
	for _, h := range s.Headers {
		list = append(list, h.Name+"="+h.Value)
	}
	return list
}

// TestInvalidHeaderSecrets: what cannot be sent makes the whole Secret invalid,
// and the reason names the key and no value (case G9).
func TestInvalidHeaderSecrets(t *testing.T) {
	var many strings.Builder
	for i := range 65 {
		fmt.Fprintf(&many, "  X-%02d: hunter2\n", i)
	}
	half := strings.Repeat("hunter2", 600)
	invalid := map[string][]string{
		`stringData: {test header: hunter2}`:              {`"test…"`, "name"},
		`stringData: {"X-Token: hunter2": ""}`:            {`"X-Token…"`},
		`stringData: {" hunter2": ""}`:                    {`"…"`},
		`stringData: {"": hunter2}`:                       {`""`},
		`stringData: {"tést": hunter2}`:                   {`"t…"`},
		`stringData: {a: "hunter2\nhunter2"}`:             {`"a"`, "line break"},
		`stringData: {a: "hunter2\n\n"}`:                  {`"a"`},
		`stringData: {a: "hunter2\r"}`:                    {`"a"`},
		`stringData: {a: "hunter2\0"}`:                    {`"a"`},
		`stringData: {a: "hunter2\x1b"}`:                  {`"a"`},
		`stringData: {a: "hunter2\x7f"}`:                  {`"a"`},
		`data: {X-Bad: "hunter2!"}`:                       {`data "X-Bad"`, "base64"},
		"data: {X-Bad: hunter2!}\nstringData: {X-Bad: x}": {`data "X-Bad"`},
		`stringData: {a: 12}`:                             {`stringData "a"`, "quotes"},
		`stringData: {"a b": [hunter2], good: hunter2}`:   {`"a…"`},
		`stringData: [hunter2]`:                           {"stringData"},
		`data: hunter2`:                                   {"data"},
		`stringData: {X-A: hunter2, x-a: hunter2}`:        {`"X-A"`, `"x-a"`, "same"},
		"stringData:\n" + many.String():                   {"65", "64"},
		"stringData: {a: " + half + ", b: " + half + "}":  {"8402 bytes", "8192"},
	}
	for _, name := range []string{
		"Host", "content-length", "Transfer-Encoding", "CONNECTION", "upgrade", "TE", "Trailer", "Keep-Alive",
		"Proxy-Authorization", "proxy-connection", "HTTP2-Settings",
	} {
		invalid["stringData: {"+name+": hunter2}"] = []string{`"` + name + `"`}
	}
	for text, words := range invalid {
		s := decodeSecret(t, text)
		if s.Invalid == "" || len(s.Headers) > 0 || strings.Contains(fmt.Sprint(s), "hunter2") {
			t.Errorf("%.80s: %v", text, s)
		}
		for _, w := range words {
			if !strings.Contains(s.Invalid, w) {
				t.Errorf("%.80s: %q lacks %q", text, s.Invalid, w)
			}
		}
	}
}

// TestUnlabelledSecrets: of a Secret without the label, no value is kept.
func TestUnlabelledSecrets(t *testing.T) {
	label := `kuadrant.io/probe-headers: "true"`
	for replaced, unlabelled := range map[string]bool{
		"":                                 true,
		"kuadrant.io/probe-headers: yes":   false,
		"kuadrant.io/probe-headers: 'yes'": true,
		"kuadrant.io/probe-headers: ''":    true,
	} {
		text := toJSON(t, strings.Replace(secretHead, label, replaced, 1)+"stringData: {a: hunter2}")
		s, err := api.DecodeSecret("c", text)
		if unlabelled != (err == nil) || s != nil && (!s.Unlabelled || s.Headers != nil || s.Invalid != "") {
			t.Errorf("label %q: %v, %v", replaced, s, err)
		}
	}
	text := string(toJSON(t, secretHead+"stringData: {a: hunter2}"))
	for _, broken := range []string{
		strings.Replace(text, `"hunter2"`, `hunter2`, 1),
		strings.Replace(text, `"hunter2"`, `"hunter2" hunter2`, 1),
		strings.Replace(text, `"hunter2"`, `"hunter2\u00"`, 1),
		strings.Replace(text, `hunter2"`, "hunter2\n\"", 1),
		text[:strings.Index(text, "hunter2")+7],
		text + `"hunter2"`,
		strings.Replace(text, `"shop"`, `["hunter2"]`, 1),
	} {
		s, err := api.DecodeSecret("c", []byte(broken))
		if s != nil || err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v, %v", broken, s, err)
		}
	}
}

// TestHeaderValuesAreNotPrinted: whatever prints a Secret or what holds one,
// prints no value.
func TestHeaderValuesAreNotPrinted(t *testing.T) {
	const value = "hunter2hunter2hunter2"
	s := decodeSecret(t, "stringData: {X-Token: "+value+"}")
	if values(s)[0] != "X-Token="+value {
		t.Fatalf("no value to hide: %q", values(s))
	}
	c := new(api.Cluster)
	edit := c.Secrets.Edit()
	edit.Set(s.Name, s)
	c.Secrets = edit.Map()
	type exported struct {
		S *api.Secret
		H []api.Header
		V api.Secret
	}
	type unexported struct {
		s *api.Secret
		a any
	}
	things := []any{
		s, *s, &s, s.Headers, s.Headers[0], &s.Headers[0],
		[]*api.Secret{s},
		map[string]api.Secret{"a": *s},
		exported{s, s.Headers, *s},
		&exported{s, s.Headers, *s},
		c, *c, errors.Join(fmt.Errorf("a %v", s)),
	}
	// In the forms that verbs have for a text.
	leaks := []string{value, base64.StdEncoding.EncodeToString([]byte(value)), fmt.Sprintf("%x", value), fmt.Sprintf("%X", value), fmt.Sprintf("% x", value), strings.Trim(fmt.Sprintf("%d", []byte(value)), "[]")}
	check := func(how, text string) {
		t.Helper()
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %s", how, text)
			}
		}
	}
	for i, thing := range things {
		for verb := rune('A'); verb <= 'z'; verb++ {
			// %p is for pointers, %w for errors: fmt does not ask anything else
			// how to print, and go vet tells who writes that.
			if verb > 'Z' && verb < 'a' || verb == 'p' || verb == 'w' {
				continue
			}
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "+#", "99", ".3", "*"} {
				format := "%" + flags + string(verb)
				check(fmt.Sprintf("%d %s", i, format), fmt.Sprintf(format, thing))
			}
		}
		check(fmt.Sprintf("%d print", i), fmt.Sprint(thing)+fmt.Sprintln(thing))
		text, err := json.Marshal(thing)
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
		check(fmt.Sprintf("%d JSON", i), string(text))
	}
	// fmt does not ask what it finds in unexported fields. It leaves pointers there
	// alone, but where a verb is none for pointers.
	for _, format := range []string{"%v", "%+v", "%#v", "%d", "%x"} {
		check(format, fmt.Sprintf(format, unexported{s, s}))
	}
	if text := fmt.Sprintf("%+v", s); !strings.Contains(text, "shop/s") || !strings.Contains(text, "1 headers") {
		t.Errorf("printed as %q", text)
	}
	if text := fmt.Sprint(s.Headers[0]); !strings.Contains(text, "X-Token") {
		t.Errorf("printed as %q", text)
	}
}

func FuzzDecodeSecret(f *testing.F) {
	f.Add(toJSON(f, secretHead+"data: {test-header: dGVzdC12YWx1ZQ==, X-A: null}\nstringData: {test-header: x, X-B: \"y\\n\"}\ntype: Opaque"))
	f.Add(toJSON(f, secretHead+"data: {test header: x, Host: eA==, x-a: eA==, X-A: eA==}\nstringData: {a: [b], c: \"d\\r\\n\\0\"}"))
	fuzzDecode(f, api.DecodeSecret, func(t *testing.T, s *api.Secret, _ int) {
		checkSecret(t, s)
	})
}

// checkSecret holds what every Secret fulfils, whatever it was decoded
// from.
func checkSecret(t *testing.T, s *api.Secret) {
	t.Helper()
	if s.Invalid != "" && len(s.Headers) > 0 || len(s.Invalid) > 4000 || len(s.Headers) > 64 || s.Unlabelled && s.Headers != nil || s.Annotations != nil {
		t.Errorf("%v", s)
	}
	size := 0
	for i, h := range s.Headers {
		size += len(h.Name) + len(h.Value)
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) || strings.EqualFold(h.Name, "host") {
			t.Errorf("header %q: %q", h.Name, h.Value)
		}
		if slices.ContainsFunc(s.Headers[:i], func(o api.Header) bool { return strings.ToLower(o.Name) >= strings.ToLower(h.Name) }) {
			t.Errorf("header %q stands twice, or behind one that it belongs in front of", h.Name)
		}
	}
	if size > 8<<10 {
		t.Errorf("%d bytes", size)
	}
}
