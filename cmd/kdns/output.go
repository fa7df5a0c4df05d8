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

// write writes v in the format of --output; text renders it for people.
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

// textOnly is a writer that replaces control characters, so that text from servers and files cannot control the
// terminal.
type textOnly struct {
	io.Writer
	control func(rune) string // returns the replacement of a control character
}

// printable returns a writer for text.
func printable(w io.Writer) io.Writer {
	return textOnly{w, func(r rune) string {
		if r == '\t' {
			return "\t"
		}
		return "\ufffd"
	}}
}

// escaped returns a writer for JSON that escapes all control characters in strings; encoding/json escapes only the
// ASCII ones.
func escaped(w io.Writer) io.Writer {
	return textOnly{w, func(r rune) string { return fmt.Sprintf(`\u%04x`, r) }}
}

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

// rows returns a tab-separated table with a header line in capitals and a line for each of all; none if all is empty.
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
