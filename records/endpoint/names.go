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

// GroupKey returns the name that decides who may publish at a host: the host itself, less a leading "*." and labels that
// begin with _ (rule 5.9). What is decided at once is by these.
func GroupKey(host string) string {
	key := rdata.Base(host)
	for strings.HasPrefix(key, "_") {
		above, ok := rdata.Parent(key)
		if !ok {
			break
		}
		key = above
	}
	return key
}

// Underscored reports whether a name lies below another one with labels that begin with _.
func Underscored(name string) bool { return strings.HasPrefix(rdata.Base(name), "_") }

// TrimDot returns a name as people write it: without its final dot.
func TrimDot(name string) string { return strings.TrimSuffix(name, ".") }
