package records

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// klbLabel starts the names below a host that hold its steering records.
const klbLabel = "klb."

// groupKey returns the name that all claims which can contend with a claim on
// host share: the part of H' that follows its last label "klb", or H' itself.
// A weightedGeo claim on a host takes klb.H' and all below it (rule 5.7), so a
// host below some klb.H' contends with claims on H'.
func groupKey(host string) string {
	key := rdata.Base(host)
	for off, end := 0, false; !end; off, end = dns.NextLabel(key, off) {
		if rest, ok := strings.CutPrefix(key[off:], klbLabel); ok && rest != "" {
			return groupKey(rest)
		}
	}
	return key
}
