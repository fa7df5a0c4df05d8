//go:build linux

// Package process runs a server for benchmarks and reads from the operating
// system what it has used.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a server process.
type Process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how it ended, once done
}

// Start starts a binary on one CPU, or anywhere with cpu < 0; all its threads
// stay there. What it prints goes into the file log.
func Start(cpu int, log, binary string, args ...string) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := startOn(cpu, cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	p := &Process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Stop ends the process, and waits until it has ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Await asks again and again until ready returns nil. It fails where the process
// ends before, or the time is over.
func (p *Process) Await(what string, limit time.Duration, ready func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the server ended: %w\n%s", errors.Join(p.err, err), p.Log())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no %s in %v: %w\n%s", what, limit, err, p.Log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Log returns the end of what the process has printed.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const most = 4 << 10
	return string(text[max(0, len(text)-most):])
}

// Self returns the process that this is, to be read and not to be stopped.
func Self() (*Process, error) {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	return &Process{cmd: &exec.Cmd{Process: p}}, nil
}
