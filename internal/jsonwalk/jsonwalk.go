// Package jsonwalk reads JSON text from front to back and stops at the wanted fields. It builds
// nothing from what it skips.
package jsonwalk

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Walker walks JSON text. It accepts what Kubernetes' own decoder accepts: of two fields with the
// same name the last counts, and invalid UTF-8 is not an error.
//
// A Walker belongs to one goroutine.
type Walker struct {
	*jsontext.Decoder
	// Err is why the walk ended early: the text is not JSON, or ErrLeft. Once it is set, the
	// methods of Walker do nothing; those of Decoder ignore it.
	Err error
}

// ErrLeft says that the body left a loop over fields or elements early; the walk cannot continue
// from there.
var ErrLeft = errors.New("the walk was left in the middle")

// New returns a Walker for the text in r. It does not copy a *bytes.Buffer.
func New(r io.Reader) Walker {
	return Walker{Decoder: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Of returns a Walker for text, which must not change during the walk.
func Of(text []byte) Walker { return New(bytes.NewBuffer(text)) }

// Strict returns a Walker for text like Of, for which two fields with the same name are an error.
func Strict(text []byte) Walker {
	return Walker{Decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))}
}

// Fields yields the names of the next value's fields if it is an object, and skips any other value.
// Use it as `for name := range w.Fields`. The body may read the field's value; a name is valid
// until then.
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

// Elements yields the indexes of the next value's elements if it is an array, and skips any other
// value. Use it like Fields; the body may read the element.
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

// enter enters the next value if it is of the given kind, else skips it.
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

// Next returns the kind of the next value without reading it; 0 if there is none.
func (w *Walker) Next() jsontext.Kind {
	if w.Err != nil {
		return 0
	}
	return w.PeekKind()
}

// Skip skips the next value.
func (w *Walker) Skip() {
	if w.Err == nil {
		w.Err = w.SkipValue()
	}
}

// Value returns the text of the next value; nil for none. It is valid until the next read.
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

// Text returns the contents of the next value if it is a string, valid until the next read. It
// skips any other value; ok is false then.
func (w *Walker) Text() (text []byte, ok bool) {
	if w.Next() != '"' {
		w.Skip()
		return nil, false
	}
	v := w.Value()
	return Unquote(v), v != nil
}

// Unquote returns the contents of a JSON string as returned by Value; nil for any other value. The
// result may share v's memory. Invalid UTF-8 is replaced, as in Kubernetes' decoder.
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
