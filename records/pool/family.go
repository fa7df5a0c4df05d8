package pool

import "github.com/miekg/dns"

// Family is what a query needs of a member.
type Family uint8

// The families.
const (
	A Family = iota
	AAAA
	CNAME
	numFamilies
	Other = numFamilies // any other type: a member has only the CNAMEs of its answers
)

// types are the types of the families.
var types = [numFamilies]uint16{A: dns.TypeA, AAAA: dns.TypeAAAA, CNAME: dns.TypeCNAME}

// FamilyOf returns the family of a type; ok is false for Other.
func FamilyOf(rtype uint16) (f Family, ok bool) {
	switch rtype {
	case dns.TypeA:
		return A, true
	case dns.TypeAAAA:
		return AAAA, true
	case dns.TypeCNAME:
		return CNAME, true
	}
	return Other, false
}
