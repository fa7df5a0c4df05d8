package records

import (
	"errors"
	"strings"
)

var (
	errSubstitution = errors.New("the expression is not a delimiter, what is looked for, the delimiter, what stands in for it, the delimiter, and i or nothing, such as !^.*$!sip:info@example.net! (RFC 3402 §3.2)")
	errERE          = errors.New("what the expression looks for is no extended regular expression (RFC 3402 §3.2, POSIX)")
	errBackref      = errors.New("what stands in for a match refers to parentheses that are not there: it has \\1 to \\9 (RFC 3402 §3.2)")
)

// checkSubstitution tells what is wrong with the expression of a NAPTR record (RFC 3402 §3.2).
// An empty one is none.
func checkSubstitution(text string) error {
	if text == "" {
		return nil
	}
	delimiter := text[0]
	if delimiter == 0 || delimiter == '\\' || delimiter == 'i' || delimiter >= '0' && delimiter <= '9' {
		return errSubstitution
	}
	var parts [3]string
	rest := text[1:]
	for i := range 2 {
		end := unescaped(rest, delimiter)
		if end < 0 {
			return errSubstitution
		}
		parts[i], rest = rest[:end], rest[end+1:]
	}
	if strings.Trim(rest, "i") != "" || strings.IndexByte(text, 0) >= 0 {
		return errSubstitution
	}
	groups, ok := checkERE(parts[0])
	if !ok {
		return errERE
	}
	for i := 0; i < len(parts[1]); i++ {
		if parts[1][i] != '\\' {
			continue
		}
		i++
		if c := parts[1][i]; c >= '0' && c <= '9' && (c == '0' || int(c-'0') > groups) {
			return errBackref
		}
	}
	return nil
}

// unescaped returns where the first c is that has no backslash before it, -1 for nowhere.
func unescaped(text string, c byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case c:
			return i
		}
	}
	return -1
}

// ere reads an extended regular expression of POSIX (IEEE 1003.1 §9.5). What that leaves
// undefined, such as an empty alternative, is none here.
type ere struct {
	rest string
	// opened and closed count the parentheses so far.
	opened, closed int
}

// checkERE tells whether text is an extended regular expression, and how many parentheses it
// has.
func checkERE(text string) (groups int, ok bool) {
	e := ere{rest: text}
	repeatable, some := false, false // what comes last can be repeated; the alternative has something
	for e.rest != "" {
		c := e.rest[0]
		e.rest = e.rest[1:]
		switch c {
		case '*', '+', '?', '{':
			if !repeatable || c == '{' && !e.bounds() {
				return 0, false
			}
			repeatable = false
		case '(':
			e.opened++
			repeatable, some = false, false
		case ')':
			e.closed++
			if !some || e.closed > e.opened {
				return 0, false
			}
			repeatable = true
		case '|':
			if !some {
				return 0, false
			}
			repeatable, some = false, false
		case '^', '$':
			repeatable, some = false, true
		case '[':
			if !e.bracket() {
				return 0, false
			}
			repeatable, some = true, true
		case '\\':
			if !e.escape() {
				return 0, false
			}
			repeatable, some = true, true
		default:
			repeatable, some = true, true
		}
	}
	return e.closed, some && e.opened == e.closed
}

// escape reads what stands behind a backslash. A digit refers to parentheses before it.
func (e *ere) escape() bool {
	if e.rest == "" {
		return false
	}
	c := e.rest[0]
	e.rest = e.rest[1:]
	return c < '1' || c > '9' || int(c-'0') <= e.closed
}

// maxRepeat is how often something can be repeated (RE_DUP_MAX of POSIX).
const maxRepeat = 255

// bounds reads {m}, {m,} or {m,n}, less what it begins with.
func (e *ere) bounds() bool {
	inside, rest, ok := strings.Cut(e.rest, "}")
	e.rest = rest
	low, high, two := strings.Cut(inside, ",")
	m, okLow := repeats(low)
	n, okHigh := repeats(high)
	return ok && okLow && (!two || high == "" || okHigh && m <= n)
}

// repeats reads a number of repetitions.
func repeats(digits string) (n int, ok bool) {
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = 10*n + int(c-'0'); n > maxRepeat {
			return 0, false
		}
	}
	return n, digits != ""
}

// classes are the names of POSIX's classes of characters.
var classes = []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}

// bracket reads a list of characters in brackets, less what it begins with.
func (e *ere) bracket() bool {
	e.rest = strings.TrimPrefix(e.rest, "^")
	for first := true; e.rest != ""; first = false {
		if e.rest[0] == ']' && !first {
			e.rest = e.rest[1:]
			return true
		}
		from, ok := e.element()
		if !ok {
			return false
		}
		if len(e.rest) < 2 || e.rest[0] != '-' || e.rest[1] == ']' {
			continue
		}
		e.rest = e.rest[1:]
		if to, ok := e.element(); !ok || from < 0 || to < from {
			return false
		}
	}
	return false
}

// element reads one element of a list; c is -1 where no range can begin or end with it.
func (e *ere) element() (c int, ok bool) {
	if len(e.rest) < 2 || e.rest[0] != '[' || !strings.Contains(":.=", e.rest[1:2]) {
		c, e.rest = int(e.rest[0]), e.rest[1:]
		return c, true
	}
	kind := e.rest[1:2]
	inside, rest, found := strings.Cut(e.rest[2:], kind+"]")
	e.rest = rest
	switch {
	case !found:
		return 0, false
	case kind == ":":
		for _, class := range classes {
			if inside == class {
				return -1, true
			}
		}
		return 0, false
	case len(inside) != 1:
		return 0, false
	case kind == "=":
		return -1, true
	}
	return int(inside[0]), true
}
