//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// healthOptions are how health checks are measured.
type healthOptions struct {
	trial   string // only that one; "" for all
	ports   string // of the servers, in JSON
	profile string // a directory for profiles of each prober, "" for none
}

func (o *healthOptions) wants(trial string) bool { return o.trial == "" || o.trial == trial }

// trial is one prober in a process of its own.
type trial struct {
	name, what string
	plan       checks.Plan
}

// The trials. The first is the one with targets.
var trials = []trial{
	{"tcp+http", "half TCP and half HTTP", checks.Plan{Each: 10_000, Protocols: []health.Protocol{health.TCP, health.HTTP}, Interval: 10 * time.Second, Windows: 3}},
	{"tcp", "TCP", checks.Plan{Each: 2_000, Protocols: []health.Protocol{health.TCP}, Interval: 2 * time.Second, Windows: 3}},
	{"http", "HTTP", checks.Plan{Each: 2_000, Protocols: []health.Protocol{health.HTTP}, Interval: 2 * time.Second, Windows: 3}},
	{"https", "HTTPS", checks.Plan{Each: 1_000, Protocols: []health.Protocol{health.HTTPS}, Interval: 4 * time.Second, Windows: 3}},
	{"grpc", "gRPC", checks.Plan{Each: 1_000, Protocols: []health.Protocol{health.GRPC}, Interval: 4 * time.Second, Windows: 3}},
}

// healthReport is what measuring health checks gives.
type healthReport struct {
	probers map[string]*checks.Figures // by trial
	checked checkedReport
}

// pinHere keeps this process on the first CPU or the last one, if that is wanted
// and there are several.
func pinHere(o wholeOptions, last bool) error {
	cpus := process.CPUs()
	if !o.pin || os.Getenv(pinned) != "" || len(cpus) < 2 {
		return nil
	}
	cpu := cpus[0]
	if last {
		cpu = cpus[len(cpus)-1]
	}
	return process.PinSelf(cpu, fmt.Sprintf("%s=%d", pinned, cpu))
}

// serveTargets runs the servers until the other side of in, which is the process
// that has started this one, is gone.
func serveTargets(o wholeOptions, in io.Reader, out io.Writer) error {
	if err := pinHere(o, true); err != nil {
		return err
	}
	ports, ca, err := checks.Serve()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(serving{ports, ca}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// serving says where servers are, and who has signed their certificate.
type serving struct {
	Ports checks.Ports
	CA    []byte
}

// servers is a process with servers that are checked.
type servers struct {
	serving
	cmd *exec.Cmd
	in  io.Closer
}

func startServers() (*servers, error) {
	cmd, err := self(roleServers)
	if err != nil {
		return nil, err
	}
	s := &servers{cmd: cmd}
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.in = in
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.serving)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the servers: %w", err), s.stop())
	}
	return s, nil
}

func (s *servers) stop() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// measureHealth runs the trials one after the other.
func (r *report) measureHealth(o wholeOptions) error {
	s, err := startServers()
	if err != nil {
		return err
	}
	defer s.stop()
	ca, err := os.CreateTemp("", "kuadrant-bench-*.pem")
	if err != nil {
		return err
	}
	defer os.Remove(ca.Name())
	_, err = ca.Write(s.CA)
	if err := errors.Join(err, ca.Close()); err != nil {
		return err
	}
	ports, err := json.Marshal(s.Ports)
	if err != nil {
		return err
	}
	measure := func(role, trial string, into any) error {
		cmd, err := self(role, "-ports", string(ports), "-trial", trial)
		if err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+ca.Name())
		out, err := output(cmd)
		if err != nil {
			return err
		}
		return json.Unmarshal(out, into)
	}
	r.health.probers = make(map[string]*checks.Figures)
	for _, t := range trials {
		if !o.wants(t.name) {
			continue
		}
		r.health.probers[t.name] = new(checks.Figures)
		if err := measure(roleProber, t.name, r.health.probers[t.name]); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if o.wants(trialServer) || o.wants(trialQueries) {
		return measure(roleChecked, o.trial, &r.health.checked)
	}
	return nil
}

// probe is one trial, in this process: it writes checks.Figures.
func probe(o wholeOptions, out io.Writer) error {
	if err := pinHere(o, false); err != nil {
		return err
	}
	for _, t := range trials {
		if t.name != o.trial {
			continue
		}
		if err := json.Unmarshal([]byte(o.ports), &t.plan.Ports); err != nil {
			return fmt.Errorf("read the ports: %w", err)
		}
		end, err := profiled(o.profile, t.name)
		if err != nil {
			return err
		}
		f, err := t.plan.Measure(context.Background())
		if err := errors.Join(err, end()); err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(f)
	}
	return fmt.Errorf("no trial %q", o.trial)
}

// profiled begins a CPU profile in dir, unless that is "". The function that it
// returns ends it, and writes one of the heap.
func profiled(dir, name string) (func() error, error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(filepath.Join(dir, name+".cpu"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		runtime.GC()
		heap, err := os.Create(filepath.Join(dir, name+".heap"))
		if err != nil {
			return errors.Join(err, file.Close())
		}
		return errors.Join(file.Close(), pprof.Lookup("heap").WriteTo(heap, 0), heap.Close())
	}, nil
}
