package rdata

import (
	"slices"

	"github.com/miekg/dns"
)

// NSEC returns the NSEC record of a name in the zone of an origin, where these types exist. It says nothing of other names: the next name
// is the very next one that there can be (RFC 9824 §3.1). ttl is in seconds.
func NSEC(name, origin string, ttl uint32, types []uint16) *dns.NSEC {
	types = slices.Clone(types)
	slices.Sort(types)
	return &dns.NSEC{Hdr: Header(name, dns.TypeNSEC, ttl), NextDomain: next(name, origin), TypeBitMap: slices.Compact(types)}
}

// next returns the first name after name in the canonical order of a zone (RFC 4034 §6.1): \000 below it, if that is not too long.
func next(name, origin string) string {
	const first = "\\000."
	switch {
	case name == ".":
		return first
	case len(name) < MaxName-1: // its last dot included
		return first + name
	}
	var wire [MaxWireName]byte
	end, err := dns.PackDomainName(name, wire[:], 0, nil, false)
	if err != nil || end+2 <= MaxWireName {
		return first + name
	}
	return nextBeside(wire[:end], origin)
}

// nextBeside returns the first name after a name, on the wire, that has no names below it because they would be too long (RFC 4471
// §3.1.2). It is the origin after the last name (RFC 4034 §4.1.1).
func nextBeside(name []byte, origin string) string {
	var own [MaxWireName]byte
	length, err := dns.PackDomainName(origin, own[:], 0, nil, false)
	for err == nil && len(name) > length {
		label, rest := name[1:1+name[0]], name[1+name[0]:]
		if len(label) < MaxLabel && len(name) < MaxWireName {
			return text(append(slices.Clip(label), 0), rest)
		}
		for last := len(label) - 1; last >= 0; last-- { // not bytes.TrimRight, which trims runes
			if label[last] < 0xff {
				return text(append(slices.Clip(label[:last]), after(label[last])), rest)
			}
		}
		name = rest
	}
	return origin
}

// after returns the octet after c in the canonical order, in which capital letters are small ones.
func after(c byte) byte {
	if c+1 == 'A' {
		return 'Z' + 1
	}
	return c + 1
}

// text returns the name of a label and what follows it on the wire.
func text(label, rest []byte) string {
	name, _, err := dns.UnpackDomainName(slices.Concat([]byte{byte(len(label))}, label, rest), 0)
	if err != nil {
		panic(err) // it was packed, and is no longer than it may be
	}
	return name
}
