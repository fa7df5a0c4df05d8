//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/checks"
	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// Trials of bin/coredns, which are measured after those of a prober alone.
const (
	trialServer  = "server"  // with as many targets, beside itself with probes off
	trialQueries = "queries" // asked for names that are checked, and that are not
)

// checkedReport is what measuring bin/coredns with health checks gives.
type checkedReport struct {
	// Off is the server with probes off, On the one that checks.
	Off, On serverFigures
	Queries wholeReport
}

// serverFigures are what one server with many targets has used.
type serverFigures struct {
	Windows []checks.Window
	Memory  []int64 // at the end of each window, in bytes
	Most    int64   // the most it has held
}

// benchServer is bin/coredns with objects of its own.
type benchServer struct {
	process *process.Process
	dir     string
	dns     string // the address that it answers at
	metrics string
}

// measureChecked measures bin/coredns and writes a checkedReport. This process is
// the one that the load comes from.
func measureChecked(o wholeOptions, out io.Writer) error {
	cpu, cpus, err := pinLoad(o)
	if err != nil {
		return err
	}
	var ports checks.Ports
	if err := json.Unmarshal([]byte(o.ports), &ports); err != nil {
		return fmt.Errorf("read the ports: %w", err)
	}
	report := checkedReport{Queries: wholeReport{CPUs: cpus}}
	if o.wants(trialServer) {
		if report.Off, err = measureServer(o, cpu, ports, false); err != nil {
			return fmt.Errorf("server with probes off: %w", err)
		}
		if report.On, err = measureServer(o, cpu, ports, true); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if o.wants(trialQueries) {
		if err := measureQueries(o, cpu, ports, &report.Queries); err != nil {
			return fmt.Errorf("queries: %w", err)
		}
	}
	return json.NewEncoder(out).Encode(report)
}

// check is the healthCheck of a policy, in JSON.
func check(p health.Protocol, ports checks.Ports, interval time.Duration) string {
	path := ""
	if p == health.HTTP {
		path = `,"path":"/healthz"`
	}
	return fmt.Sprintf(`{"protocol":%q,"port":%d,"interval":"%v"%s}`, strings.ToUpper(p.String()), ports[p], interval, path)
}

// startIn gives a server a directory, and has begin start it.
func startIn(begin func(*benchServer) error) (*benchServer, error) {
	dir, err := os.MkdirTemp("", "kuadrant-bench")
	if err != nil {
		return nil, err
	}
	s := &benchServer{dir: dir}
	if err := begin(s); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// start starts bin/coredns with these objects, and waits for an answer.
func (s *benchServer) start(o wholeOptions, cpu int, list []objects.Object, zones []string, property string) error {
	free, err := freeAddresses(2)
	if err != nil {
		return err
	}
	s.dns, s.metrics = free[0], free[1]
	manifests, mmdb, corefile := filepath.Join(s.dir, "manifests"), filepath.Join(s.dir, "geo.mmdb"), filepath.Join(s.dir, "Corefile")
	if err := writeManifests(manifests, list); err != nil {
		return err
	}
	data, err := geotest.Encode(geotest.City, geotest.Places())
	if err != nil {
		return err
	}
	var keys strings.Builder
	for _, z := range zones {
		fmt.Fprintf(&keys, "%s:%s ", z, port(s.dns))
	}
	text := fmt.Sprintf(`%s{
    bind 127.0.0.1
    prometheus %s
    kuadrant {
        manifests %s bench
        geoip %s
        answer flatten
        %s
    }
}
`, keys.String(), s.metrics, manifests, mmdb, property)
	if err := errors.Join(os.WriteFile(mmdb, data, 0o644), os.WriteFile(corefile, []byte(text), 0o644)); err != nil {
		return err
	}
	if s.process, err = process.Start(cpu, filepath.Join(s.dir, "log"), o.binary, "-conf", corefile); err != nil {
		return err
	}
	return s.process.Await("answers", time.Minute, func() error {
		q := new(dns.Msg)
		q.SetQuestion(list[0].Host, dns.TypeA)
		m, err := exchange(s.dns, sources[0], q)
		if err == nil && m.Rcode != dns.RcodeSuccess {
			err = errors.New(dns.RcodeToString[m.Rcode])
		}
		return err
	})
}

func (s *benchServer) stop() {
	if s.process != nil {
		s.process.Stop()
	}
	_ = os.RemoveAll(s.dir) // a directory for temporary files
}

// checksSoFar returns how many checks have ended, and how many of them well.
func (s *benchServer) checksSoFar() (all, good int, err error) {
	m := memory{url: "http://" + s.metrics + "/metrics"}
	m.client.Timeout = time.Minute
	err = m.get(m.url, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, " ")
			labels, ok := strings.CutPrefix(name, "coredns_kuadrant_probe_duration_seconds_count")
			if !ok {
				continue
			}
			var n float64
			if _, err := fmt.Sscan(value, &n); err != nil {
				return err
			}
			all += int(n)
			if strings.Contains(labels, `result="success"`) {
				good += int(n)
			}
		}
		return err
	})
	return all, good, err
}

// settle waits until so many checks have ended. One that did not succeed is an
// error.
func (s *benchServer) settle(targets int) error {
	return s.process.Await("first checks of all targets", time.Minute, func() error {
		time.Sleep(200 * time.Millisecond) // telling its metrics is work, too
		all, good, err := s.checksSoFar()
		if err == nil && (all < targets || good < all) {
			err = fmt.Errorf("%d of %d checks have succeeded, %d are wanted", good, all, targets)
		}
		return err
	})
}

// window returns what the server uses in a span of time.
func (s *benchServer) window(span time.Duration) (w checks.Window, err error) {
	all, good, err := s.checksSoFar()
	if err != nil {
		return w, err
	}
	before, err := s.process.CPU()
	if err != nil {
		return w, err
	}
	began := time.Now()
	time.Sleep(span)
	after, err := s.process.CPU()
	if err != nil {
		return w, err
	}
	w.Took, w.CPU = time.Since(began), after-before
	allNow, goodNow, err := s.checksSoFar()
	w.Checks, w.Good = allNow-all, goodNow-good
	if err == nil && w.Good < w.Checks {
		err = fmt.Errorf("%d of %d checks did not succeed:\n%s", w.Checks-w.Good, w.Checks, s.process.Log())
	}
	return w, err
}

// measureServer runs bin/coredns with the targets of the first trial.
func measureServer(o wholeOptions, cpu int, ports checks.Ports, on bool) (f serverFigures, err error) {
	plan := trials[0].plan
	list, targets := manyTargets(plan, ports)
	property, windows, span := "probes off", 3, 2*time.Second
	if on {
		property, windows, span = "probe-allow "+checks.Loopback.String(), 2, plan.Interval
	}
	s, err := startIn(func(s *benchServer) error { return s.start(o, cpu, list, []string{objects.Zone}, property) })
	if err != nil {
		return f, err
	}
	defer s.stop()
	if on {
		if err := s.settle(targets); err != nil {
			return f, err
		}
	}
	for range windows {
		w, err := s.window(span)
		if err != nil {
			return f, err
		}
		var now int64
		if now, f.Most, err = s.process.Memory(); err != nil {
			return f, err
		}
		f.Windows, f.Memory = append(f.Windows, w), append(f.Memory, now)
	}
	return f, nil
}

// manyTargets returns Gateways with as many targets as the plan has, and how many
// that are.
func manyTargets(plan checks.Plan, ports checks.Ports) (list []objects.Object, targets int) {
	for _, p := range plan.Protocols {
		for at := 0; at < plan.Each; at += checks.PerNet {
			o := objects.Simple(len(list))
			o.HealthCheck = check(p, ports, plan.Interval)
			o.Address = checks.Address(p, at).String()
			for i := at + 1; i < min(at+checks.PerNet, plan.Each); i++ {
				o.More = append(o.More, checks.Address(p, i).String())
			}
			list, targets = append(list, o), targets+1+len(o.More)
		}
	}
	return list, targets
}

// The blocks of measureQueries are names in one server block: blockKuadrant those
// that are checked.
const blockUnchecked = "without healthCheck"

// hostsChecked is how many hosts of each kind are asked for.
const hostsChecked = 1000

// Zones of the names that are checked, beside objects.Zone and objects.FlatZone,
// and of their length.
const checkedZone, checkedFlatZone = "six.example.com.", "ten.example.com."

// measureQueries asks for names that are checked and for the same without. The
// checks are an hour apart: what they cost is measured elsewhere.
func measureQueries(o wholeOptions, cpu int, ports checks.Ports, report *wholeReport) error {
	list, targets := pairs(check(health.TCP, ports, time.Hour))
	zones := []string{objects.Zone, objects.FlatZone, checkedZone, checkedFlatZone}
	s, err := startIn(func(s *benchServer) error {
		return s.start(o, cpu, list, zones, "probe-allow "+checks.Loopback.String())
	})
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.settle(targets); err != nil {
		return err
	}
	names := func(zone string) [][]byte {
		return queries(hostsChecked, func(i int) string { return objects.Host(i, zone) })
	}
	one := load.Expect{Answers: 1}
	set := sceneSet{scenes: []scene{
		{name: "simple", queries: names(objects.Zone), blocks: []sceneBlock{
			{name: blockUnchecked, want: one}, {name: blockKuadrant, want: one, queries: names(checkedZone)},
		}},
		{name: "flatten", queries: names(objects.FlatZone), blocks: []sceneBlock{
			{name: blockUnchecked, want: one}, {name: blockKuadrant, want: one, queries: names(checkedFlatZone)},
		}},
	}}
	place := &site{
		addresses: map[string]string{blockUnchecked: s.dns, blockKuadrant: s.dns},
		servers:   map[string]*process.Process{blockUnchecked: s.process, blockKuadrant: s.process},
	}
	if err := set.check(place); err != nil {
		return err
	}
	report.Windows, err = set.rounds(o, place)
	return err
}

// pairs returns hosts of each kind, once without checks and once with, and how
// many targets the latter are.
func pairs(check string) (list []objects.Object, targets int) {
	for i := range hostsChecked {
		plain, steered := objects.Simple(i), objects.Steered(i, objects.FlatZone)
		list = append(list, plain, steered[0], steered[1])
		for _, o := range []objects.Object{plain, steered[0], steered[1]} {
			o.Host = objects.Host(i, checkedZone)
			if o.Geo != "" {
				o.Host = objects.Host(i, checkedFlatZone)
			}
			o.Number += 1_000_000 // which no other has
			o.HealthCheck, o.Address = check, checks.Address(health.TCP, targets).String()
			list, targets = append(list, o), targets+1
		}
	}
	return list, targets
}
