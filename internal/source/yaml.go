package source

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// One YAML document is refused from maxYAML bytes or maxMarks values on: a parser
// takes some 300 bytes for a value, which may be two bytes of text. An object has
// at most 1.5 MiB in etcd, so this leaves room for lists of a thousand usual ones
// and keeps what parsing takes below 200 MB. JSON is read without such a tree,
// and may be as long as a file.
const (
	maxYAML  = 4 << 20
	maxMarks = 500_000
)

// yamlToJSON returns a YAML document as JSON.
func yamlToJSON(text []byte) (value []byte, err error) {
	// The YAML library must not end the server, whatever it is fed.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parse YAML: %v", r)
		}
	}()
	if n := marks(text); len(text) > maxYAML || n > maxMarks {
		return nil, fmt.Errorf("too large for one YAML document, %d bytes with up to %d values; at most %d MiB and %d values are "+
			"allowed. Separate the objects by ---, or use JSON", len(text), n, maxYAML>>20, maxMarks)
	}
	if err := checkAliases(text); err != nil {
		return nil, err
	}
	return sigsyaml.YAMLToJSON(text)
}

// marks returns how many values text can hold at most, but for a few: each but
// the first comes behind one of these marks.
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

// checkAliases refuses a document whose aliases (*name) stand for much more than
// it holds itself. A few lines of them can stand for any amount, and the parser
// bounds how many values there are, not how long they are.
func checkAliases(text []byte) error {
	if !hasAlias(text) {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return err
	}
	if left := max(minAliased, maxAliased*len(text)); !within(&root, &left) {
		return fmt.Errorf("its aliases expand to more than %d KiB; write them out, as documents "+
			"of their own", max(minAliased, maxAliased*len(text))>>10)
	}
	return nil
}

const (
	// minAliased is how many bytes a document may have with what its aliases stand for, and
	// maxAliased how many for each of the document's own.
	minAliased, maxAliased = 1 << 20, 4
	// valueCost is what a value counts besides its bytes: some of the memory of one that
	// is parsed.
	valueCost = 8
)

// within takes the bytes of n, with what its aliases stand for, off left, and reports whether they fit. An alias that stands
// for itself never does.
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

// hasAlias reports whether text may hold an alias. A host name such as
// *.example.com is none.
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
