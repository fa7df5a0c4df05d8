package zone

import (
	"iter"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Uncovered returns the problem that name, or one above it, exists without addresses because of what is at name, so that a wildcard that has
// addresses does not answer for it (rule 5.3, RFC 4592 §2.2.2); nil for none.
func (z *Zone) Uncovered(name string) *endpoint.Problem {
	if z == nil || z.wildcards == 0 {
		return nil // almost always
	}
	at, wildcard := z.uncovered(name)
	if wildcard == "" {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonUncovered, "the wildcard %s does not answer for %s, because %s exists: publish addresses for it, too",
		endpoint.TrimDot(wildcard), endpoint.TrimDot(at), endpoint.TrimDot(name))
}

// uncovered returns the name that exists without addresses because of what is at name, and the wildcard; "" for none.
func (z *Zone) uncovered(name string) (at, wildcard string) {
	for at = name; at != z.Origin(); at, _ = rdata.Parent(at) {
		n := z.Node(at)
		if n == nil || n.Unserved {
			return "", ""
		}
		turns := n.Cut || OfType(n.Static, dns.TypeNS) != nil || OfType(n.Static, dns.TypeDNAME) != nil
		switch {
		case at == name && turns:
			continue // what it has is elsewhere
		case turns, at != name && n.addressed():
			return "", ""
		}
		if by := z.wildcardBeside(at); by != "" && !n.addressed() && !endpoint.Underscored(at) {
			return at, by
		}
	}
	return "", ""
}

// wildcardBeside returns the wildcard with addresses that would answer for a name if that did not exist; "" for none.
func (z *Zone) wildcardBeside(name string) string {
	up, _ := rdata.Parent(name)
	if above := z.Node(up); !strings.HasPrefix(name, rdata.Wildcard) && above != nil && above.wild.addressed() {
		return above.wild.Name
	}
	return ""
}

// WhyUncovered returns the problem that a name, or the closest one above it that exists, takes itself out of a wildcard, by what is at it or
// below it; nil for none.
func (z *Zone) WhyUncovered(name string) *endpoint.Problem {
	for z.Node(name) == nil {
		name, _ = rdata.Parent(name)
	}
	switch {
	case z.wildcards == 0 || name == z.Origin() || z.wildcardBeside(name) == "":
		return nil
	case z.Node(name).HasData():
		return z.Uncovered(name)
	}
	for below := range z.DeepBelow(name) {
		if at, _ := z.uncovered(below); at == name && z.Node(below).HasData() {
			return z.Uncovered(below)
		}
	}
	return nil
}

// addressed reports whether the node, which may be nil, has addresses or a CNAME, or may have them as its owner cannot be read.
func (n *Node) addressed() bool {
	if n == nil || n.Unserved {
		return false
	}
	for _, rtype := range [...]uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} {
		if OfType(n.Static, rtype) != nil {
			return true
		}
	}
	data := n.Steered.Data
	return n.Unread() || data != nil && (data.Has(pool.A) || data.Has(pool.AAAA) || data.Has(pool.CNAME))
}

// UncoveredBy yields the names whose Uncovered differs from that in z, the version before, because of a name in which the two differ.
func (z *Zone) UncoveredBy(name string, before *Zone) iter.Seq[string] {
	return func(yield func(string) bool) {
		if z.wildcards+before.wildcards == 0 || z.Node(name).addressed() == before.Node(name).addressed() || !z.mayCover(name) && !before.mayCover(name) {
			return // almost always
		}
		base := rdata.Base(name)
		direct := strings.Count(base, ".") + 1
		for at := range z.DeepBelow(base) {
			if base != name && strings.Count(at, ".") == direct && z.Node(at).addressed() {
				continue // the wildcard does not answer for it, which is what its object wants
			}
			now, by := z.uncovered(at)
			was, wasBy := before.uncovered(at)
			if (now != was || by != wasBy) && !yield(at) {
				return
			}
		}
		if base == name && z.Node(name) != nil {
			yield(name)
		}
	}
}

// mayCover reports whether a name is a wildcard, or below a name that has one.
func (z *Zone) mayCover(name string) bool {
	if strings.HasPrefix(name, rdata.Wildcard) {
		return true
	}
	for at := name; at != z.Origin(); {
		at, _ = rdata.Parent(at)
		if n := z.Node(at); n != nil && n.wild != nil {
			return true
		}
	}
	return false
}
