package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgressLine: on a terminal the line of what is done goes before anything else is written, and comes back.
func TestProgressLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgressOn(&out, true)
		p.begin("reading")
		_, _ = io.WriteString(p, "warning: early\n")
		time.Sleep(quiet + quiet/10)
		_, _ = io.WriteString(p, "warning: late\n")
		time.Sleep(quiet)
		p.end()
		const line, gone = "\r\x1b[Kreading ...", "\r\x1b[K"
		if want := "warning: early\n" + line + gone + "warning: late\n" + line + gone; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}
