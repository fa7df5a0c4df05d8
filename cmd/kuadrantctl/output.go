package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// write writes v in the form that the flags ask for; table writes it for people.
func (o *options) write(out io.Writer, v any, table func(io.Writer) error) error {
	switch o.output {
	case outputJSON:
		enc := json.NewEncoder(escaped(out))
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return failed(enc.Encode(v))
	case outputYAML:
		text, err := yaml.Marshal(v)
		if err == nil {
			_, err = out.Write(text)
		}
		return failed(err)
	}
	return failed(table(printable(out)))
}

// textOnly is a writer to a terminal, which gets nothing but text: what a server or a file says is shown, and does nothing.
type textOnly struct {
	io.Writer
	control func(rune) string // what stands for a control character
}

// printable returns a writer of text for people.
func printable(w io.Writer) io.Writer {
	return textOnly{w, func(r rune) string {
		if r == '\t' {
			return "\t"
		}
		return "\ufffd"
	}}
}

// escaped returns a writer of JSON: control characters in strings are written in their other form, which means the same. An encoder
// escapes those of ASCII alone.
func escaped(w io.Writer) io.Writer {
	return textOnly{w, func(r rune) string { return fmt.Sprintf(`\u%04x`, r) }}
}

// Write implements io.Writer.
func (t textOnly) Write(text []byte) (int, error) {
	clean := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if unicode.IsControl(r) && r != '\n' {
			clean = append(clean, t.control(r)...)
		} else {
			clean = utf8.AppendRune(clean, r)
		}
	}
	if _, err := t.Writer.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// rows writes a table: a head in capitals, and rows of the same width. It says none where there
// are no rows.
func rows(out io.Writer, none string, head []string, all [][]string) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, none)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{head}, all...) {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
