package source

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// A YAML document of maxYAML bytes or maxMarks values is refused. A parser takes some 300 bytes for
// a value, which may be two bytes of text. An object has at most 1.5 MiB in etcd, so the limits
// leave room for lists of a thousand typical objects, and keep parsing below 200 MB. JSON is read
// without such a tree, and may be as long as a file.
const (
	maxYAML  = 4 << 20
	maxMarks = 500_000
)

// yamlToJSON converts a YAML document to JSON.
func yamlToJSON(text []byte) (value []byte, err error) {
	// A panic of the YAML library must not end the server, whatever the input.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parse YAML: %v", r)
		}
	}()
	if n := marks(text); len(text) > maxYAML || n > maxMarks {
		return nil, fmt.Errorf("too large for one YAML document, %d bytes with up to %d values; at most %d MiB and %d values are "+
			"allowed. Separate the objects by ---, or use JSON", len(text), n, maxYAML>>20, maxMarks)
	}
	var root yaml.Node
	switch err := yaml.Unmarshal(text, &root); {
	case err == nil:
		if err := checkKeys(&root); err != nil {
			return nil, err
		}
		if err := checkAliases(text, &root); err != nil {
			return nil, err
		}
	case hasAlias(text):
		return nil, err
	}
	return sigsyaml.YAMLToJSON(text)
}

// marks returns an upper bound, give or take a few, for the number of values in text: each but the
// first follows one of these marks.
func marks(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{', ':':
			n++
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// checkAliases refuses a document whose aliases (*name) expand to much more than the document
// itself. A few lines can expand to any amount, and the parser bounds the number of values, not
// their length.
func checkAliases(text []byte, root *yaml.Node) error {
	if !hasAlias(text) {
		return nil
	}
	if left := max(minAliased, maxAliased*len(text)); !within(root, &left) {
		return fmt.Errorf("its aliases expand to more than %d KiB; write them out, as documents "+
			"of their own", max(minAliased, maxAliased*len(text))>>10)
	}
	return nil
}

const (
	// minAliased is the number of bytes to which any document may expand, and maxAliased the
	// multiple of its own length to which a longer one may.
	minAliased, maxAliased = 1 << 20, 4
	// valueCost is what a value counts in addition to its bytes: part of its memory once parsed.
	valueCost = 8
)

// within subtracts the bytes of n, with its aliases expanded, from left, and reports whether they
// fit. An alias that refers to itself never fits.
func within(n *yaml.Node, left *int) bool {
	if *left -= valueCost + len(n.Value); *left < 0 || n.Alias != nil && !within(n.Alias, left) {
		return false
	}
	for _, child := range n.Content {
		if !within(child, left) {
			return false
		}
	}
	return true
}

// hasAlias reports whether text may hold an alias. A host name such as *.example.com is not one.
func hasAlias(text []byte) bool {
	if bytes.IndexByte(text, '&') < 0 {
		return false
	}
	for {
		i := bytes.IndexByte(text, '*')
		if i < 0 || i+1 == len(text) {
			return false
		}
		text = text[i+1:]
		if c := text[0]; c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return true
		}
	}
}
