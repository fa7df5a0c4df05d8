// Package page makes docs/reference.md. It imports nothing of the plugin, so that tests in the
// plugin's own package can compare the file with what it would make. The metrics are those of the
// process that it runs in.
package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// File is the path of the page, relative to the module.
const File = "docs/reference.md"

const head = `<!-- make reference writes this file: of README.md, config/crd, the code, and the tables of tools/reference/page -->
# Reference

Each setting, field, label and metric, with its default and bounds. Elsewhere:
[metadata](../README.md#metadata), [exit codes](kdns.md#exit-codes), the [JSON API](api.md),
[values of the chart](../charts/kuadrant-coredns/README.md#values),
[rights](security.md#what-each-right-means), [alerts](runbooks.md), and reasons of conditions of
[policies](write-back.md#what-a-policys-status-says) and [zones](zones.md#what-is-wrong).

`

// Make returns the page of the module in a folder.
func Make(module string) ([]byte, error) {
	readme, err := os.ReadFile(filepath.Join(module, "README.md"))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(head)
	for _, part := range []struct {
		name  string
		write func(*strings.Builder, string, string) error
	}{
		{"Corefile", corefile},
		{"objects", objects},
		{"words", words},
		{"metrics", metrics},
	} {
		if err := part.write(&b, module, string(readme)); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// row writes a table row.
func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// table writes a table's head.
func table(b *strings.Builder, columns ...string) {
	row(b, columns...)
	b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
}

// item writes a list item, in lines of 100 columns.
func item(b *strings.Builder, text string) {
	at := 1
	b.WriteString("*")
	for _, word := range strings.Fields(text) {
		if n := utf8.RuneCountInString(word); at+1+n > 100 {
			b.WriteString("\n  " + word)
			at = 2 + n
		} else {
			b.WriteString(" " + word)
			at += 1 + n
		}
	}
	b.WriteString("\n")
}

// brackets returns text in brackets after a space, or "" for no text.
func brackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// code returns a text as code for a table cell.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }

// plain escapes markup in a text for a table cell, except between backquotes.
func plain(text string) string {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		if i%2 == 0 {
			part = strings.NewReplacer("<", `\<`, "*", `\*`).Replace(part)
		}
		parts[i] = strings.ReplaceAll(part, "|", `\|`)
	}
	return strings.Join(parts, "`")
}
