package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coredns-kuadrant/kuadrant/console"
	"github.com/coredns-kuadrant/kuadrant/inspect"
)

// TestProgressOfServer: what a server that takes long says stands on a line of its own.
func TestProgressOfServer(t *testing.T) {
	inRoot(t)
	o := &options{corefile: "Corefile.example", output: outputTable}
	p := newProgress(io.Discard)
	w, err := o.load(nil, p)
	p.end()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := terminal(t)
	shownLine := make(chan struct{})
	handler := console.New(console.Options{Source: &shown{t: t, view: inspect.View{Snapshot: w.snap, Locator: w.locator}}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-shownLine
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	const last = "that is all"
	ended := make(chan string)
	go func() {
		var all strings.Builder
		var once sync.Once
		buf := make([]byte, 4096)
		for !strings.Contains(all.String(), last) {
			n, err := ours.Read(buf)
			if all.Write(buf[:n]); strings.Contains(all.String(), "asking "+server.URL+" ...") {
				once.Do(func() { close(shownLine) })
			}
			if err != nil {
				break
			}
		}
		ended <- all.String()
	}()
	code := run(t.Context(), []string{"kuadrantctl", "list", "zones", "--server", server.URL}, strings.NewReader(""), theirs, theirs)
	_, _ = theirs.WriteString(last) // what was written when a terminal is closed may be lost
	if got := <-ended; code != 0 || !strings.HasPrefix(got, "\r\x1b[Kasking "+server.URL+" ...\r\x1b[KZONE ") ||
		strings.Count(got, "\x1b") != 2 {
		t.Errorf("code %d: %q", code, got)
	}
}

// terminal opens a terminal: what is written to theirs is read from ours.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there are no terminals here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}
