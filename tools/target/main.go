// Command target runs HTTP servers as targets of checks, each of which can be switched off:
//
//	target 127.0.0.21:8081 127.0.0.22:8081
//
// A line with a server's number on standard input switches it off, and the next one on again.
// docs/health.md shows how to use it.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: target ADDRESS:PORT...")
		os.Exit(2)
	}
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "target:", err)
		os.Exit(1)
	}
}

// run serves at the addresses until in reaches its end.
func run(addresses []string, in io.Reader, out io.Writer) error {
	targets := make([]*target, len(addresses))
	for i, address := range addresses {
		targets[i] = &target{address: address}
		if err := targets[i].toggle(); err != nil {
			return err
		}
		defer targets[i].off()
	}
	show := func() {
		for i, t := range targets {
			fmt.Fprintf(out, "%d  http://%s  %s\n", i+1, t.address, t.state())
		}
		fmt.Fprintln(out, "Type a number to switch that one off or on.")
	}
	show()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || n < 1 || n > len(targets) {
			fmt.Fprintf(out, "Type a number from 1 to %d.\n", len(targets))
			continue
		}
		if err := targets[n-1].toggle(); err != nil {
			return err
		}
		show()
	}
	return lines.Err()
}

// target is one server, nil while it is off.
type target struct {
	address string
	server  *http.Server
}

func (t *target) state() string {
	if t.server == nil {
		return "off"
	}
	return "on"
}

func (t *target) off() {
	if t.server != nil {
		_ = t.server.Close()
		t.server = nil
	}
}

// toggle switches the server off or on.
func (t *target) toggle() error {
	if t.server != nil {
		t.off()
		return nil
	}
	l, err := net.Listen("tcp", t.address)
	if err != nil {
		return fmt.Errorf("%w (on macOS, sudo ifconfig lo0 alias ADDRESS makes an address of 127.0.0.0/8 usable)", err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "target:", err)
		}
	}()
	t.server = server
	return nil
}
