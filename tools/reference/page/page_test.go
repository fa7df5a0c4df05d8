package page

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestFields checks that a field's row has its type, default and bounds in words, from the schema
// and the description.
func TestFields(t *testing.T) {
	const text = `
required: [spec]
properties:
  kind: {type: string}
  status: {type: object, properties: {a: {type: string}}}
  spec:
    type: object
    description: ASpec is what it is.
    x-kubernetes-validations: [{rule: "true", message: "a is b: write c"}]
    properties:
      a: {type: integer, minimum: 0, maximum: 5, description: "a is | one; 3 if it is not set, and 4 at night. It counts."}
      b: {type: string, enum: [X, Z], maxLength: 9, description: b is X if it is not set.}
      c: {type: array, maxItems: 2, items: {type: string, maxLength: 4}, description: "c holds * of <d>; all of them if it is empty."}
      e: {type: array, items: {type: object, required: [f], properties: {f: {type: integer, description: Weight is a share.}}}}
      s: {type: object, properties: {matchLabels: {type: object}, matchExpressions: {type: array}}}
      x: {x-kubernetes-validations: [{rule: "true", message: x must be so}]}
      conditions: {type: array, items: {type: object, properties: {lastTransitionTime: {type: string}}}}
      when: {type: string, format: date-time}
`
	var s schema
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	want := `spec.a|integer|3, and 4 at night|0 to 5|\| one. It counts
spec.b|string|X|` + "`X`, `Z`" + `|X if it is not set
spec.c|list of string|all of them|up to 2 entries|c holds \* of \<d>
spec.conditions|list of condition|||
spec.e|list of object|||
spec.e[].f|integer|required||a share
spec.s|label selector|||
spec.when|time|||
spec.x|any||so|
`
	var b strings.Builder
	for _, f := range s.fields("") {
		b.WriteString(strings.Join([]string{f.path, f.kind, f.def, f.bounds, f.what}, "|") + "\n")
	}
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSyntaxes checks that lines of inner blocks are read too, and that an undescribed property is
// an error.
func TestSyntaxes(t *testing.T) {
	const readme = "kuadrant [ZONES...] {\n    cluster NAME {\n        namespaces NS...\n    }\n    ttl A [B]\n}\n" +
		"\nFor the whole process; all:\n\n* `cluster` is one.\n\nFor each zone; all:\n\n* `ttl` is another.\n"
	all, err := Syntaxes(readme)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Line())
	}
	if got := strings.Join(lines, ", "); got != "cluster NAME, cluster.namespaces NS..., ttl A [B]" {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]int{"cluster": 0, "cluster.namespaces": 0, "ttl": 1} {
		if got, err := scopeOf(readme, name); err != nil || got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	if _, err := scopeOf(readme, "guard"); err == nil {
		t.Error("what is not described has a scope")
	}
	if _, err := Syntaxes("nothing"); err == nil {
		t.Error("no syntax, and no error")
	}
	var b strings.Builder
	if err := corefile(&b, "", readme); err == nil || !strings.Contains(err.Error(), "which the README's syntax has not") {
		t.Errorf("%v", err)
	}
}
