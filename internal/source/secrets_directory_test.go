package source

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// newSecretFolder is newFolder for files with Secrets.
func newSecretFolder(t *testing.T) *folder {
	f := newFolder(t)
	t.Cleanup(func() { f.keepsSecrets() })
	return f
}

// TestDirectoryReadsSecrets: all are kept, whoever refers to them; those without the
// label have no headers.
func TestDirectoryReadsSecrets(t *testing.T) {
	f := newSecretFolder(t)
	encoded := base64.StdEncoding.EncodeToString([]byte(password + "data\n"))
	f.write("a.yaml", manifest("ns", "a")+secretManifest("ns", "text", headersLabel, "text")+
		secretManifest("ns", "none", "", "none")+secretManifest("ns", "other", "kuadrant.io/probe-headers: 'no'", "other")+
		strings.Replace(secretManifest("ns", "data", headersLabel, ""), "stringData: {X-Token: "+password+"}", "data: {X-Token: "+encoded+"}", 1)+
		secretManifest("ns", "bad", headersLabel, " \"\n")) // YAML folds this into a space
	f.write("b.json", `{"apiVersion":"v1","kind":"SecretList","items":[{"metadata":{"namespace":"ns","name":"item","labels":{`+
		strings.Replace(headersLabel, "kuadrant.io/probe-headers", `"kuadrant.io/probe-headers"`, 1)+`}},"stringData":{"a b":"`+password+`"}}]}`)
	f.start()
	c := f.objects("g ns/a", "secret ns/bad", "secret ns/data", "secret ns/item", "secret ns/none", "secret ns/other", "secret ns/text")
	if token(c, "ns/text") != "text" || token(c, "ns/data") != "data" {
		t.Errorf("values %q and %q", token(c, "ns/text"), token(c, "ns/data"))
	}
	if s, _ := c.Secrets.Get("ns/item"); !strings.Contains(s.Invalid, `"a…"`) || len(s.Headers) > 0 {
		t.Errorf("%v", s)
	}
	for _, name := range []string{"ns/none", "ns/other"} {
		if s, _ := c.Secrets.Get(name); !s.Unlabelled || token(c, name) != "" {
			t.Errorf("%s: %v", name, s)
		}
	}
	if n := f.logged(""); n != 0 {
		t.Errorf("%d lines: %s", n, f.report())
	}
	text, _ := c.Secrets.Get("ns/text")
	f.replace("a.yaml", manifest("ns", "a")+secretManifest("ns", "text", headersLabel, "text")+secretManifest("ns", "data", headersLabel, "new"))
	c = f.objects("g ns/a", "secret ns/data", "secret ns/item", "secret ns/text")
	if now, _ := c.Secrets.Get("ns/text"); now != text {
		t.Error("an unchanged Secret lost its pointer")
	}
	if token(c, "ns/data") != "new" {
		t.Errorf("value %q", token(c, "ns/data"))
	}
	f.write("a.yaml", manifest("ns", "a")+secretManifest("ns", "text", "", "text"))
	f.objects("g ns/a", "secret ns/item", "secret ns/text")
	f.remove("b.json")
	f.objects("g ns/a", "secret ns/text")
}

// TestDirectoryQuotesNoSecrets: what a parser stumbles upon in a Secret does not
// get into the log, and the line where it stands does.
func TestDirectoryQuotesNoSecrets(t *testing.T) {
	for name, tt := range map[string]struct{ file, old, new, want string }{
		"alias":          {"a.yaml", password, "*" + password, ": line 1"},
		"tag":            {"a.yaml", password, "!!int " + password, ": line 1"},
		"sign":           {"a.yaml", password, "@" + password, ": line 1"},
		"bracket":        {"a.yaml", password + "1}", "[" + password + "}", ": line 1"},
		"JSON":           {"a.json", `"` + password, password, "line 3"},
		"JSON's end":     {"a.json", password + `1"}}`, password, "line"},
		"JSON's escape":  {"a.json", password, `\x` + password, "line 3"},
		"label":          {"a.yaml", `"true"`, "true", "kuadrant.io/probe-headers"},
		"name":           {"a.yaml", "name: x", "name: [" + password + "]", "metadata.name"},
		"name of no use": {"a.yaml", "name: x", "nam: x", "metadata.name"},
	} {
		t.Run(name, func(t *testing.T) {
			text := manifest("ns", "a") + secretManifest("ns", "x", headersLabel, "1")
			if tt.file == "a.json" {
				text = "\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\",\"labels\":{\"kuadrant.io/probe-headers\":\"true\"}},\n\"stringData\":{\"a\":\"" + password + "1\"}}"
			}
			broken := strings.Replace(text, tt.old, tt.new, 1)
			if broken == text {
				t.Fatal("nothing is broken")
			}
			f := newSecretFolder(t)
			f.write(tt.file, broken)
			f.write("b.yaml", manifest("ns", "b"))
			f.start()
			f.wait("the other file", func() bool { return f.newest() != nil && f.newest().Count(api.KindGateway) > 0 })
			f.log(tt.file, tt.want)
			if n := f.latest().Secrets.Len(); n != 0 {
				t.Errorf("%d Secrets", n)
			}
		})
	}
}
