//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// benchServer is a process in a directory of its own.
type benchServer struct {
	process *process.Process
	dir     string
}

// start starts bin/coredns as launch does.
func start(o options, cpu int, write func(dir string) (config string, err error), ready func() error) (*benchServer, error) {
	return launch(cpu, o.binary, "-conf $dir/config", write, ready)
}

// launch starts a program with the configuration that write returns, which writes all else that it names, and waits until ready
// returns nil. The configuration is the file config in $dir, a directory of the program's own.
func launch(cpu int, binary, args string, write func(dir string) (config string, err error), ready func() error) (*benchServer, error) {
	dir, err := os.MkdirTemp("", "kuadrant-bench")
	if err != nil {
		return nil, err
	}
	s := &benchServer{dir: dir}
	text, err := write(dir)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config"), []byte(text), 0o644)
	}
	if err == nil {
		s.process, err = process.Start(cpu, filepath.Join(dir, "log"), binary, strings.Fields(strings.ReplaceAll(args, "$dir", dir))...)
	}
	if err == nil {
		err = s.process.Await("answers", 5*time.Minute, ready)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *benchServer) stop() {
	if s.process != nil {
		s.process.Stop()
	}
	_ = os.RemoveAll(s.dir) // a directory for temporary files
}

// writeGeo writes a small database, in which 127.0.100.0/24 is in Europe and 127.0.200.0/24 in North America.
func writeGeo(dir string) (path string, err error) {
	data, err := geotest.Encode(geotest.City, geotest.Places())
	path = filepath.Join(dir, "geo.mmdb")
	return path, errors.Join(err, os.WriteFile(path, data, 0o644))
}

// writeManifests writes objects in JSON, in files of 10,000 each: a file has 64 MiB at the most.
func writeManifests(dir string, list iter.Seq[string]) error {
	const perFile = 10_000
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	files, held := 0, 0
	flush := func() error {
		files, held = files+1, 0
		defer b.Reset()
		return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.json", files)), b.Bytes(), 0o644)
	}
	for object := range list {
		b.WriteString(object + "\n")
		if held++; held == perFile {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// manifests yields Gateways with their policies and providers, in JSON.
func manifests(list iter.Seq[objects.Object]) iter.Seq[string] {
	return func(yield func(string) bool) {
		provided := make(map[string]bool) // namespaces
		for o := range list {
			if !provided[o.Namespace()] {
				provided[o.Namespace()] = true
				if !yield(string(o.Provider())) {
					return
				}
			}
			if !yield(string(o.Gateway())) || !yield(string(o.Policy())) {
				return
			}
		}
	}
}

// freeAddresses returns n addresses on loopback whose ports are free for UDP and
// TCP.
func freeAddresses(n int) ([]string, error) {
	var list []string
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // until all are found, so that each is another
		c, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			continue
		}
		defer c.Close()
		if list = append(list, l.Addr().String()); len(list) == n {
			return list, nil
		}
	}
	return nil, errors.New("too few ports of 127.0.0.1 are free for UDP and TCP")
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// exchange asks one query from a source address.
func exchange(server, source string, q *dns.Msg) (*dns.Msg, error) {
	c := dns.Client{Timeout: time.Second, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(source)}}}
	m, _, err := c.Exchange(q, server)
	return m, err
}

// answered returns what fails until a name has an address.
func answered(server, name string) func() error {
	return func() error {
		m, err := exchange(server, sources[0], new(dns.Msg).SetQuestion(name, dns.TypeA))
		if err == nil && m.Rcode != dns.RcodeSuccess {
			err = fmt.Errorf("%s: %s", name, dns.RcodeToString[m.Rcode])
		}
		return err
	}
}
