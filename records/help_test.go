package records_test

import (
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// lookup asks a snapshot for a name from nowhere.
func lookup(s *records.Snapshot, name string, qtype uint16, random uint64) (a records.Answer) {
	q := records.Query{Name: name, Owner: name, Type: qtype, Random: random, Locator: recordstest.Network}
	s.Lookup(s.Zone(name), &q, &a)
	return a
}
