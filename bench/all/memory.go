//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// memory knows a server's garbage collector, through the plugin pprof, which is
// in a server block of its own.
//
// With a large heap, collections are seconds apart and take a good part of one.
// Which block's queries are under way just then would decide the measurement. So
// the queries of a slice are asked between two collections, and the collection
// that they will cause is added by calculation: for each byte that a query
// allocates, its share in the cost of the collection that comes when as many
// bytes were allocated as the heap has room for.
type memory struct {
	server *process.Process
	url    string
	client http.Client
	// perByte is what one byte allocated costs in garbage collection, in
	// nanoseconds of CPU.
	perByte float64
	// overhead is what asking for stats allocates, in bytes.
	overhead float64
	// collections is how many there had been after collect.
	collections uint64
}

// memoryStats is what the Go runtime of the server says.
type memoryStats struct {
	allocated   uint64 // since the start
	live, next  uint64 // heap now, and at which the next collection starts
	collections uint64
}

func openMemory(server *process.Process, address string) (*memory, error) {
	m := &memory{server: server, url: "http://" + address + "/debug/pprof/heap", client: http.Client{Timeout: time.Minute}}
	const times = 5
	var costs, overheads []float64
	for range times {
		plain, err := m.cost(m.url + "?debug=1")
		if err != nil {
			return nil, err
		}
		whole, err := m.cost(m.url + "?debug=1&gc=1")
		if err != nil {
			return nil, err
		}
		stats, err := m.stats()
		if err != nil {
			return nil, err
		}
		if stats.next <= stats.live {
			return nil, fmt.Errorf("heap of %d bytes after a collection, and the next at %d", stats.live, stats.next)
		}
		costs = append(costs, float64(whole-plain)/float64(stats.next-stats.live))
		bytes, err := m.allocated(func() error { return nil })
		if err != nil {
			return nil, err
		}
		overheads = append(overheads, bytes)
	}
	slices.Sort(costs)
	slices.Sort(overheads)
	m.perByte, m.overhead = costs[times/2], overheads[times/2]
	return m, nil
}

// cost returns the CPU time of one request.
func (m *memory) cost(url string) (time.Duration, error) {
	before, err := m.server.CPU()
	if err != nil {
		return 0, err
	}
	if err := m.get(url, func(io.Reader) error { return nil }); err != nil {
		return 0, err
	}
	after, err := m.server.CPU()
	return after - before, err
}

func (m *memory) get(url string, read func(io.Reader) error) error {
	r, err := m.client.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, r.Status)
	}
	if err := read(r.Body); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// collect collects all garbage.
func (m *memory) collect() error {
	if err := m.get(m.url+"?gc=1", func(io.Reader) error { return nil }); err != nil {
		return err
	}
	s, err := m.stats()
	m.collections = s.collections
	return err
}

// undisturbed tells whether no garbage was collected since collect.
func (m *memory) undisturbed() (bool, error) {
	s, err := m.stats()
	return s.collections == m.collections, err
}

// allocated returns how many bytes the server allocates while f runs.
func (m *memory) allocated(f func() error) (float64, error) {
	before, err := m.stats()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := m.stats()
	return float64(after.allocated-before.allocated) - m.overhead, err
}

// stats reads the runtime.MemStats that stand at the end of a heap profile in
// the form of a text.
func (m *memory) stats() (s memoryStats, err error) {
	fields := map[string]*uint64{
		"TotalAlloc": &s.allocated, "HeapAlloc": &s.live, "NextGC": &s.next, "NumGC": &s.collections,
	}
	err = m.get(m.url+"?debug=1", func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), " = ")
			field := fields[name]
			if field == nil {
				continue
			}
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return err
			}
			*field = n
			delete(fields, name)
		}
		return lines.Err()
	})
	if err == nil && len(fields) > 0 {
		err = errors.New("the heap profile does not end with the runtime's statistics")
	}
	return s, err
}
