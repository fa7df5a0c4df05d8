// Package inspect explains a snapshot to people: why an answer is as it is, which names and targets
// exist, which objects conflict. The console and kdns show its results, whose JSON form is the API
// of both (docs/console.md). It is pure except for the health cells that it reads: no clock, I/O or
// goroutine.
package inspect

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// View answers questions about one snapshot. Any number of goroutines may use one.
type View struct {
	Snapshot *records.Snapshot
	// Locator locates clients; nil for none.
	Locator geo.Locator
	// LocatorOf returns the Locator for a name, with a final dot, if Locator is nil; nil for none.
	LocatorOf func(name string) geo.Locator
	// Random returns the draw of an explanation; nil for a constant one.
	Random func() uint64
	// Held are the held removals, by zone, with a final dot; nil for none.
	Held map[string]int
	// Since returns when a target entered its state, by its key; nil, or a zero time, if unknown.
	Since func(key string) time.Time
	// FaultySince returns since when an object is not fully served; nil, or a zero time, if unknown.
	FaultySince func(records.Object) time.Time
}

// date dates a check's result.
func (v *View) date(checks []records.CheckState) {
	for i := range checks {
		if key := checks[i].Key(); v.Since != nil && key != "" {
			checks[i].Since = v.Since(key).UTC()
		}
	}
}

// RequestError is the error of an invalid question.
type RequestError struct {
	// Field is the wrong part of the question, such as "name" or "from".
	Field string
	// Text says in a sentence what is wrong and what to write.
	Text string
	// NotFound is true if the question is valid, but its subject does not exist.
	NotFound bool
}

// Error names the field and what is wrong.
func (e *RequestError) Error() string { return e.Field + ": " + e.Text }

// wrong returns a RequestError about a field.
func wrong(field, format string, args ...any) error {
	return &RequestError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// missing returns the RequestError for a missing subject.
func missing(field, format string, args ...any) error {
	return &RequestError{Field: field, Text: fmt.Sprintf(format, args...), NotFound: true}
}

// IsRequest reports whether err is a *RequestError, and returns it.
func IsRequest(err error) (of *RequestError, ok bool) {
	ok = errors.As(err, &of)
	return of, ok
}

// ParseName reads a domain name, with or without its final dot, in any case. It returns it in lower
// case with a final dot.
func ParseName(text string) (string, error) {
	const field = "name"
	switch name := strings.TrimSpace(text); {
	case name == "":
		return "", wrong(field, "write a name, such as app.example.com")
	case len(name) > maxName:
		return "", wrong(field, "longer than the %d characters of a name", maxName)
	case api.NotASCII(name) != "":
		return "", wrong(field, "%.100q %s", text, api.NotASCII(name))
	case strings.Contains(name, "://") || spaced(name):
		return "", wrong(field, "%.100q is not a domain name; write app.example.com, without https:// or a path", text)
	default:
		// As messages spell it: octets have several spellings.
		var octets [255]byte
		n, err := dns.PackDomainName(dns.Fqdn(name), octets[:], 0, nil, false)
		plain := ""
		if err == nil {
			plain, _, err = dns.UnpackDomainName(octets[:n], 0)
		}
		if err != nil {
			return "", wrong(field, "%.100q is not a domain name", text)
		}
		return strings.ToLower(plain), nil
	}
}

// spaced reports whether a name has a space that is not escaped.
func spaced(name string) bool {
	for i := range len(name) {
		if name[i] == ' ' && (i == 0 || name[i-1] != '\\') {
			return true
		}
	}
	return false
}

// maxName bounds the text of a name, in characters: each of 255 octets may take four.
const maxName = 4 * 255

// ParseType reads a type, such as A or TYPE65; "" is A.
func ParseType(text string) (uint16, error) {
	const field = "type"
	upper := strings.ToUpper(strings.TrimSpace(text))
	if upper == "" {
		return dns.TypeA, nil
	}
	t, ok := api.ParseType(upper)
	switch {
	case !ok || t == dns.TypeNone:
		return 0, wrong(field, "%.20q is not a type; write A, AAAA, CNAME or TXT, for example, or TYPE and a number", text)
	case t == dns.TypeAXFR || t == dns.TypeIXFR || t == dns.TypeOPT || t == dns.TypeTSIG || t == dns.TypeTKEY ||
		t == dns.TypeMAILA || t == dns.TypeMAILB:
		return 0, wrong(field, "%s is not a type of data; write A, AAAA, CNAME or TXT, for example", upper)
	}
	return t, nil
}

// zone returns the zone that answers for a type at a name.
func (v *View) zone(name string, rtype uint16) (*records.Zone, error) {
	z := v.Snapshot.ZoneOf(name, rtype)
	if z == nil {
		return nil, missing("name", "%s is in no zone served here; the zones are %s", trim(name), v.zoneNames())
	}
	return z, nil
}

// mostZones bounds the zones that a message names.
const mostZones = 10

func (v *View) zoneNames() string {
	var names []string
	for _, z := range v.Snapshot.Zones() {
		if len(names) == mostZones {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(v.Snapshot.Zones())-mostZones)
		}
		names = append(names, trim(z.Origin()))
	}
	return strings.Join(names, ", ")
}

// Question is one query, as a user writes it.
type Question struct {
	Name string // with or without a final dot
	Type string // "" for A
	// From is where the client is: an address, a network, or a geo code, which represents a network of the geo databases
	// that has it, or a client there without further data; "" for an unknown client.
	From string
}

// Explain explains the answer to a question. The error is a *RequestError.
func (v *View) Explain(q Question) (*records.Explanation, error) {
	query, z, err := v.query(q)
	if err != nil {
		return nil, err
	}
	if v.Random != nil {
		query.Random = v.Random()
	}
	var a records.Answer
	x := v.Snapshot.Explain(z, &query, &a)
	if _, placed := query.Locator.(*place); placed { // no address or network is known
		x.Client, x.Scope = netip.Addr{}, 0
		if x.Location != nil {
			x.Location.Network = netip.Prefix{}
		}
	}
	for i := range x.Steps {
		for j := range x.Steps[i].Addresses {
			v.date(x.Steps[i].Addresses[j].Checks)
		}
	}
	return x, nil
}

// query returns a question as a snapshot's query, and the zone to ask. The error is a
// *RequestError.
func (v *View) query(q Question) (query records.Query, z *records.Zone, err error) {
	if query.Name, err = ParseName(q.Name); err != nil {
		return query, nil, err
	}
	query.Owner = query.Name
	if query.Type, err = ParseType(q.Type); err != nil {
		return query, nil, err
	}
	if strings.TrimSpace(q.From) != "" {
		query.Locator = v.Locator
		if query.Locator == nil && v.LocatorOf != nil {
			query.Locator = v.LocatorOf(query.Name)
		}
		network, err := parseClient(q.From, query.Locator)
		switch at := geo.Client(strings.TrimSpace(q.From)); {
		case err == nil:
			query.Client = network.Addr()
		case at == nil || query.Locator == nil:
			return query, nil, err
		default:
			query.Client, query.Locator = netip.IPv4Unspecified(), (*place)(at)
		}
	}
	z, err = v.zone(query.Name, query.Type)
	return query, z, err
}

// zonesOf returns the zones of a filter, sorted by name.
func (v *View) zonesOf(zone string) ([]*records.Zone, error) {
	all := slices.SortedFunc(slices.Values(v.Snapshot.Zones()),
		func(a, b *records.Zone) int { return strings.Compare(a.Origin(), b.Origin()) })
	if zone == "" {
		return all, nil
	}
	name, err := ParseName(zone)
	if err != nil {
		return nil, wrong("zone", "%.100q is not a domain name", zone)
	}
	i := slices.IndexFunc(all, func(z *records.Zone) bool { return z.Origin() == name })
	if i < 0 {
		return nil, missing("zone", "no zone %s here; the zones are %s", trim(name), v.zoneNames())
	}
	return all[i : i+1], nil
}

// parseClient reads where a client is: an address, a network, or a geo code, which represents a network that has it in the
// databases. The error is a *RequestError.
func parseClient(text string, in geo.Locator) (netip.Prefix, error) {
	const field = "from"
	text = strings.TrimSpace(text)
	if p, err := netip.ParsePrefix(text); err == nil {
		p = p.Masked()
		if first := p.Addr(); first.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(first.Unmap(), p.Bits()-96)
		}
		return p, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err := geo.Check(text); err != nil {
		if text == "" || strings.ContainsAny(text, ".:/ ") {
			return netip.Prefix{}, wrong(field, "%.60q is neither an address nor a network; write 192.0.2.1, 192.0.2.0/24, 2001:db8::1 or a "+
				"geo code such as FR", text)
		}
		return netip.Prefix{}, wrong(field, "%.60q is neither an address nor a network; the %v", text, err)
	}
	db, ok := in.(finder)
	if !ok {
		return netip.Prefix{}, wrong(field, "no geo database to find a network of %s in; write an address or a network", text)
	}
	network, ok := db.Find(strings.ToUpper(text))
	if !ok {
		return netip.Prefix{}, wrong(field, "the geo databases have no network of %s; write an address or a network", text)
	}
	return network, nil
}

// place is a Locator of one place.
type place geo.Codes
