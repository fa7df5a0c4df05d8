package boottest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	clog "github.com/coredns/coredns/plugin/pkg/log"
)

// Journal collects the lines that CoreDNS logs for this plugin.
type Journal struct {
	mu    sync.Mutex
	lines []string // each after its level
}

// Listen returns a Journal of the lines logged until the test ends.
func Listen(t testing.TB) *Journal {
	j := new(Journal)
	if err := clog.RegisterListener(j); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clog.DeregisterListener(j) })
	return j
}

// Has reports whether a line of that level contains text.
func (j *Journal) Has(level, text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.lines, func(line string) bool { return strings.HasPrefix(line, level) && strings.Contains(line, text) })
}

// All returns the lines so far.
func (j *Journal) All() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func (j *Journal) add(level, from, text string) {
	if from == "plugin/"+plugin+": " {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, level+" "+text)
	}
}

// The methods of clog.Listener.

func (j *Journal) Name() string             { return fmt.Sprintf("Journal %p", j) }
func (j *Journal) Debug(p string, v ...any) { j.add("debug", p, fmt.Sprint(v...)) }
func (j *Journal) Debugf(p string, format string, v ...any) {
	j.add("debug", p, fmt.Sprintf(format, v...))
}
func (j *Journal) Info(p string, v ...any) { j.add("info", p, fmt.Sprint(v...)) }
func (j *Journal) Infof(p string, format string, v ...any) {
	j.add("info", p, fmt.Sprintf(format, v...))
}
func (j *Journal) Warning(p string, v ...any) { j.add("warning", p, fmt.Sprint(v...)) }
func (j *Journal) Warningf(p string, format string, v ...any) {
	j.add("warning", p, fmt.Sprintf(format, v...))
}
func (j *Journal) Error(p string, v ...any) { j.add("error", p, fmt.Sprint(v...)) }
func (j *Journal) Errorf(p string, format string, v ...any) {
	j.add("error", p, fmt.Sprintf(format, v...))
}
func (j *Journal) Fatal(p string, v ...any) { j.add("fatal", p, fmt.Sprint(v...)) }
func (j *Journal) Fatalf(p string, format string, v ...any) {
	j.add("fatal", p, fmt.Sprintf(format, v...))
}
