// Package geo locates clients: it turns an address into the codes of a place and the length of the
// network that shares them (rules 3.1 to 3.6).
//
// A DB asks a file of networks first and then databases in the MaxMind format.
// All of it is held in memory and looked up without locks.
package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Codes are the codes of one place, most specific first, indexed by the Code
// constants; "" if unknown. A Codes that was handed out is never modified.
type Codes [4]string

// The indexes of a Codes, in the order in which codes are matched (rule 3.2).
const (
	CodeAS          = iota // AS number: "AS64500"
	CodeSubdivision        // ISO 3166-2: "US-CA"
	CodeCountry            // ISO 3166-1 alpha-2: "US"
	CodeContinent          // "GEO-NA"
)

// none are the codes of an unknown client.
var none Codes

// Need says which sources matter for a name. Only those are consulted, so that an AS database does
// not narrow the scope of an answer that no AS number can change.
type Need uint8

// The needs; they are bits.
const (
	NeedPlace Need = 1 << iota // subdivision, country and continent
	NeedAS                     // AS number
)

// Locator finds where a client is. Any number of goroutines may use one at a
// time.
type Locator interface {
	// Locate returns the codes of addr, and bits: every address of addr's network
	// of that length has the same codes. It is the longest prefix length among the
	// networks consulted (rule 3.6), 0..32 for an IPv4 address and 0..128 for an
	// IPv6 one. An IPv4-mapped address is that IPv4 address, and bits count within
	// IPv4: a caller that answers an ECS option of family 2 adds 96.
	//
	// 0 means that nothing was consulted. Otherwise bits are at least 1, even
	// where a whole address family has one answer: a scope of 0 would let a
	// resolver use it for the other family too (RFC 7871 §7.3.1).
	//
	// Codes that were not needed may be "". codes is never nil, and must not be modified. Locate
	// does not allocate.
	Locate(addr netip.Addr, need Need) (codes *Codes, bits int)
}

// FromCodes builds Codes from another source, such as the metadata of CoreDNS's geoip plugin (rule
// 3.5). Any argument may be "". as is "AS64500" or "64500". subdivision is "US-CA", or "CA" beside
// country; the first of a comma list counts. continent is "NA" or "GEO-NA". Case does not matter.
// Invalid codes are left out; a missing continent follows from the country, a missing country from
// the subdivision.
func FromCodes(as, subdivision, country, continent string) *Codes {
	c := new(Codes)
	digits := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(as)), "AS")
	if n, err := strconv.ParseUint(digits, 10, 32); err == nil {
		c[CodeAS] = asCode(n)
	}
	sub, _, _ := strings.Cut(subdivision, ",")
	c.setPlace(upper(continent), upper(country), upper(sub))
	return c
}

func upper(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// setPlace sets everything but the AS number. The arguments are in upper case.
func (c *Codes) setPlace(continent, country, subdivision string) {
	place, rest, full := strings.Cut(subdivision, "-")
	if full && country == "" {
		country = place
	}
	if full && place == country {
		subdivision = rest
	}
	// Country databases write the continent where they know no country.
	if country == "EU" && continent == "" {
		continent = country
	}
	if iso, ok := countries[country]; ok {
		c[CodeCountry] = iso.Code
		if wellFormedPart(subdivision) {
			c[CodeSubdivision] = iso.Code + "-" + subdivision
		}
		c[CodeContinent] = iso.Continent
	}
	if geo, ok := continents[strings.TrimPrefix(continent, geoPrefix)]; ok {
		c[CodeContinent] = geo
	}
}

// asCode returns the code of AS number n, "" for 0, which RFC 7607 reserves and databases write for
// networks that are not routed.
func asCode(n uint64) string {
	if n == 0 || n > maxAS {
		return ""
	}
	return "AS" + strconv.FormatUint(n, 10)
}

// maxAS is the highest AS number (RFC 6793).
const maxAS = 1<<32 - 1

// parse returns the Codes for one code: itself and what it implies. code is valid (Check) and in
// upper case.
func parse(code string) *Codes {
	switch {
	case isAS(code):
		return FromCodes(code, "", "", "")
	case strings.HasPrefix(code, geoPrefix):
		return FromCodes("", "", "", code)
	case strings.Contains(code, "-"):
		return FromCodes("", code, "", "")
	}
	return FromCodes("", "", code, "")
}

// Client returns the codes of a client that matches a code, and of which only that is known; nil if
// no client can (rule 3.2). Case does not matter.
func Client(code string) *Codes {
	if Check(code) != nil {
		return nil
	}
	return parse(upper(code))
}

// isAS distinguishes an AS number from the country AS, American Samoa.
func isAS(code string) bool {
	return len(code) > 2 && strings.HasPrefix(code, "AS") && code[2] >= '0' && code[2] <= '9'
}

// wellFormedPart reports whether s can follow the country in an ISO 3166-2 code:
// one to three letters or digits.
func wellFormedPart(s string) bool {
	if len(s) < 1 || len(s) > 3 {
		return false
	}
	for i := range len(s) {
		if (s[i] < 'A' || s[i] > 'Z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

const (
	geoPrefix   = "GEO-"
	continentsS = "GEO-AF, GEO-AN, GEO-AS, GEO-EU, GEO-NA, GEO-OC or GEO-SA"
)

// Check reports whether code can ever match a client (rule 3.2). It returns nil
// for a continent (GEO-EU), an ISO 3166-1 alpha-2 country (IE), a well-formed
// ISO 3166-2 subdivision of such a country (US-CA) and an AS number (AS64500),
// in upper or lower case. Otherwise the error says what to write instead. "*",
// which stands for everybody, is no place and is refused.
func Check(code string) error {
	u := strings.ToUpper(code)
	if _, ok := countries[u]; ok {
		return nil
	}
	var hint string
	switch {
	case u == "":
		return errors.New("geo code is empty; write a continent such as GEO-EU, a country such as IE, " +
			"a subdivision such as US-CA or an AS number such as AS64500")
	case u == "*":
		hint = "it means everywhere, not a place"
	case isAS(u):
		hint = hintAS(u)
	case strings.HasPrefix(u, geoPrefix):
		hint = hintContinent(u[len(geoPrefix):])
	case strings.Contains(u, "-"):
		hint = hintSubdivision(u)
	default:
		hint = hintCountry(u)
	}
	if hint == "" {
		return nil
	}
	return fmt.Errorf("geo code %.20q matches no client: %s", code, hint)
}

// The classes that hold other than one place.
const (
	ClassNone    = "*"
	ClassUnknown = "unknown"
	ClassAS      = "ASN"
)

// Class returns the word under which a code is counted, one of about 500: tenants write codes,
// which are unbounded. It is the code itself for a continent or a country, "US-*" for a country's
// subdivisions, "ASN" for AS numbers, "unknown" for what Check refuses, and "*" for itself and for
// no code.
func Class(code string) string {
	u := strings.ToUpper(code)
	switch {
	case u == "", u == "*":
		return ClassNone
	case Check(u) != nil:
		return ClassUnknown
	case isAS(u):
		return ClassAS
	case strings.HasPrefix(u, geoPrefix):
		return continents[u[len(geoPrefix):]]
	}
	place, _, part := strings.Cut(u, "-")
	if place = countries[place].Code; part {
		return place + "-*"
	}
	return place
}

func hintAS(u string) string {
	n, err := strconv.ParseUint(u[2:], 10, 32)
	switch {
	case err != nil:
		return "an AS number is AS and a number up to 4294967295"
	case n == 0:
		return "AS0 is reserved"
	case asCode(n) != u:
		return "write " + asCode(n)
	}
	return ""
}

func hintContinent(u string) string {
	if _, ok := continents[u]; ok {
		return ""
	}
	if better, ok := notCountries[u]; ok {
		u = better
	}
	if iso, ok := countries[u]; ok {
		return fmt.Sprintf("%s is a country; write %s, or %s for its continent", u, u, iso.Continent)
	}
	return "the continents are " + continentsS
}

func hintSubdivision(u string) string {
	country, part, _ := strings.Cut(u, "-")
	if _, ok := countries[country]; !ok {
		return hintCountry(country)
	}
	if !wellFormedPart(part) {
		return "a subdivision is a country, a hyphen and one to three letters or digits (ISO 3166-2), for example US-CA"
	}
	return ""
}

func hintCountry(u string) string {
	if better, ok := notCountries[u]; ok {
		return "write " + better
	}
	if geo, ok := continents[u]; ok {
		return "write " + geo + " for the continent"
	}
	if len(u) != 2 {
		return "a country has two letters (ISO 3166-1 alpha-2), for example CA; the continents are " + continentsS
	}
	return "there is no such country in ISO 3166-1; the continents are " + continentsS
}
