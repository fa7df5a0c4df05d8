package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// These lines of the README enclose the table.
const (
	tableBegins = "<!-- values: `make chart` writes this table of the comments in values.yaml -->\n"
	tableEnds   = "<!-- end of values -->\n"
)

// insert puts the table between these lines.
func insert(readme []byte, table string) ([]byte, error) {
	before, rest, begins := bytes.Cut(readme, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return nil, fmt.Errorf("there is no line %q with one %q behind it: write both where the table is to stand", strings.TrimSpace(tableBegins), strings.TrimSpace(tableEnds))
	}
	return bytes.Join([][]byte{before, []byte(tableBegins), []byte(table), []byte(tableEnds), after}, nil), nil
}

// tableOf returns the table of values with their defaults and comments. A value without a comment
// is an error.
func tableOf(values []byte) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(values, &doc); err != nil {
		return "", err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return "", errors.New("it is no mapping")
	}
	var b strings.Builder
	b.WriteString("| value | default | what it is |\n|---|---|---|\n")
	if err := rows(&b, "", doc.Content[0]); err != nil {
		return "", err
	}
	return b.String(), nil
}

// rows writes the rows of a mapping. A mapping with its own comment is one value.
func rows(b *strings.Builder, prefix string, mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		comment := commentOf(key)
		if comment == "" && value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			if err := rows(b, name+".", value); err != nil {
				return err
			}
			continue
		}
		if comment == "" {
			return fmt.Errorf("line %d: %s has no comment: write one above it", key.Line, name)
		}
		text, err := flow(value)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", key.Line, name, err)
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", name, cell(text), cell(comment))
	}
	return nil
}

// commentOf returns the comment above a key as one line: the nearest paragraph, without examples,
// which are indented.
func commentOf(key *yaml.Node) string {
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	var words []string
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		line = strings.TrimPrefix(line, "#")
		if strings.HasPrefix(line, "   ") {
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

// flow returns a value on one line, without its comments.
func flow(value *yaml.Node) (string, error) {
	var plain any
	if err := value.Decode(&plain); err != nil {
		return "", err
	}
	var node yaml.Node
	if err := node.Encode(plain); err != nil {
		return "", err
	}
	node.Style |= yaml.FlowStyle
	text, err := yaml.Marshal(&node)
	return strings.Join(strings.Fields(string(text)), " "), err
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
