package api_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const secretHead = `metadata: {name: s, namespace: shop, labels: {kuadrant.io/probe-headers: "true"}}
`

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
	s, err := api.DecodeSecret("c", toJSON(t, secretHead+"stringData: {X-Token: "+value+"}"))
	if err != nil || s.Headers[0].Value != value {
		t.Fatalf("no value to hide: %v, %v", s, err)
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
