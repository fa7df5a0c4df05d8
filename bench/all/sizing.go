//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/objects"
)

// sizingOptions are how many objects of each kind partSizing starts a server over.
type sizingOptions struct{ hosts, steered, records int }

// recordZone is where Records lie.
const recordZone = "records.example."

func recordName(i int) string { return fmt.Sprintf("r%07d.%s", i, recordZone) }

// measureSizing starts a server over objects, and prints what that takes: memory, CPU time until the last name is answered,
// and the state on disk. docs/operations.md has its figures.
func measureSizing(o options) error {
	free, err := freeAddresses(1)
	if err != nil {
		return err
	}
	var state string
	s, err := start(o, -1, func(dir string) (string, error) {
		state = filepath.Join(dir, "state")
		return fmt.Sprintf(".:%s {\n    bind 127.0.0.1\n    kuadrant %s %s %s {\n        manifests %s/all\n        state %s\n"+
				"        zone-namespaces dns\n    }\n}\n", port(free[0]), objects.Zone, objects.FlatZone, recordZone, dir, state),
			writeManifests(filepath.Join(dir, "all"), o.sizingOptions.objects)
	}, answered(free[0], o.last()))
	if err != nil {
		return err
	}
	defer s.stop()
	cpu, err := s.process.CPU()
	if err != nil {
		return err
	}
	var size int64
	if err := s.process.Await("state", time.Minute, func() error {
		info, err := os.Stat(filepath.Join(state, "kuadrant-state.json"))
		if err == nil {
			size = info.Size()
		}
		return err
	}); err != nil {
		return err
	}
	now, most, err := s.process.Memory()
	if err == nil {
		fmt.Printf("memory %d MiB, at the most %d MiB; CPU until the last name was answered %.1f s; state on disk %.1f MB\n",
			now>>20, most>>20, cpu.Seconds(), float64(size)/1e6)
	}
	return err
}

// last returns a name that is there when all are.
func (s sizingOptions) last() string {
	switch {
	case s.records > 0:
		return recordName(s.records - 1)
	case s.steered > 0:
		return objects.Host(s.steered-1, objects.FlatZone)
	case s.hosts > 0:
		return objects.Host(s.hosts-1, objects.Zone)
	}
	return objects.Zone // which has an SOA
}

// objects yields the objects in JSON.
func (s sizingOptions) objects(yield func(string) bool) {
	for text := range manifests((&sceneSet{simple: s.hosts, steered: s.steered}).objects) {
		if !yield(text) {
			return
		}
	}
	if s.records > 0 && !yield(zoneObject("Zone", "zone", fmt.Sprintf(`"domainName":%q,"delegations":[{"records":[{"pattern":"*"}]}]`, recordZone))) {
		return
	}
	for i := range s.records {
		spec := fmt.Sprintf(`"domainName":%q,"type":"A","rdata":"10.%d.%d.%d"`, recordName(i), i>>16&255, i>>8&255, i&255)
		if !yield(zoneObject("Record", fmt.Sprintf("r%07d", i), spec)) {
			return
		}
	}
}
