package api

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// reader walks one JSON object. It notes a value of the wrong type as a fault, leaves it out, and
// reads on (rule 8.1); null counts as absent. Only text that is not JSON stops it. Nothing it
// returns refers to the buffer that it reads from.
type reader struct {
	walk   jsonwalk.Walker
	faults notes
}

func newReader(json []byte) *reader { return &reader{walk: jsonwalk.Of(json)} }

// required reads a mandatory field. It returns what cannot be read in it, and notes no fault, which
// would pass for a missing field.
func (r *reader) required(read func()) (wrong string) {
	before := r.faults
	r.faults = notes{}
	read()
	wrong, r.faults = r.faults.text, before
	return wrong
}

// end checks that nothing follows the object, and returns what is wrong with the text.
func (r *reader) end() error {
	if r.walk.Err != nil {
		return r.walk.Err
	}
	switch _, err := r.walk.ReadToken(); {
	case err == nil:
		return errors.New("more than one JSON value")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// fields yields the names of the next value's fields, if it is an object. The body reads or skips
// the field's value; a name is valid until then.
func (r *reader) fields() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if r.is('{', "an object") {
			r.walk.Fields(yield)
		}
	}
}

// elements yields the indexes of the next value's elements, if it is an array. The body reads or
// skips the element.
func (r *reader) elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if r.is('[', "a list") {
			r.walk.Elements(yield)
		}
	}
}

// is reports whether the next value is of the given kind. It skips any other value, which is a
// fault unless it is null.
func (r *reader) is(kind jsontext.Kind, want string) bool {
	if r.walk.Err != nil {
		return false
	}
	got := r.walk.PeekKind()
	if got == kind {
		return true
	}
	r.walk.Skip()
	if got != 'n' && r.walk.Err == nil {
		hint := ""
		if kind == '"' && (got == '0' || got == 't' || got == 'f') {
			hint = quotesWanted
		}
		r.fault("must be %s, not %s%s", want, kindName(got), hint)
	}
	return false
}

// quotesWanted ends a message about a text that became something else: YAML reads `no` as false and
// `123` as a number.
const quotesWanted = ": in YAML, put quotes around it"

// next returns the kind of the next value, null included.
func (r *reader) next() jsontext.Kind { return r.walk.Next() }

// raw returns the contents of the next value if it is a string; ok is false if
// it is not. They are valid until the next read.
func (r *reader) raw() (text []byte, ok bool) {
	if !r.is('"', "a string") {
		return nil, false
	}
	v := r.walk.Value()
	return jsonwalk.Unquote(v), v != nil
}

// text returns the next value if it is a string; ok is false if it is not.
func (r *reader) text() (text string, ok bool) {
	b, ok := r.raw()
	return string(b), ok
}

// word is text for strings that many objects share.
func (r *reader) word() (text string, ok bool) {
	b, ok := r.raw()
	return words.intern(b), ok
}

// boolean returns the next value; ok is false if it is neither true nor false.
func (r *reader) boolean() (value, ok bool) {
	switch r.next() {
	case 't', 'f':
		tok, err := r.walk.ReadToken()
		if err != nil {
			r.walk.Err = err
			return false, false
		}
		return tok.Bool(), true
	}
	return false, r.is('t', "true or false")
}

// integer returns the next value if it is a whole number. One that does not fit into an int64
// becomes the nearest int64, which no field allows.
func (r *reader) integer() (n int64, ok bool) {
	if !r.is('0', "a whole number") {
		return 0, false
	}
	v := r.walk.Value()
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return n, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil && f == 0, f != math.Trunc(f):
		r.fault("must be a whole number, not a fraction")
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case f <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(f), true
}

// fault notes what is wrong with the last value.
func (r *reader) fault(format string, args ...any) {
	r.faults.add(r.path() + ": " + fmt.Sprintf(format, args...))
}

// path returns the path of the last value as its owner writes it: spec.listeners[1].hostname.
func (r *reader) path() string {
	var b strings.Builder
	for t := range r.walk.StackPointer().Tokens() {
		switch {
		case t != "" && only(t, digits):
			b.WriteString("[" + t + "]")
		case b.Len() == 0:
			b.WriteString(t)
		case only(t, letters) && len(t) <= longestQuote:
			b.WriteString("." + t)
		default:
			b.WriteString("[" + quote(t) + "]")
		}
	}
	if b.Len() == 0 {
		return "the object"
	}
	return b.String()
}

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// only reports whether s consists of characters of set.
func only(s, set string) bool { return strings.Trim(s, set) == "" }

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return k.String()
	}
	return "nothing"
}

// longestQuote is in bytes: enough to recognise a text, too few to fill a log.
const longestQuote = 64

// quote quotes a text of an object for a message; it cuts long ones.
func quote(s string) string {
	return strconv.Quote(Cut(s, longestQuote))
}

// Some returns a list as text; of one of more than most texts, the first ones.
func Some(list []string, separator string, most int) string {
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], separator), len(list)-most)
}

// Cut cuts a text to at most most octets, for a message.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// notes collects what is wrong with an object, in order, and bounded: everything in an object may
// be wrong.
type notes struct {
	text string
	n    int
}

func (n *notes) add(note string) {
	const most = 4 // an owner fixes a few at a time
	switch n.n++; {
	case n.n == 1:
		n.text = note
	case n.n <= most:
		n.text += "; " + note
	case n.n == most+1:
		n.text += "; and more"
	}
}
