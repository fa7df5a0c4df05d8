package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// quiet is how long work may take before anything is said of it.
const quiet = time.Second

// progress tells on the standard error what is being done, where that takes longer than a second.
// On a terminal it is one line, which goes when the work is done: what else goes to the standard error before that is
// written to the progress, and nothing to the standard output.
type progress struct {
	terminal bool
	done     chan struct{}
	ended    sync.WaitGroup

	mu   sync.Mutex
	out  io.Writer
	what string
	said string // what was written last, and on a terminal stands there
}

// newProgress begins; end has to be called.
func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	return newProgressOn(out, ok && term.IsTerminal(int(f.Fd())))
}

func newProgressOn(out io.Writer, terminal bool) *progress {
	p := &progress{out: out, terminal: terminal, done: make(chan struct{})}
	p.ended.Go(p.run)
	return p
}

// begin says what is done from now on.
func (p *progress) begin(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

// Write implements io.Writer: it writes whole lines that are no progress.
func (p *progress) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(lines)
}

// warn writes a warning; what others have written in it does nothing to a terminal.
func (p *progress) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(printable(p), "warning: "+format+"\n", args...)
}

// end ends it, and takes the line away.
func (p *progress) end() {
	close(p.done)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear takes the line away, until it is written again. p.mu is held.
func (p *progress) clear() {
	if p.terminal && p.said != "" {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.said = ""
	}
}

func (p *progress) run() {
	again := time.NewTicker(quiet)
	defer again.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-again.C:
			p.say()
		}
	}
}

// say writes what is being done, where that has changed.
func (p *progress) say() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.what == p.said || p.what == "":
	case p.terminal:
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s ...", p.what)
	default:
		_, _ = fmt.Fprintf(p.out, "%s ...\n", p.what)
	}
	p.said = p.what
}
