package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// duplicateKey says that a mapping has a key twice. Parsers would take the last value, and nobody would learn of the first.
type duplicateKey struct {
	key  string
	line int // of the second, from 1
}

// Error names the line and the key, which it cuts where it may be a secret.
func (e *duplicateKey) Error() string {
	return fmt.Sprintf("line %d: the key %s is in one mapping twice; remove one", e.line, api.ShownKey(e.key))
}

// duplicateIn returns the key that a JSON parser found twice, in the given line; nil if it failed for another reason.
func duplicateIn(err error, line int) *duplicateKey {
	if se := new(jsontext.SyntacticError); errors.As(err, &se) && errors.Is(se.Err, jsontext.ErrDuplicateName) {
		return &duplicateKey{se.JSONPointer.LastToken(), line}
	}
	return nil
}

// checkKeys returns a *duplicateKey if a mapping at or below n has a key twice.
func checkKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, ok := keyOf(n.Content[i])
			if ok && seen[key] {
				return &duplicateKey{key, n.Content[i].Line}
			}
			seen[key] = true
		}
	}
	for _, child := range n.Content { // what an alias refers to is elsewhere in the tree
		if err := checkKeys(child); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns a mapping's key as the name that it has in JSON: 1 and "1" are one key, and so are yes and true. ok is false for a list or
// a mapping, which JSON does not have as keys.
func keyOf(n *yaml.Node) (key string, ok bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", false
	case n.Style&quoted != 0 || n.ShortTag() == "!!str" && !oldBool(n.Value):
		return n.Value, true
	}
	if json, err := sigsyaml.YAMLToJSON([]byte(n.Value)); err == nil {
		return strings.Trim(string(json), `"`), true
	}
	return n.Value, true
}

// oldBool reports whether a text without quotes is a boolean in YAML 1.1 alone, which Kubernetes reads.
func oldBool(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
