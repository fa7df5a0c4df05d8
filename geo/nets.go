package geo

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// Nets maps networks to codes, as the file of the Corefile's `nets` line says
// (rule 3.4). It is immutable, and a Locator by itself. The nil Nets is empty.
type Nets struct {
	v4, v6 spans
	count  int
}

var _ Locator = (*Nets)(nil)

// spans cuts one address family into ranges in which every address has the
// same codes: range i reaches from start[i] to just before start[i+1]. Ranges
// that meet have different codes, so each is as large as it can be.
//
// Ranges instead of a trie: a look-up then needs one binary search, and the network with one result
// around an address follows from its two ends.
type spans struct {
	start []key
	codes []*Codes // nil if no network of the file holds the range
}

// Limits on what a file may hold, so that a wrong file cannot fill the memory.
const (
	maxNets     = 1 << 20 // networks
	maxNetsLine = 4 << 10 // octets in a line
)

// network is one line of the file.
type network struct {
	prefix netip.Prefix
	code   string
	line   int
}

// ParseNets reads lines of a network and a code, "192.0.2.0/24 IE", separated by blanks; "#" starts
// a comment. The longest network that holds an address counts. A code must pass Check, in upper or
// lower case. Errors begin with name and the line number.
func ParseNets(name string, r io.Reader) (*Nets, error) {
	var all []network
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, maxNetsLine), maxNetsLine)
	line := 0
	for scan.Scan() {
		line++
		n, ok, err := parseNet(scan.Text())
		if err == nil && len(all) == maxNets {
			err = fmt.Errorf("more than %d networks", maxNets)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if ok {
			n.line = line
			all = append(all, n)
		}
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: line longer than %d octets", name, line+1, maxNetsLine)
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return newNets(name, all)
}

// parseNet parses one line; ok is false if it is empty.
func parseNet(line string) (n network, ok bool, err error) {
	line, _, _ = strings.Cut(line, "#")
	fields := strings.Fields(line)
	switch len(fields) {
	case 0:
		return network{}, false, nil
	case 2:
	default:
		return network{}, false, fmt.Errorf("want a network and a code, such as 192.0.2.0/24 IE, found %.60q", strings.Join(fields, " "))
	}
	p, err := netip.ParsePrefix(fields[0])
	if err != nil {
		if a, aerr := netip.ParseAddr(fields[0]); aerr == nil && a.Zone() == "" {
			return network{}, false, fmt.Errorf("%s is an address, not a network; write %s/%d", a, a, a.BitLen())
		}
		return network{}, false, fmt.Errorf("%.60q is not a network such as 192.0.2.0/24 or 2001:db8::/32", fields[0])
	}
	if p.Addr().Is4In6() {
		// Clients are looked up unmapped, so a mapped network would never match.
		if p.Bits() < 96 {
			return network{}, false, fmt.Errorf("%s has more than IPv4-mapped addresses; write IPv4 networks in IPv4 form", p)
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return network{}, false, fmt.Errorf("%s has bits set past its length; write %s", p, p.Masked())
	}
	if err := Check(fields[1]); err != nil {
		return network{}, false, err
	}
	return network{prefix: p, code: strings.ToUpper(fields[1])}, true, nil
}

func newNets(name string, all []network) (*Nets, error) {
	slices.SortStableFunc(all, func(a, b network) int {
		return cmp.Or(a.prefix.Addr().Compare(b.prefix.Addr()), cmp.Compare(a.prefix.Bits(), b.prefix.Bits()))
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.prefix == b.prefix && a.code != b.code {
			return nil, fmt.Errorf("%s:%d: %s is %s here but %s in line %d", name, b.line, b.prefix, b.code, a.code, a.line)
		}
	}
	n := &Nets{count: len(all)}
	shared := make(map[string]*Codes)
	v6 := slices.IndexFunc(all, func(n network) bool { return n.prefix.Addr().Is6() })
	if v6 < 0 {
		v6 = len(all)
	}
	n.v4 = cut(all[:v6], shared)
	n.v6 = cut(all[v6:], shared)
	return n, nil
}

// cut turns the networks of one family, sorted by address and then length, into
// ranges. shared holds the Codes of each code, so that equal ones are one
// pointer.
func cut(all []network, shared map[string]*Codes) spans {
	if len(all) == 0 {
		return spans{}
	}
	type open struct {
		last  key
		codes *Codes
	}
	var (
		s     spans
		stack []open // the networks around the current address, the innermost last
	)
	s.add(key{}, nil)
	last := lowBits(all[0].prefix.Addr().BitLen()) // of the family
	leave := func() {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.last == last {
			return
		}
		var around *Codes
		if len(stack) > 0 {
			around = stack[len(stack)-1].codes
		}
		s.add(top.last.next(), around)
	}
	for _, n := range all {
		first := keyOf(n.prefix.Addr())
		for len(stack) > 0 && stack[len(stack)-1].last.less(first) {
			leave()
		}
		codes := shared[n.code]
		if codes == nil {
			codes = parse(n.code)
			shared[n.code] = codes
		}
		s.add(first, codes)
		host := n.prefix.Addr().BitLen() - n.prefix.Bits()
		stack = append(stack, open{last: first.or(lowBits(host)), codes: codes})
	}
	for len(stack) > 0 {
		leave()
	}
	return s.merged()
}

// add begins a range. It replaces the previous range if that begins at the same address, and so is
// empty.
func (s *spans) add(start key, codes *Codes) {
	if n := len(s.start); n > 0 && s.start[n-1] == start {
		s.codes[n-1] = codes
		return
	}
	s.start = append(s.start, start)
	s.codes = append(s.codes, codes)
}

// merged joins ranges that meet and have the same codes.
func (s *spans) merged() spans {
	var out spans
	for i, codes := range s.codes {
		if n := len(out.codes); n > 0 && out.codes[n-1] == codes {
			continue
		}
		out.add(s.start[i], codes)
	}
	out.start, out.codes = slices.Clip(out.start), slices.Clip(out.codes)
	return out
}

// Len returns the number of networks of both families.
func (n *Nets) Len() int {
	if n == nil {
		return 0
	}
	return n.count
}

// Locate implements Locator. It ignores the need: a network has the codes that the file gives it.
func (n *Nets) Locate(addr netip.Addr, _ Need) (codes *Codes, bits int) {
	addr = addr.Unmap()
	if n.Len() == 0 || !addr.IsValid() {
		return &none, 0
	}
	codes, bits = n.lookup(addr)
	if codes == nil {
		codes = &none
	}
	return codes, max(bits, familyBits(addr))
}

// lookup returns the codes of the longest network that holds addr, nil if there is none, and the
// length of the largest network around addr with that result for every address. addr is valid and
// unmapped.
func (n *Nets) lookup(addr netip.Addr) (codes *Codes, bits int) {
	s := &n.v6
	if addr.Is4() {
		s = &n.v4
	}
	if len(s.start) < 2 {
		if len(s.start) == 1 {
			return s.codes[0], 0
		}
		return nil, 0
	}
	k := keyOf(addr)
	lo, hi := 0, len(s.start) // start[lo] <= k < start[hi]
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		if k.less(s.start[mid]) {
			hi = mid
		} else {
			lo = mid
		}
	}
	// A network stays within the range if it holds neither the address before
	// the range nor the one after it.
	unused := 128 - addr.BitLen()
	if lo > 0 {
		bits = k.common(s.start[lo].prev()) + 1 - unused
	}
	if hi < len(s.start) {
		bits = max(bits, k.common(s.start[hi])+1-unused)
	}
	return s.codes[lo], bits
}
