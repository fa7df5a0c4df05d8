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
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// healthOptions are how a prober is measured: used by this program itself.
type healthOptions struct {
	trial string
	ports string // of the servers, in JSON
}

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

// pinHere keeps this process on the first CPU or the last one, where there
// are several.
func pinHere(last bool) error {
	cpus := process.CPUs()
	if os.Getenv(pinned) != "" || len(cpus) < 2 {
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
func serveTargets(in io.Reader, out io.Writer) error {
	if err := pinHere(true); err != nil {
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
func (r *report) measureHealth() error {
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
	r.probers = make(map[string]*checks.Figures)
	for _, t := range trials {
		cmd, err := self(roleProber, "-ports", string(ports), "-trial", t.name)
		if err != nil {
			return err
		}
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+ca.Name())
		out, err := output(cmd)
		r.probers[t.name] = new(checks.Figures)
		if err == nil {
			err = json.Unmarshal(out, r.probers[t.name])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// probe is one trial, in this process: it writes checks.Figures.
func probe(o options, out io.Writer) error {
	if err := pinHere(false); err != nil {
		return err
	}
	for _, t := range trials {
		if t.name != o.trial {
			continue
		}
		if err := json.Unmarshal([]byte(o.ports), &t.plan.Ports); err != nil {
			return fmt.Errorf("read the ports: %w", err)
		}
		f, err := t.plan.Measure(context.Background())
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(f)
	}
	return fmt.Errorf("no trial %q", o.trial)
}

// over returns the Spread of what each tells of a window.
func over(windows []checks.Window, each func(w *checks.Window) float64) stats.Spread {
	var list []float64
	for i := range windows {
		list = append(list, each(&windows[i]))
	}
	return stats.Of(list)
}

// printHealth writes the figures of health checks; those of the first trial have a target.
func (r *report) printHealth(w io.Writer) {
	for i, t := range trials {
		f := r.probers[t.name]
		what := fmt.Sprintf("%d targets checked every %.0f s, %s", f.Targets, f.Interval.Seconds(), t.what)
		var sizes []float64
		for _, n := range f.Memory {
			sizes = append(sizes, float64(n)/(1<<20))
		}
		memory := stats.Of(sizes)
		if i == 0 {
			busy := over(f.Windows, func(w *checks.Window) float64 { return w.CPU.Seconds() / w.Took.Seconds() })
			row(w, what+", by a prober alone", "≤ 0.5 of a CPU", "%.2f of a CPU", busy, busy.AtMost(0.5))
			row(w, "the same, memory of the process", "≤ 200 MiB", "%.0f MiB", memory, memory.AtMost(200))
			most := exactly(float64(f.Most) / (1 << 20))
			row(w, "the same, the most it has held", "≤ 200 MiB", "%.0f MiB", most, most.AtMost(200))
			late := over(f.Windows, func(w *checks.Window) float64 { return w.Late.Seconds() })
			late.Median = late.Max
			row(w, "the same, by how much the latest check began after its time", "≤ 1 s", "%.2f s", late, late.AtMost(1))
			row(w, "the same in the first round, 2,500 checks a second", "", "%.2f s", exactly(f.First.Late.Seconds()), "")
			row(w, "the same, until the first round was over", "", "%.2f s", exactly(f.First.Took.Seconds()), "")
		}
		row(w, "CPU for one check, "+what, "", "%.0f µs",
			over(f.Windows, func(w *checks.Window) float64 { return float64(w.CPU.Microseconds()) / float64(max(w.Checks, 1)) }), "")
		if i > 0 {
			row(w, "the same, memory of the process", "", "%.0f MiB", memory, "")
		}
	}
}
