package endpoint

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// chainHost returns N of a name at or below klb.N, where the label lies below the apex of the zone that the name
// is in; "" for other names. Names there are those of the chain of N or *.N (rule 2.8).
func chainHost(apex, name string) (n string) {
	if !strings.Contains(name, KLB) {
		return "" // by far the most
	}
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if rest, ok := strings.CutPrefix(name[off:], KLB); ok && len(rest) >= len(apex) {
			n = rest
		}
	}
	return n
}

// GroupKey returns the name that decides who may publish at a host: the host itself, less a leading "*.", or what lies above its
// last label that begins with _ (rule 5.9). What is decided at once is by these.
func GroupKey(host string) string {
	key := rdata.Base(host)
	if at := lastUnderscored(key); at >= 0 {
		if above, ok := rdata.Parent(key[at:]); ok {
			return above
		}
	}
	return key
}

// Underscored reports whether a name, or a pattern, has a label that begins with _.
func Underscored(name string) bool { return lastUnderscored(name) >= 0 }

// lastUnderscored returns where in a name its last label that begins with _ does; -1 for none.
func lastUnderscored(name string) int {
	last := -1
	if !strings.Contains(name, "_") {
		return last // by far the most
	}
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if strings.HasPrefix(name[off:], "_") {
			last = off
		}
	}
	return last
}

// TrimDot returns a name as people write it: without its final dot.
func TrimDot(name string) string { return strings.TrimSuffix(name, ".") }
