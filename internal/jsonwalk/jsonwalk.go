// Package jsonwalk reads JSON text from front to back and stops at the fields
// that the reader wants, without building anything of what it passes.
package jsonwalk

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Walker walks JSON text. It accepts what Kubernetes' own decoder accepts: of
// two fields with one name the last counts, and invalid UTF-8 is no error.
//
// A Walker belongs to one goroutine.
type Walker struct {
	*jsontext.Decoder
	// Err is why the walk has ended early: the text is not JSON, or ErrLeft. The
	// methods of Walker do nothing once it is set; those of Decoder do not know
	// of it.
	Err error
}

// ErrLeft says that a loop over fields or elements was left in the middle, from
// where a walk cannot go on.
var ErrLeft = errors.New("the walk was left in the middle")

// New returns a Walker of the text that r holds. A *bytes.Buffer is not copied.
func New(r io.Reader) Walker {
	return Walker{Decoder: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Of returns a Walker of text, which must not change meanwhile.
func Of(text []byte) Walker { return New(bytes.NewBuffer(text)) }

// Fields yields the names of the next value's fields, where it is an object; any
// other value is skipped. It is to be ranged over: `for name := range w.Fields`.
// The body reads the field's value or leaves it; a name is valid until then.
func (w *Walker) Fields(yield func(name []byte) bool) {
	if !w.enter('{') {
		return
	}
	depth := w.StackDepth()
	for w.Err == nil && w.PeekKind() != '}' {
		name, err := w.ReadValue()
		if err != nil {
			w.Err = err
			return
		}
		key := Unquote(name)
		_, before := w.StackIndex(depth)
		if !yield(key) {
			w.Err = cmp.Or(w.Err, ErrLeft)
			return
		}
		if _, after := w.StackIndex(depth); after == before {
			w.Skip()
		}
	}
	w.leave()
}

// Elements yields the indexes of the next value's elements, where it is an
// array; any other value is skipped. It is to be ranged over as Fields is, and
// the body reads the element or leaves it.
func (w *Walker) Elements(yield func(i int) bool) {
	if !w.enter('[') {
		return
	}
	depth := w.StackDepth()
	for i := 0; w.Err == nil && w.PeekKind() != ']'; i++ {
		if !yield(i) {
			w.Err = cmp.Or(w.Err, ErrLeft)
			return
		}
		if _, n := w.StackIndex(depth); n == int64(i) {
			w.Skip()
		}
	}
	w.leave()
}

// enter goes into the next value if it is of the given kind, else behind it.
func (w *Walker) enter(kind jsontext.Kind) bool {
	if w.Err != nil {
		return false
	}
	if w.PeekKind() != kind {
		w.Skip()
		return false
	}
	_, w.Err = w.ReadToken()
	return w.Err == nil
}

func (w *Walker) leave() {
	if w.Err == nil {
		_, w.Err = w.ReadToken()
	}
}

// Next returns the kind of the value that comes next, without reading it; 0
// where there is none.
func (w *Walker) Next() jsontext.Kind {
	if w.Err != nil {
		return 0
	}
	return w.PeekKind()
}

// Skip goes behind the next value.
func (w *Walker) Skip() {
	if w.Err == nil {
		w.Err = w.SkipValue()
	}
}

// Value returns the text of the next value, nil for none. It is valid
// until the next read.
func (w *Walker) Value() jsontext.Value {
	if w.Err != nil {
		return nil
	}
	v, err := w.ReadValue()
	if err != nil {
		w.Err = err
		return nil
	}
	return v
}

// Text returns the contents of the next value if it is a string; any other value
// is skipped, and ok is false. They are valid until the next read.
func (w *Walker) Text() (text []byte, ok bool) {
	if w.Next() != '"' {
		w.Skip()
		return nil, false
	}
	v := w.Value()
	return Unquote(v), v != nil
}

// Unquote returns the contents of a JSON string as Value returns it, nil for any
// other value. They may share its memory. What is not UTF-8 is replaced, as
// Kubernetes' decoder does.
func Unquote(v jsontext.Value) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	b := v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') >= 0 {
		var err error
		if b, err = jsontext.AppendUnquote(nil, []byte(v)); err != nil && len(b) == 0 {
			return nil
		}
	}
	if !utf8.Valid(b) {
		return bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return b
}
