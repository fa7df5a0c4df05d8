package main

import (
	"io"
	"strings"
	"testing"
)

// TestProgressLine: on a terminal the line is removed before other output and at the end; otherwise nothing is shown.
func TestProgressLine(t *testing.T) {
	for terminal, want := range map[bool]string{
		true: "\r\x1b[Kreading ...\r\x1b[Kwarning: a\n\r\x1b[Kcompiling ...\r\x1b[K", false: "warning: a\n",
	} {
		var out strings.Builder
		p := &progress{out: &out, terminal: terminal}
		p.begin("reading")
		_, _ = io.WriteString(p, "warning: a\n")
		p.begin("compiling")
		p.end()
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
