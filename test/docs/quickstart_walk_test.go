package docs

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
)

// walk is a user who follows a text in the checkout's directory. Its methods belong to the test's
// goroutine.
type walk struct {
	t         *testing.T
	data      string   // the API server's directory
	env       []string // of all commands
	exports   []string // lines typed so far
	elsewhere bool     // the next command is for another terminal
	terminals []*terminal
	page      string // the URL of the page opened last
}

// terminal is another terminal, in which a command runs until it is interrupted.
type terminal struct {
	line    string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	printed string // a file
	ended   chan struct{}
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{t: t, data: filepath.Join(t.TempDir(), "kube")}
	// By default, kubectl caches its discovery in the home directory, and reads the user's
	// preferences there.
	w.env = append(withoutMake(os.Environ()), "KUBE_DATA="+w.data, "KUBECONFIG=", "KUBERC=off", "KUBECACHEDIR="+t.TempDir())
	t.Cleanup(func() {
		for _, other := range w.terminals {
			other.end(syscall.SIGKILL)
			if t.Failed() {
				t.Logf("%s printed\n%s", other.line, other.output(t))
			}
		}
	})
	return w
}

// bash returns a command that runs a line, without starting it.
func (w *walk) bash(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.Join(append(w.exports, line), "\n"))
	cmd.Env = w.env
	return cmd
}

// command runs a command as the text asks, and compares its output. It retries a read-only command
// until its output matches.
func (w *walk) command(c doctest.Shown) {
	w.t.Helper()
	want := shownAs(c.Want)
	switch asks := regexp.MustCompile(`^(dig|bin/kdns) `).MatchString(c.Line); {
	case w.elsewhere:
		w.open(c.Line)
		last := w.terminals[len(w.terminals)-1]
		got := ""
		boottest.WaitOr(w.t, func() string { return fmt.Sprintf("%s printed\n%s\nwant\n%s", c.Line, got, c.Want) },
			func() bool { got = asShown(last.output(w.t)); return want.MatchString(got) })
	case strings.HasPrefix(c.Line, "export "):
		w.exports = append(w.exports, c.Line)
	case asks:
		got := ""
		boottest.WaitOr(w.t, func() string { return fmt.Sprintf("%s prints\n%s\nwant\n%s", c.Line, got, c.Want) },
			func() bool { got = w.run(c.Line); return want.MatchString(got) })
	default:
		if got := w.run(c.Line); !want.MatchString(got) {
			w.t.Fatalf("%s printed\n%s\nwant\n%s", c.Line, got, c.Want)
		}
	}
}

// run runs a command, and returns its output, and its exit status if it is worth a word.
func (w *walk) run(line string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := w.bash(ctx, line)
	cmd.WaitDelay = time.Second // for processes that it leaves behind
	out, err := cmd.CombinedOutput()
	got := asShown(string(out))
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 && strings.HasPrefix(line, "bin/kdns preview ") {
		err = nil // there are differences
	}
	if err != nil {
		got += "\n" + err.Error()
	}
	return got
}

// open runs a command in another terminal. Its processes form a group, as in a real one.
func (w *walk) open(line string) {
	w.t.Helper()
	o := &terminal{line: line, printed: filepath.Join(w.t.TempDir(), "printed"), ended: make(chan struct{})}
	out, err := os.Create(o.printed)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	o.cmd = w.bash(context.Background(), line)
	o.cmd.Stdout, o.cmd.Stderr = out, out
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.stdin, err = o.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = o.cmd.Wait()
		close(o.ended)
	}()
	w.terminals = append(w.terminals, o)
}

// output returns the output so far.
func (o *terminal) output(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(o.printed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// end sends a signal to everything that runs in the terminal, unless that has ended, and closes its
// standard input.
func (o *terminal) end(signal syscall.Signal) {
	select {
	case <-o.ended:
		return
	default:
	}
	_ = syscall.Kill(-o.cmd.Process.Pid, signal) // it may be ending
	_ = o.stdin.Close()
	if signal == syscall.SIGKILL {
		<-o.ended
	}
}

// number types a number into the terminal opened last.
func (w *walk) number(number string) {
	w.t.Helper()
	if _, err := io.WriteString(w.terminals[len(w.terminals)-1].stdin, number+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// interrupt types Ctrl-C in all other terminals, the last one first, and waits until their commands
// end.
func (w *walk) interrupt() {
	w.t.Helper()
	for i := len(w.terminals) - 1; i >= 0; i-- {
		o := w.terminals[i]
		o.end(syscall.SIGINT)
		boottest.WaitOr(w.t, func() string { return o.line + " runs on" }, func() bool {
			select {
			case <-o.ended:
				return true
			default:
				return false
			}
		})
	}
}

// sees waits until a word is on the page.
func (w *walk) sees(word string) {
	w.t.Helper()
	shown := ""
	boottest.WaitOr(w.t, func() string { return fmt.Sprintf("%s has no %q:\n%s", w.page, word, shown) }, func() bool {
		resp, err := http.Get(w.page)
		if err != nil {
			shown = err.Error()
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			shown = fmt.Sprint(resp.Status, ", ", err)
			return false
		}
		text := html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(string(body), " "))
		shown = strings.Join(strings.Fields(text), " ")
		return strings.Contains(shown, strings.Join(strings.Fields(word), " "))
	})
}

// asShown returns an output in the form of those in texts: it replaces the cluster in the names of
// members, which differs each time, with one word.
func asShown(output string) string {
	return regexp.MustCompile(`\b[0-9a-z]{6}(-[0-9a-z]{6}\.klb\.)`).ReplaceAllString(doctest.Collapse(output), "cluster$1")
}

// shownAs returns an expression that matches an output as a text shows it, in which a line of three
// dots matches any lines.
func shownAs(want string) *regexp.Regexp {
	var lines []string
	for line := range strings.Lines(asShown(want)) {
		if line = strings.TrimSuffix(line, "\n"); line == "..." {
			lines = append(lines, `(?s:.*)`)
		} else {
			lines = append(lines, regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(`\A` + strings.Join(lines, `\n`) + `\z`)
}
