package api

import (
	"hash/maphash"
	"sync/atomic"
)

var (
	// words holds strings that many objects have in common: listener names, label
	// keys, kinds, geo codes.
	words interner
	// datas holds the data of Records, apart because most occur in one Record only.
	datas interner
)

// interner makes equal strings share their memory. It is bounded: a string replaces another that
// falls on its slot. Any number of goroutines may use it.
type interner struct {
	slots [1024]atomic.Pointer[string]
}

// longestWord bounds what a slot keeps alive: a reference to an object, with a namespace of 63
// characters and a name of 253. Longer strings rarely repeat.
const longestWord = 63 + 1 + 253

var wordSeed = maphash.MakeSeed()

// intern returns b as a string, which does not refer to b.
func (t *interner) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > longestWord {
		return string(b)
	}
	slot := &t.slots[maphash.Bytes(wordSeed, b)%uint64(len(t.slots))]
	if p := slot.Load(); p != nil && *p == string(b) {
		return *p
	}
	s := string(b)
	slot.Store(&s)
	return s
}
