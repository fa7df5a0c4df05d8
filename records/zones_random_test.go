package records

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// The universe of randomZone and randomRecord. Few names, so that cuts, DNAMEs, wildcards and
// zones meet; none is one that the server makes up.
var (
	oracleZones = []string{
		"example.org.", "a.example.org.", "b.a.example.org.", "c.b.example.org.", "example.net.", "b.a.example.net.",
	}
	oracleNames = []string{
		"example.org.", "a.example.org.", "b.a.example.org.", "c.b.a.example.org.", "*.a.example.org.", "b.example.org.",
		"c.b.example.org.", "*.b.example.org.", "*.example.org.", "x.*.example.org.", "a.c.b.example.org.", "example.net.",
		"a.example.net.", "*.a.example.net.", "b.a.example.net.", "*.example.net.", "a.*.example.net.",
	}
	oracleTargets = append([]string{
		"d.example.org.", "x.a.example.org.", "x.c.b.a.example.org.", "a.a.example.net.", "x.y.example.net.", "elsewhere.test.",
	}, oracleNames...)
)

// everything is a delegation that allows all.
var everything = []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}

// randomZone puts, replaces or deletes a Zone.
func (w *world) randomZone(r *rand.Rand) {
	name, cluster := fmt.Sprintf("dns/z%d", r.IntN(5)), r.IntN(2)
	if r.IntN(4) == 0 {
		w.setZone(cluster, name, nil)
		return
	}
	w.setZone(cluster, name, &api.Zone{
		Meta:       api.Meta{Created: int64(r.IntN(5))},
		DomainName: pick(r, oracleZones), Delegations: everything, TTL: uint32(100 + r.IntN(3)), Minimum: 10,
	})
}

// randomRecord puts, replaces or deletes a Record.
func (w *world) randomRecord(r *rand.Rand) {
	name, cluster := fmt.Sprintf("dns/r%d", r.IntN(30)), r.IntN(2)
	if r.IntN(6) == 0 {
		w.setRecord(cluster, name, nil)
		return
	}
	rec := &api.Record{Meta: api.Meta{Created: int64(r.IntN(5))}, DomainName: pick(r, oracleNames), Class: "IN", TTL: api.NoTTL}
	if r.IntN(3) == 0 {
		rec.TTL = int64(r.IntN(50))
	}
	kinds := []string{"A", "A", "TXT", "CNAME", "NS", "DNAME", "DS"}
	if strings.HasPrefix(rec.DomainName, rdata.Wildcard) {
		kinds = kinds[:4] // RFC 4592 §4 leaves the others at a wildcard open
	}
	rec.Type = pick(r, kinds)
	switch rec.Type {
	case "A":
		rec.RData = fmt.Sprintf("192.0.2.%d", 1+r.IntN(3))
	case "TXT":
		rec.RData = fmt.Sprintf("%q", fmt.Sprint(r.IntN(2)))
	case "DS":
		rec.RData = fmt.Sprintf("%d 13 2 %s", r.IntN(2), strings.Repeat("AB", 32))
	default:
		rec.RData = pick(r, oracleTargets)
	}
	w.setRecord(cluster, name, rec)
}
