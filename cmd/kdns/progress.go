package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// progress says on a terminal what is being done, in one line of the standard error, which goes when the work is done. What else goes there
// before that is written to the progress, and nothing to the standard output.
type progress struct {
	terminal bool

	mu   sync.Mutex
	out  io.Writer
	said bool // the line stands there
}

func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// begin says what is done from now on.
func (p *progress) begin(what string) {
	if p.terminal {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s ...", what)
		p.said = true
	}
}

// Write implements io.Writer: it writes whole lines that are no progress.
func (p *progress) Write(lines []byte) (int, error) {
	p.end()
	return p.out.Write(lines)
}

// warn writes a warning; what others have written in it does nothing to a terminal.
func (p *progress) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(printable(p), "warning: "+format+"\n", args...)
}

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.said = false
	}
}
