package endpoint

import (
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// chainHost returns N for a name at or below klb.N whose klb label lies below the apex of its zone; "" for other names. Such names belong
// to the chain of N or *.N (rule 2.8).
func chainHost(apex, name string) (n string) {
	if !strings.Contains(name, KLB) {
		return "" // almost always
	}
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if rest, ok := strings.CutPrefix(name[off:], KLB); ok && len(rest) >= len(apex) {
			n = rest
		}
	}
	return n
}

// GroupKey returns the name of the group that a host belongs to: the host without a leading "*.". Hosts with one key are decided together,
// because they may share a chain (rule 2.8).
func GroupKey(host string) string { return rdata.Base(host) }

// AboveUnderscored returns the part of a name after its last label that begins with _; the name itself if it has none. Its owner decides who
// may publish at the name (rule 5.9).
func AboveUnderscored(name string) string {
	if at := lastUnderscored(name); at >= 0 {
		above, _ := rdata.Parent(name[at:])
		return above
	}
	return name
}

// Underscored reports whether a name, or a pattern, has a label that begins with _.
func Underscored(name string) bool { return lastUnderscored(name) >= 0 }

// lastUnderscored returns the index of a name's last label that begins with _; -1 for none.
func lastUnderscored(name string) int {
	last := -1
	if !strings.Contains(name, "_") {
		return last // almost always
	}
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if strings.HasPrefix(name[off:], "_") {
			last = off
		}
	}
	return last
}

// TrimDot returns a name without its final dot, as people write it.
func TrimDot(name string) string { return strings.TrimSuffix(name, ".") }
