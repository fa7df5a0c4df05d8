package api

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// An object is encoded as the JSON of its struct, with the members that its tags name; zero fields are left out. Decoding returns
// an equal object, except for Secrets: see Secret.kept. It refuses unknown members: a field that is dropped in silence would make
// another object. Names match in any case, because older versions wrote the names of Go fields.

var (
	marshalers = json.JoinMarshalers(
		json.MarshalToFunc(encodeSelector), json.MarshalToFunc(encodeDuration),
		json.MarshalToFunc(encodeAttributes), writeWord[Strategy](), writeWord[Protocol](), writeWord[ListenerProtocol](), writeWord[ConditionStatus](), writeWord[Kind](),
	)
	unmarshalers = json.JoinUnmarshalers(
		json.UnmarshalFromFunc(decodeSelector), json.UnmarshalFromFunc(decodeDuration),
		json.UnmarshalFromFunc(decodeAttributes), readWord(WeightedGeo), readWord(GRPC), readWord(TLS), readWord(ConditionFalse), json.UnmarshalFromFunc(decodeKind),
	)
	encoding = json.JoinOptions(json.OmitZeroStructFields(true), json.Deterministic(true), jsontext.AllowInvalidUTF8(true), json.WithMarshalers(marshalers))
	decoding = json.JoinOptions(json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true), json.WithUnmarshalers(unmarshalers))
)

// textual is a type whose values are encoded as words.
type textual interface {
	~uint8
	String() string
}

func writeWord[T textual]() *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, v T) error { return e.WriteToken(jsontext.String(v.String())) })
}

// readWord decodes the words of the values up to last, and refuses others.
func readWord[T textual](last T) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *T) error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		for v := range last + 1 {
			if token.Kind() == '"' && v.String() == token.String() {
				*to = v
				return nil
			}
		}
		return fmt.Errorf("%.64q is not a value of %T", token.String(), *to)
	})
}

// Encode writes a value, such as an object that Cluster.All yields, on one line without a line end.
func Encode(w io.Writer, value any) error {
	if s, ok := value.(*Secret); ok {
		value = s.kept()
	}
	return json.MarshalWrite(w, value, encoding)
}

// Decode reads into to what Encode has written. It refuses unknown members.
func Decode(text []byte, to any) error { return json.Unmarshal(text, to, decoding) }

// kept returns the part of a Secret to write: its identity and labels, and its domain names as a
// DNS provider, which are public. Without the label for headers, none are expected when it is read
// back (rule 4.10): a check that needs some waits for the Secret.
func (s *Secret) kept() *Secret {
	return &Secret{
		Meta:       Meta{Name: s.Name, Cluster: s.Cluster, UID: s.UID, Created: s.Created, Labels: s.Labels},
		Unlabelled: true,
		Provider:   s.Provider,
	}
}

// decodeKind decodes the name of a kind. Older versions wrote its number.
func decodeKind(d *jsontext.Decoder, to *Kind) error {
	var value any
	if err := json.UnmarshalDecode(d, &value); err != nil {
		return err
	}
	known := false
	switch v := value.(type) {
	case string:
		*to, known = ParseKind(v)
	case float64:
		*to, known = Kind(v), v >= 0 && v < float64(NumKinds) && v == float64(Kind(v))
	}
	if !known {
		return fmt.Errorf("unknown kind %.64q", fmt.Sprint(value))
	}
	return nil
}

// encodeAttributes writes the attributes that are said, by name.
func encodeAttributes(e *jsontext.Encoder, a Attributes) error {
	all := make(map[string]string)
	for x := range NumAttributes {
		if a.Says(x) {
			all[x.String()] = a.Text(x)
		}
	}
	return json.MarshalEncode(e, all, json.Deterministic(true))
}

func decodeAttributes(d *jsontext.Decoder, to *Attributes) error {
	all := make(map[string]jsontext.Value)
	if err := json.UnmarshalDecode(d, &all); err != nil {
		return err
	}
	if values, ok := all["Values"]; ok && len(all) == 2 { // as older versions wrote them: in the order of that time
		return errors.Join(json.Unmarshal(values, &to.Values), json.Unmarshal(all["Said"], &to.Set))
	}
	for word, value := range all {
		x := Attribute(0)
		for x < NumAttributes && x.String() != word {
			x++
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil || x == NumAttributes {
			return fmt.Errorf("unknown attribute %.64q", word)
		}
		known, ok := x.value(text)
		if !ok {
			return fmt.Errorf("%.64q is not a value of the attribute %s", text, word)
		}
		to.set(x, known)
	}
	return nil
}

func encodeDuration(e *jsontext.Encoder, d time.Duration) error {
	return e.WriteToken(jsontext.String(d.String()))
}

func decodeDuration(d *jsontext.Decoder, to *time.Duration) error {
	var text string
	if err := json.UnmarshalDecode(d, &text); err != nil {
		return err
	}
	value, err := time.ParseDuration(text)
	*to = value
	return err
}

// selectorDoc is the encoding of a labels.Selector.
type selectorDoc struct {
	Nothing      bool             `json:"nothing"` // selects nothing
	Requirements []requirementDoc `json:"requirements"`
}

type requirementDoc struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

func encodeSelector(e *jsontext.Encoder, s labels.Selector) error {
	if s == nil {
		return e.WriteToken(jsontext.Null)
	}
	var doc selectorDoc
	requirements, selectable := s.Requirements()
	doc.Nothing = !selectable
	for i := range requirements {
		r := &requirements[i]
		doc.Requirements = append(doc.Requirements, requirementDoc{r.Key(), string(r.Operator()), append([]string(nil), r.ValuesUnsorted()...)})
	}
	return json.MarshalEncode(e, &doc)
}

func decodeSelector(d *jsontext.Decoder, to *labels.Selector) error {
	if d.PeekKind() == 'n' {
		*to = nil
		return d.SkipValue()
	}
	var doc selectorDoc
	if err := json.UnmarshalDecode(d, &doc); err != nil {
		return err
	}
	switch {
	case doc.Nothing:
		*to = labels.Nothing()
		return nil
	case len(doc.Requirements) == 0:
		*to = labels.Everything()
		return nil
	}
	var all []labels.Requirement
	for _, q := range doc.Requirements {
		r, err := labels.NewRequirement(q.Key, selection.Operator(q.Operator), q.Values)
		if err != nil {
			return err
		}
		all = append(all, *r)
	}
	*to = labels.NewSelector().Add(all...)
	return nil
}

// All yields c's objects of a kind, sorted by name: pointers to the kind's struct, which are
// read-only.
func (c *Cluster) All(k Kind) iter.Seq[any] {
	return func(yield func(any) bool) { trees[k].all(c, yield) }
}

// Loader fills a cluster with objects that Encode has written. It belongs to one goroutine.
type Loader struct {
	c     *Cluster
	kinds [NumKinds]loading
}

// loading is the objects of one kind being read.
type loading interface {
	add(cluster string, text []byte) error
	done()
}

// NewLoader returns a Loader for c, which has a name and no objects.
func NewLoader(c *Cluster) *Loader {
	l := &Loader{c: c}
	for k := range kinds {
		l.kinds[k] = trees[k].load(c)
	}
	return l
}

// Add adds the object of a kind encoded in text. It fails for any other text, or an object of
// another cluster.
func (l *Loader) Add(k Kind, text []byte) error {
	if err := l.kinds[k].add(l.c.Name, text); err != nil {
		return fmt.Errorf("read %s: %w", k, err)
	}
	return nil
}

// Done puts the objects into the cluster, and ends the Loader.
func (l *Loader) Done() {
	for _, k := range l.kinds {
		k.done()
	}
}

// loadingOf implements loading for objects of type T.
type loadingOf[T any] struct {
	edit *tree.Edit[*T]
	to   *tree.Map[*T]
}

func (l *loadingOf[T]) add(cluster string, text []byte) error {
	var object *T
	if err := Decode(text, &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("no object")
	}
	m := any(object).(Object).Metadata()
	id := identity{namespace: m.Namespace(), name: m.BareName()}
	if err := id.check(); err != nil {
		return err
	}
	if m.Cluster != cluster || m.Name != id.namespace+"/"+id.name {
		return fmt.Errorf("object %s is in cluster %s, not in cluster %s", quote(m.Name), quote(m.Cluster), quote(cluster))
	}
	if z, ok := any(object).(*Zone); ok {
		z.index()
	}
	l.edit.Set(m.Name, object)
	return nil
}

func (l *loadingOf[T]) done() { *l.to = l.edit.Map() }

// NameOf returns the namespace/name of an object yielded by Cluster.All.
func NameOf(object any) string { return object.(Object).Metadata().Name }
