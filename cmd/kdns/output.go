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

// write writes v in the form that the flags ask for; text returns it for people.
func (o *options) write(out io.Writer, v any, text func() string) error {
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
	_, err := io.WriteString(printable(out), text())
	return failed(err)
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

// rows returns a table: a head in capitals, and a line for each of all, in columns with tabs between them; none where there is nothing.
func rows[T any](none, head string, all []T, line func(*T) string) string {
	if len(all) == 0 {
		return none
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, head)
	for i := range all {
		_, _ = fmt.Fprintln(w, line(&all[i]))
	}
	_ = w.Flush()
	return b.String()
}
