//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/internal/direct"
)

const (
	// consoleHosts is how many hosts the server has, each in two continents.
	consoleHosts = 10_000
	// consoleWindow is how long queries are put to the server at a time, consoleSpent how long the
	// console is flooded before: what it has saved up of the time that it may take is spent then.
	consoleWindow = 8 * time.Second
	consoleSpent  = 40 * time.Second
	// consoleRun is how many queries go between two looks at the clock.
	consoleRun = 5000
	// floodClients is how many clients there are: as many as the console has connections, and some that wait.
	floodClients = 80
)

// consoleReport is what queries cost while the console is flooded.
type consoleReport struct {
	CPUs string
	// Beside is the rate of queries under a flood, as a part of the rate alone; First that of the first seconds of one.
	Beside, First []float64
	// Cores is the CPU time that a flood takes of the server, in cores, without queries.
	Cores []float64
	// Requests is how many requests of the flood were answered in a second, Refused the part of them with a 4xx.
	Requests, Refused float64
}

// measureConsole measures queries while the console is flooded with all that it does, and writes a consoleReport. This process
// is the one that the queries come from.
func measureConsole(o options, out io.Writer) error {
	cpu, cpus, err := pinLoad()
	if err != nil {
		return err
	}
	free, err := freeAddresses(2)
	if err != nil {
		return err
	}
	server, err := start(o, cpu, func(dir string) (string, error) {
		mmdb, err := writeGeo(dir)
		return fmt.Sprintf("%s:%s {\n    bind 127.0.0.1\n    kuadrant {\n        manifests %s/all bench\n        geoip %s\n        answer flatten\n"+
				"        console %s\n    }\n}\n", objects.FlatZone, port(free[0]), dir, mmdb, free[1]),
			errors.Join(err, writeManifests(filepath.Join(dir, "all"), manifests((&sceneSet{steered: consoleHosts}).objects)))
	}, answered(free[0], objects.Host(consoleHosts-1, objects.FlatZone)))
	if err != nil {
		return err
	}
	defer server.stop()
	g, err := load.Open(free[0], sources, outstanding)
	if err != nil {
		return err
	}
	defer g.Close()
	m := &consoleMeasure{
		server: server, generator: g, console: free[1],
		queries: queries(consoleHosts, func(i int) string { return objects.Host(i, objects.FlatZone) }),
	}
	report := consoleReport{CPUs: cpus}
	for range max(1, o.rounds/2) {
		if err := m.round(&report); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(report)
}

// consoleMeasure is what measureConsole works with.
type consoleMeasure struct {
	server    *benchServer
	generator *load.Generator
	console   string
	queries   [][]byte
}

// round measures queries alone, in the first seconds of a flood, and when the flood has spent what was saved up; then the flood alone,
// and queries alone once more: a machine becomes faster or slower within the minute.
func (m *consoleMeasure) round(r *consoleReport) error {
	if _, err := m.rate(); err != nil { // to warm up
		return err
	}
	alone, err := m.rate()
	if err != nil {
		return err
	}
	f, err := startFlood(m.console)
	if err != nil {
		return err
	}
	defer f.stop()
	first, err := m.rate()
	if err != nil {
		return err
	}
	time.Sleep(consoleSpent)
	beside, err := m.rate()
	if err != nil {
		return err
	}
	before, err := m.server.process.CPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	time.Sleep(consoleWindow)
	after, err := m.server.process.CPU()
	if err != nil {
		return err
	}
	took := time.Since(begin)
	r.Cores = append(r.Cores, (after-before).Seconds()/took.Seconds())
	if r.Requests, r.Refused, err = f.told(); err != nil {
		return err
	}
	again, err := m.rate()
	if err != nil {
		return err
	}
	alone = (alone + again) / 2
	r.First, r.Beside = append(r.First, first/alone), append(r.Beside, beside/alone)
	return nil
}

// rate returns how many queries a second the server answers in a window.
func (m *consoleMeasure) rate() (float64, error) {
	begin, n := time.Now(), 0
	for time.Since(begin) < consoleWindow {
		if err := m.generator.Run(consoleRun, m.queries, load.Expect{Answers: 1}); err != nil {
			return 0, err
		}
		n += consoleRun
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// flood is a process that asks the console for as much as it can.
type flood struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner
}

// startFlood starts one. It is less urgent than the process that the queries come from, which never waits.
func startFlood(console string) (*flood, error) {
	cmd, err := self(roleFlood, "-role", roleFlood, "-flood", console) // our own arguments have another role
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &flood{cmd, in, bufio.NewScanner(out)}, nil
}

// told ends the flood, and returns how many requests a second were answered, and which part of them was refused.
func (f *flood) told() (requests, refused float64, err error) {
	_ = f.in.Close()
	if !f.out.Scan() {
		return 0, 0, fmt.Errorf("the flood has told nothing: %w", f.out.Err())
	}
	_, err = fmt.Sscan(f.out.Text(), &requests, &refused)
	return requests, refused, err
}

func (f *flood) stop() {
	_ = f.in.Close()
	_ = f.cmd.Wait()
}

// floodNice is how much less urgent a flood is: it gets about a tenth of the CPU that it shares, which is more than the
// console lets it have.
const floodNice = 10

// floodConsole asks a console from many clients at a time until in ends, and writes how many requests a second it got answers to,
// and the part of them that were refused.
func floodConsole(console string, in io.Reader, out io.Writer) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, floodNice); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var answered, refused atomic.Int64
	begin := time.Now()
	var clients sync.WaitGroup
	for i := range floodClients {
		clients.Go(func() {
			client := direct.Client(new(http.Client))
			defer client.CloseIdleConnections()
			for n := i; ctx.Err() == nil; n++ {
				status, err := floodOnce(ctx, client, "http://"+console, n)
				if err != nil {
					continue
				}
				answered.Add(1)
				if status >= 400 {
					refused.Add(1)
				}
			}
		})
	}
	_, err := io.Copy(io.Discard, in)
	took := time.Since(begin).Seconds()
	all, less := answered.Load(), refused.Load()
	cancel()
	clients.Wait()
	if err != nil || all == 0 {
		return fmt.Errorf("the console has answered %d requests: %w", all, err)
	}
	_, err = fmt.Fprintln(out, float64(all)/took, float64(less)/float64(all))
	return err
}

// floodOnce asks for the n-th of what a console has, or is to refuse.
func floodOnce(ctx context.Context, client *http.Client, base string, n int) (status int, err error) {
	host := strings.TrimSuffix(objects.Host(n%consoleHosts, objects.FlatZone), ".")
	method, path, body := http.MethodGet, "/", io.Reader(http.NoBody)
	switch n % 8 {
	case 0:
		path = "/api/v1/explain?from=127.0.100.7&name=" + host
	case 1:
		path = "/api/v1/names?limit=1000&q=9"
	case 2:
		path = "/api/v1/world?name=" + host
	case 3:
		path = "/nothing/of/the/kind"
	case 4:
		path = "/api/v1/explain?name=" + url.QueryEscape(strings.Repeat("x", 300))
	case 5:
		pair := objects.Steered(n%consoleHosts, objects.FlatZone)
		method, path, body = http.MethodPost, "/api/v1/preview", bytes.NewReader(pair[0].Policy())
	case 6:
		path = "/names?q=" + host
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return 0, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/yaml")
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// printConsole writes the figures of the console.
func (r *report) printConsole(w io.Writer) {
	f := &r.console
	s := stats.Of(f.Beside)
	row(w, fmt.Sprintf("queries a second under a flood of requests to the console, %d hosts, one CPU", consoleHosts), "≥ 0.85 of the rate alone", "%.2f",
		s, s.AtLeast(0.85))
	row(w, "the same, in the first 8 s of the flood", "", "%.2f", stats.Of(f.First), "")
	row(w, "CPU that the flood takes of the server, without queries", "≤ 0.25 cores", "%.3f", stats.Of(f.Cores), stats.Of(f.Cores).AtMost(0.25))
	row(w, "requests of the flood that are answered in a second", "", "%.0f", stats.Of([]float64{f.Requests}), "")
	row(w, "the part of them that is refused", "", "%.2f", stats.Of([]float64{f.Refused}), "")
}
