package api

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Attribute is a setting of a host or a member besides geography and weight: an annotation of a policy, AttributePrefix
// and a word, or the word in an endpoint's providerSpecific.
type Attribute uint8

// The attributes. Priority is a member's; the others concern the host as a whole, so that its owner's count.
const (
	Priority   Attribute = iota // its place in the choice, the lower first (rule 9.1)
	Order                       // whether geography or priority goes first (rule 9.1)
	Fallback                    // how far an answer may be from the client's geography (rule 4.6)
	Sticky                      // whether a client keeps its member (rule 9.2)
	Fail                        // what is answered where everything is down (rule 9.3)
	MaxAnswers                  // how many addresses an answer has at the most, 0 for all (rule 9.4)
	NumAttributes

	// Those below are a policy's alone: see DNSPolicy.Of.

	Targets      Attribute = iota - 1 // where its addresses come from (rule 9.6)
	ProbeAddress                      // what its checks go to (rule 9.6)
	Routes                            // whether listeners without attached routes publish (rule 1.2)
	NumTexts
)

// The values of those attributes that are words. 0 is what counts where nothing is said.
const (
	OrderGeo, OrderPriority                       = uint8(0), uint8(1)
	FallbackAny, FallbackDefault, FallbackNone    = uint8(0), uint8(1), uint8(2)
	StickyNot, StickyClient, FailOpen, FailClosed = uint8(0), uint8(1), uint8(0), uint8(1)
	TargetsAnnotation, ProbeAddressStatus         = uint8(1), uint8(1)
	RoutesIgnore                                  = uint8(1)
)

// AttributePrefix stands before the word of an attribute in an annotation.
const AttributePrefix = "kuadrant.io/"

// attributes has the words of all, and of each the words of its values, or the lowest and the highest number.
var attributes = [NumTexts]struct {
	word     string
	words    []string
	from, to uint8
}{
	Priority:     {word: "priority", to: 255},
	Order:        {word: "order", words: []string{"geo", "priority"}},
	Fallback:     {word: "geo-fallback", words: []string{"any", "default", "none"}},
	Sticky:       {word: "sticky", words: []string{"", "client"}},
	Fail:         {word: "fail", words: []string{"open", "closed"}},
	MaxAnswers:   {word: "max-answers", from: 1, to: 32},
	Targets:      {word: "targets", words: []string{"", "annotation"}},
	ProbeAddress: {word: "probe-address", words: []string{"", "status"}},
	Routes:       {word: "attached-routes", words: []string{"", "ignore"}},
}

// String returns the word of the attribute.
func (x Attribute) String() string { return attributes[x].word }

// Annotation returns the annotation of a policy that says it.
func (x Attribute) Annotation() string { return AttributePrefix + x.String() }

// known describes the valid values.
func (x Attribute) known() string {
	if of := &attributes[x]; of.words == nil {
		return fmt.Sprintf("a whole number from %d to %d", of.from, of.to)
	}
	return enumerated(slices.DeleteFunc(slices.Clone(attributes[x].words), func(word string) bool { return word == "" }), "or")
}

// enumerated returns words in one text, such as "a, b or c"; conjunction stands before the last of several.
func enumerated(words []string, conjunction string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// value returns what a text means; ok is false where it means nothing.
func (x Attribute) value(text string) (value uint8, ok bool) {
	of := &attributes[x]
	if of.words != nil {
		i := slices.Index(of.words, text)
		return uint8(max(i, 0)), i >= 0 && text != ""
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return uint8(n), err == nil && uint8(n) >= of.from && uint8(n) <= of.to
}

// Attributes are the attributes of one host or member. The zero value is what counts where nothing is said.
type Attributes struct {
	Values [NumAttributes]uint8
	Set    uint8 // of which attributes something is said: a bit each
}

// Of returns the value of an attribute: a number, or one of the constants above.
func (a *Attributes) Of(x Attribute) uint8 { return a.Values[x] }

// Text returns the value of an attribute as it is written.
func (a *Attributes) Text(x Attribute) string {
	if words := attributes[x].words; words != nil {
		return words[a.Values[x]]
	}
	return strconv.Itoa(int(a.Values[x]))
}

// Says reports whether a value of the attribute was written.
func (a *Attributes) Says(x Attribute) bool { return a.Set>>x&1 == 1 }

// set gives an attribute a value.
func (a *Attributes) set(x Attribute, value uint8) {
	a.Values[x], a.Set = value, a.Set|1<<x
}

// Member returns what a says of the member alone.
func (a Attributes) Member() Attributes { return a.only(1 << Priority) }

// Host returns what a says of the host as a whole.
func (a Attributes) Host() Attributes { return a.only(^uint8(1 << Priority)) }

func (a Attributes) only(said uint8) Attributes {
	a.Set &= said
	for x := range NumAttributes {
		if !a.Says(x) {
			a.Values[x] = 0
		}
	}
	return a
}

// Texts returns what is said, by the words of the attributes; nil for nothing.
func (a Attributes) Texts() map[string]string {
	var all map[string]string
	for x := range a.All() {
		if all == nil {
			all = make(map[string]string)
		}
		all[x.String()] = a.Text(x)
	}
	return all
}

// All yields the attributes of which a says something.
func (a Attributes) All() iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		for x := range NumAttributes {
			if a.Says(x) && !yield(x) {
				return
			}
		}
	}
}

// Add adds what o says of the host as a whole, and a does not.
func (a *Attributes) Add(o Attributes) {
	for x := range o.Host().All() {
		if !a.Says(x) {
			a.set(x, o.Values[x])
		}
	}
}

// Unlike yields the attributes of the host as a whole of which a says something else than the host's owner.
func (a Attributes) Unlike(owner *Attributes) iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		for x := range a.Host().All() {
			if a.Values[x] != owner.Values[x] && !yield(x) {
				return
			}
		}
	}
}

// AttributesOf reads annotations. wrong, which may be nil, gets those with an invalid value, and the valid ones.
func AttributesOf(annotations map[string]string, wrong func(annotation, value, known string)) (a Attributes) {
	if len(annotations) == 0 {
		return a // by far the most
	}
	for x := range NumTexts {
		annotation := x.Annotation()
		text, set := annotations[annotation]
		if value, ok := x.value(text); ok {
			if x < NumAttributes {
				a.set(x, value)
			}
		} else if set && text != "" && wrong != nil {
			wrong(annotation, text, x.known())
		}
	}
	return a
}

// Of returns what an annotation of the policy says: a number, or one of the constants above.
func (p *DNSPolicy) Of(x Attribute) uint8 {
	value, _ := x.value(p.Annotations[x.Annotation()])
	return value
}
