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
// On a terminal it is one line, which goes when the work is done.
type progress struct {
	out      io.Writer
	terminal bool
	done     chan struct{}
	ended    sync.WaitGroup

	mu   sync.Mutex
	what string
	said string // what was written last
}

// newProgress begins; end has to be called.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, done: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	p.ended.Go(p.run)
	return p
}

// begin says what is done from now on.
func (p *progress) begin(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

// end ends it, and takes the line away.
func (p *progress) end() {
	close(p.done)
	p.ended.Wait()
	if p.terminal && p.said != "" {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) run() {
	wait := time.NewTimer(quiet)
	defer wait.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-wait.C:
		}
		p.mu.Lock()
		what := p.what
		p.mu.Unlock()
		switch {
		case what == p.said || what == "":
		case p.terminal:
			_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s ...", what)
		default:
			_, _ = fmt.Fprintf(p.out, "%s ...\n", what)
		}
		p.said = what
		again := quiet
		if p.terminal {
			again = quiet / 5
		}
		wait.Reset(again)
	}
}
