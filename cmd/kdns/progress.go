package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// progress shows the current step on a terminal, as one line on stderr that is removed at the end. Other output to
// stderr must go through it meanwhile; stdout stays unused until then.
type progress struct {
	terminal bool

	mu   sync.Mutex
	out  io.Writer
	said bool // the line is visible
}

func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// begin shows the current step.
func (p *progress) begin(what string) {
	if p.terminal {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s ...", what)
		p.said = true
	}
}

// Write implements io.Writer: it removes the line and writes lines, which must be complete.
func (p *progress) Write(lines []byte) (int, error) {
	p.end()
	return p.out.Write(lines)
}

// warn writes a warning, with control characters escaped.
func (p *progress) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(printable(p), "warning: "+format+"\n", args...)
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.said = false
	}
}
