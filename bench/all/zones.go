//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/bench/load"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// The blocks of measureZones are two servers with as many names each: blockKuadrant the
// one with many zones.
const (
	blockFew  = "10 zones"
	fewZones  = 10
	manyZones = 10_000
	zonesRoot = "many.example."
)

// measureQueriesOfZones measures queries to a server with many zones beside one with few, and
// writes a wholeReport. This process is the one that the load comes from.
func measureQueriesOfZones(o options, out io.Writer) error {
	cpu, cpus, err := pinLoad()
	if err != nil {
		return err
	}
	report := wholeReport{CPUs: cpus}
	place := newSite()
	s := scene{name: "zones"}
	for block, zones := range map[string]int{blockFew: fewZones, blockKuadrant: manyZones} {
		free, err := freeAddresses(1)
		if err != nil {
			return err
		}
		server, err := start(o, cpu, func(dir string) (string, error) {
			return fmt.Sprintf("%s:%s {\n    bind 127.0.0.1\n    kuadrant {\n        manifests %s/all bench\n    }\n}\n", zonesRoot, port(free[0]), dir),
				writeManifests(filepath.Join(dir, "all"), zoneObjects(zones))
		}, answered(free[0], nameOfMany(manyZones-1, zones)))
		if err != nil {
			return fmt.Errorf("%d zones: %w", zones, err)
		}
		defer server.stop()
		place.addresses[block], place.servers[block] = free[0], server
		s.blocks = append(s.blocks, sceneBlock{
			name: block, want: load.Expect{Answers: 1}, queries: queries(manyZones, func(i int) string { return nameOfMany(i, zones) }),
		})
	}
	set := sceneSet{name: "zones", scenes: []scene{s}}
	if err := set.check(place.addresses); err != nil {
		return err
	}
	if report.Windows, err = set.rounds(o, place); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(report)
}

// nameOfMany is the i-th of manyZones names, which lie in that many zones. All are of one
// length.
func nameOfMany(i, zones int) string {
	return fmt.Sprintf("h%04d.z%04d.%s", i/zones, i%zones, zonesRoot)
}

// zoneObject returns an object of kubi.zone in JSON.
func zoneObject(kind, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":%q,"metadata":{"namespace":"dns","name":%q},"spec":{%s}}`, kind, name, spec)
}

// zoneObjects are a Zone that delegates a number of zones, these, and a Record for
// each name.
func zoneObjects(zones int) iter.Seq[string] {
	list := []string{zoneObject("Zone", "root", fmt.Sprintf(`"domainName":%q,"delegations":[{"zones":["*"]}]`, zonesRoot))}
	for i := range zones {
		list = append(list, zoneObject("Zone", fmt.Sprintf("z%04d", i),
			fmt.Sprintf(`"domainName":"z%04d","zoneRef":{"name":"root"},"delegations":[{"records":[{"pattern":"*"}]}]`, i)))
	}
	for i := range manyZones {
		list = append(list, zoneObject("Record", fmt.Sprintf("r%d", i),
			fmt.Sprintf(`"domainName":"h%04d","zoneRef":{"name":"z%04d"},"type":"A","rdata":"10.1.%d.%d"`, i/zones, i%zones, i>>8&255, i&255)))
	}
	return slices.Values(list)
}

// measureZones measures zones of many Records, and many zones.
func (r *report) measureZones() error {
	for _, b := range []benchmark{
		{"./records", "^BenchmarkStaticZone$/^rrs=1000000$", "5x"},
		{"./records", "^BenchmarkStaticChange$", "20000x"},
		{"./records", "^BenchmarkStaticHiders$", "10000x"},
		{"./records", "^BenchmarkStaticLookup$", "1000000x"},
		{"./records", "^BenchmarkZoneMatch$", "5000000x"},
		{"./internal/source", "^BenchmarkKubernetesRecords$", "1x"},
	} {
		if err := r.gotest(b); err != nil {
			return err
		}
	}
	return measureByLoad(roleZones, &r.zones)
}

// printZones writes the figures of zones and their records.
func (r *report) printZones(w io.Writer) {
	zone := r.figures("StaticZone/rrs=1000000")
	s := zone.spread("cpu-s")
	row(w, "first compile of a zone of 1,000,000 Records", "≤ 10 s CPU", "%.2f s", s, s.AtMost(10))
	s = zone.spread("B/record")
	row(w, "the same, live heap for a Record, beyond the objects", "≤ 700 B", "%.0f B", s, s.AtMost(700))
	few, many := r.figures("StaticChange/rrs=1000").spread("cpu-µs"), r.figures("StaticChange/rrs=1000000").spread("cpu-µs")
	row(w, "one Record changed among 1,000, of several types", "≤ 200 µs CPU", "%.0f µs", few, few.AtMost(200))
	row(w, "one Record changed among 1,000,000, of several types", "≤ 200 µs CPU", "%.0f µs", many, many.AtMost(200))
	for _, rtype := range []string{"NS", "DNAME"} {
		s = r.figures("StaticHiders/" + rtype + "/rrs=1000000").spread("cpu-µs")
		row(w, "one "+rtype+" Record below the apex, new or gone, among 1,000,000", "≤ 200 µs CPU", "%.0f µs", s, s.AtMost(200))
	}
	for _, kind := range []struct{ name, what string }{{"A", "look-up of an address"}, {"NXDOMAIN", "look-up of a name that is not there"}} {
		few, many := r.figures("StaticLookup/"+kind.name+"/rrs=1000").spread("cpu-ns"), r.figures("StaticLookup/"+kind.name+"/rrs=1000000").spread("cpu-ns")
		row(w, kind.what+" among 1,000 records", "", "%.0f ns", few, "")
		row(w, "the same among 1,000,000", "", "%.0f ns", many, "")
		row(w, "from 1,000 to 1,000,000", "", "%.1f times", growth(few, many), "")
	}
	match := r.figures("ZoneMatch")
	row(w, "zone match alone, 10 zones", "", "%.0f ns", match.spread("few-ns"), "")
	row(w, "zone match alone, 10,000 zones", "", "%.0f ns", match.spread("many-ns"), "")
	ratio := match.spread("ratio")
	row(w, "from 10 to 10,000", "≤ 1.00 times", "%.2f times", ratio, ratio.AtMost(1))
	if len(r.zones.Windows) > 0 {
		cpu, _ := r.zones.ratios("zones", blockKuadrant, blockFew)
		s = stats.Of(cpu)
		row(w, "query for an A Record, 10,000 zones beside 10, as many names", "≤ 1.00", "%.2f", s, s.AtMost(1))
	} else {
		r.missing = append(r.missing, "queries among zones")
	}
	m := r.figures("KubernetesRecords")
	s = exactly(m["cpu-s/op"])
	row(w, "100,000 Records from a real API server, until the first publish", "≤ 60 s CPU", "%.2f s", s, s.AtMost(60))
}
